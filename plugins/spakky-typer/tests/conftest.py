"""Fixtures of the plugin's tests: applications, and programs that run in a process of their own."""

import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.application.plugin import Plugin
from spakky.core.pod.annotations.pod import PodType

PREAMBLE = """
import asyncio, os, signal, sys, threading
from typing import Annotated
import typer
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.pod.annotations.pod import Pod
from spakky.plugins.typer import *

# A shell may start background processes with the signal ignored, which children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

def say(text):
    print(text, flush=True)

def go(*classes, settings=None):
    application = SpakkyApplication(ApplicationContext()).load_plugins(include=set())
    for item in classes:
        application.add(item)
    run_cli_and_exit(application, settings)
"""

type Program = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def new_application() -> Callable[..., SpakkyApplication]:
    """Makes an application that has loaded this plugin and has some classes."""

    def make(*pods: PodType) -> SpakkyApplication:
        application = SpakkyApplication(ApplicationContext())
        application.load_plugins(include={Plugin(name="spakky-typer")})
        for pod in pods:
            application.add(pod)
        return application

    return make


@pytest.fixture
def started(
    new_application: Callable[..., SpakkyApplication],
) -> Generator[Callable[..., SpakkyApplication]]:
    """Makes started applications and stops them after the test."""
    applications: list[SpakkyApplication] = []

    def start(*pods: PodType) -> SpakkyApplication:
        applications.append(new_application(*pods).start())
        return applications[-1]

    yield start
    for application in applications:
        application.stop()


@pytest.fixture
def program(tmp_path: Path) -> Generator[Program]:
    """Starts a program with the given body and arguments, with pipes for its three streams."""
    processes: list[subprocess.Popen[str]] = []

    def start(body: str, *arguments: str) -> subprocess.Popen[str]:
        script = tmp_path / "program.py"
        script.write_text(PREAMBLE + body, encoding="utf-8")
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        with process:
            process.kill()
