"""Fixtures of the demo's tests: a workspace folder, and the command line in processes of its own."""

import os
import signal
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from spakky.agent_testkit.postgres import (  # noqa: F401 - fixtures
    postgresql_server,
    postgresql_url,
)

HERE = Path(__file__).resolve().parent
# The helpers are a package beside these tests; the demo is tested where it is, installed or not.
sys.path[:0] = [str(HERE), str(HERE.parent)]

from demo_tests_support.processes import Demo, Screen  # noqa: E402 - found through the line above

NOTES = """\
# Notes on gardens

A garden needs water and a garden needs light. The weather is another matter.
Every garden wants a gardener who looks after water, light and soil.

## Tools

Buy a spade. Soil, water and light decide what a garden gives.
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.md").write_text(NOTES)
    (folder / "src").mkdir()
    (folder / "src" / "app.py").write_text("def app():\n    return 'garden'\n")
    return folder


@pytest.fixture
def demo(tmp_path: Path, workspace: Path) -> Generator[Demo]:
    home = tmp_path / "home"
    home.mkdir()
    made = Demo(home, workspace)
    yield made
    for process in made.started:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def screens() -> Generator[list[Screen]]:
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.close()
