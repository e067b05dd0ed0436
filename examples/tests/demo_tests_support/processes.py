"""The command line of the demo in processes of its own, with pipes or with a terminal."""

import asyncio
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from spakky.agent_testkit.crash import Ledger

EXAMPLES = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("child.py")
_OURS = ("SPAKKY_", "CODE_ASSISTANT_", "DEMO_")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    def require_one_line(self) -> str:
        """Give the one line on standard error."""
        assert "Traceback" not in self.err + self.out
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass(slots=True)
class Demo:
    """The command line, with a home, a store and a workspace of its own."""

    home: Path
    workspace: Path
    extra: dict[str, str] = field(default_factory=dict)
    started: list[asyncio.subprocess.Process] = field(default_factory=list)

    @property
    def ledger(self) -> list[str]:
        """The writes that really happened."""
        return Ledger(self.home / "ledger").lines()

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "PYTHONPATH": str(EXAMPLES),
            "CODE_ASSISTANT_LEASE_SECONDS": "3",
            "DEMO_LEDGER": str(self.home / "ledger"),
            **self.extra,
            **(env or {}),
        }

    async def start(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(CHILD),
            *arguments,
            cwd=self.workspace,
            env=self.environment(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    async def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> Outcome:
        return await finish(await self.start(*arguments, env=env))


async def finish(process: asyncio.subprocess.Process) -> Outcome:
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    return Outcome(process.returncode or 0, out.decode(), err.decode())


async def read_until(process: asyncio.subprocess.Process, text: str) -> str:
    """Read standard output until a text has come."""
    assert process.stdout is not None
    seen = ""
    async with asyncio.timeout(60):
        while text not in seen:
            piece = await process.stdout.read(4096)
            assert piece, f"the process ended before {text!r}: {seen}"
            seen += piece.decode()
    return seen


async def read_fifo(path: Path) -> str:
    """Wait for what somebody writes into a named pipe."""
    loop = asyncio.get_running_loop()
    # With a writer of our own the pipe is never at its end.
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        async with asyncio.timeout(60):
            await ready.wait()
        return os.read(descriptor, 4096).decode()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def survivors(group: int) -> list[int]:
    """Give the processes of a killed group that still run; each one is given a moment to end."""
    return [pid for pid in _members(group) if not _ends_soon(pid)]


def _members(group: int) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            state, _, pgrp = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            # A dead process that nobody has waited for is no survivor.
            if int(pgrp) == group and state not in {"Z", "X"}:
                found.append(int(entry.name))
    return found


def _ends_soon(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 2)[0])
    finally:
        os.close(descriptor)


class Screen:
    """A command that runs in a terminal of its own."""

    def __init__(self, demo: Demo, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), *arguments],
            cwd=demo.workspace,
            env=demo.environment({"TERM": "xterm", "COLUMNS": "200"}),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def wait_for(self, text: str, times: int = 1, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while self.text.count(text) < times:
            ready, _, _ = select.select([self._master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{text!r} did not come: {self.text}"
            try:
                self.text += os.read(self._master, 65536).decode("utf-8", "replace")
            except OSError:
                break
        assert self.text.count(text) >= times, self.text

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self, seconds: float = 60) -> int:
        with suppress(OSError):
            while select.select([self._master], [], [], seconds)[0]:
                piece = os.read(self._master, 65536)
                if not piece:
                    break
                self.text += piece.decode("utf-8", "replace")
        return self.process.wait(seconds)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._master)
