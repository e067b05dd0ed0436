"""Killing a real process at every point it passes, and looking at what is left.

A child names its points through ``KillPoints``; the parent runs it again and again, each time with the next point as
the last thing the child does. ``SIGKILL`` cannot be caught, so nothing of the child gets to tidy up.
"""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import override

from spakky.agent.contracts.model_request import ModelCapability, ModelRequest, ModelSelection
from spakky.agent.contracts.model_stream import ModelResponse, ModelStreamEvent
from spakky.agent.error import AgentValueError
from spakky.agent.ports.model import IAgentModel
from spakky.agent.ports.repositories import AgentLease, AgentUnitOfWorkScope, IAgentUnitOfWork

KILL_AT_VARIABLE = "SPAKKY_TESTKIT_KILL_AT"
"""Names the point, from 1, at which a child kills itself."""
KILL_LOG_VARIABLE = "SPAKKY_TESTKIT_KILL_LOG"
"""Names the file to which a child writes the points that it reached."""


class ChildFailedError(AssertionError):
    """A child neither completed nor was killed at its point; the message holds what it wrote to standard error."""


class Ledger:
    """A file that real effects are counted in: one line for each, on the disk before the call returns.

    Args:
        path: The file; it is made by the first line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, line: str) -> None:
        """Add one line.

        Raises:
            AgentValueError: It holds a line break.
        """
        if "\n" in line:
            message = "A ledger's entry must be one line."
            raise AgentValueError(message)
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, f"{line}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def lines(self) -> list[str]:
        """Give all lines; none when there is no file."""
        if not self._path.exists():
            return []
        return self._path.read_text(encoding="utf-8").splitlines()


class KillPoints:
    """Counts the points that a process passes and kills it at one of them.

    Args:
        kill_at: The point, from 1; None never kills.
        log: Where each point's name is written before it is passed.
    """

    def __init__(self, kill_at: int | None = None, log: Path | None = None) -> None:
        self._kill_at = kill_at
        self._log = log
        self._reached = 0

    @classmethod
    def from_environment(cls) -> "KillPoints":
        """Take both arguments from the environment that ``crash_matrix`` gives to a child."""
        kill_at = os.environ.get(KILL_AT_VARIABLE)
        log = os.environ.get(KILL_LOG_VARIABLE)
        return cls(int(kill_at) if kill_at else None, Path(log) if log else None)

    @property
    def reached(self) -> int:
        """How many points were passed."""
        return self._reached

    async def reach(self, name: str) -> None:
        """Pass a point, or die at it."""
        self.reach_now(name)

    def reach_now(self, name: str) -> None:
        """Pass a point, or die at it; for code that cannot await."""
        self._reached += 1
        if self._log is not None:
            # What is written survives the process without a sync to the disk, which would cost more than the run.
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"{name}\n")
        if self._reached == self._kill_at:
            os.kill(
                os.getpid(), signal.SIGKILL
            )  # pragma: no cover  # a killed process reports no coverage


class KillingUnitOfWork(IAgentUnitOfWork):
    """A unit of work with a point before and after each commit; a block that raises has none.

    Args:
        inner: The real one.
        points: Where the points are counted.
    """

    def __init__(self, inner: IAgentUnitOfWork, points: KillPoints) -> None:
        self._inner = inner
        self._points = points
        self._commits = 0

    @override
    @asynccontextmanager
    async def begin(self, lease: AgentLease | None = None) -> AsyncGenerator[AgentUnitOfWorkScope]:
        async with self._inner.begin(lease) as scope:
            yield scope
            self._commits += 1
            number = self._commits
            await self._points.reach(f"before commit {number}")
        await self._points.reach(f"after commit {number}")


class KillingModel(IAgentModel):
    """A model with a point before each event of its streams and around each answer in one piece.

    Args:
        inner: The real one.
        points: Where the points are counted.
    """

    def __init__(self, inner: IAgentModel, points: KillPoints) -> None:
        self._inner = inner
        self._points = points
        self._calls = 0

    @property
    @override
    def capability(self) -> ModelCapability:
        return self._inner.capability

    @override
    def capability_for(self, selection: ModelSelection | None = None) -> ModelCapability:
        return self._inner.capability_for(selection)

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        self._calls += 1
        number = self._calls
        await self._points.reach(f"before model call {number}")
        response = await self._inner.complete(request)
        await self._points.reach(f"after model call {number}")
        return response

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent]:
        self._calls += 1
        number = self._calls
        # The port promises an iterator only; what is closed here is usually a generator.
        events = _closable(self._inner, request)
        async with aclosing(events):
            async for event in events:
                await self._points.reach(f"model call {number}: before {event.kind.value}")
                yield event


async def _closable(model: IAgentModel, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent]:
    events = model.stream(request)
    try:
        async for event in events:
            yield event
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


@dataclass(frozen=True, slots=True)
class ChildRun:
    """How one child ended.

    Attributes:
        kill_at: The point that it was to die at; None for none.
        exit_code: 0 when it completed, -9 when it was killed.
        points: The names of the points that it reached, in order.
        env: What its environment had beside this process's.
        stdout: What it wrote.
        stderr: What it wrote to standard error.
    """

    kill_at: int | None
    exit_code: int
    points: tuple[str, ...]
    env: Mapping[str, str]
    stdout: str
    stderr: str

    @property
    def killed(self) -> bool:
        """Whether it died at its point."""
        return self.exit_code == -signal.SIGKILL

    @property
    def point(self) -> str | None:
        """The name of the point that it died at; None when it completed."""
        return self.points[-1] if self.killed and self.points else None


async def run_child(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    kill_at: int | None = None,
    timeout_seconds: float = 60,
) -> ChildRun:
    """Run a child to its end, or to the point at which it dies.

    Args:
        command: What follows the Python interpreter, such as ``["-m", "package.module"]`` or a script's path.
        env: Added to this process's environment.
        kill_at: The point at which it kills itself, from 1; None for none.
        timeout_seconds: How long it may take.

    Raises:
        ChildFailedError: It ended with an error, died of another cause, or took too long; it does not run any more.
    """
    added = dict(env or {})
    with tempfile.TemporaryDirectory(prefix="spakky-kill-points-") as folder:
        log = Path(folder, "points")
        settings = {KILL_LOG_VARIABLE: str(log), KILL_AT_VARIABLE: str(kill_at or "")}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            env=os.environ | added | settings,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, stderr = await _communicate(process, timeout_seconds)
        points = tuple(Ledger(log).lines())
    exit_code = process.returncode or 0
    run = ChildRun(kill_at, exit_code, points, added, stdout.decode(), stderr.decode())
    expected_kill = kill_at is not None and len(points) == kill_at
    if exit_code != 0 and not (run.killed and expected_kill):
        message = f"The child ended with {exit_code} after {list(points[-3:])}:\n{run.stderr}"
        raise ChildFailedError(message)
    return run


async def _communicate(
    process: asyncio.subprocess.Process, timeout_seconds: float
) -> tuple[bytes, bytes]:
    try:
        async with asyncio.timeout(timeout_seconds):
            return await process.communicate()
    except TimeoutError as error:
        message = f"The child did not end within {timeout_seconds} seconds."
        raise ChildFailedError(message) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def crash_matrix(
    command: Sequence[str],
    env: Mapping[str, str] | Callable[[int], Mapping[str, str]] | None = None,
    *,
    timeout_seconds: float = 60,
    max_points: int = 1000,
) -> AsyncGenerator[ChildRun]:
    """Run a child once for each of its points, dying at the first, the second, and so on.

    Each run is given while its remains are fresh, so that the caller can start another child on them. The last one is
    the run that completed, because it has fewer points.

    Args:
        command: As for ``run_child``.
        env: Added to the environment; or a function from the point's number to it, for a fresh database each time.
        timeout_seconds: How long one child may take.
        max_points: How many points there may be.

    Raises:
        ChildFailedError: A child failed by itself, or there are more points than allowed.
    """
    for number in range(1, max_points + 2):
        added = env(number) if callable(env) else env
        run = await run_child(command, added, kill_at=number, timeout_seconds=timeout_seconds)
        yield run
        if not run.killed:
            return
    message = (
        f"The child still passed points after {max_points}; raise max_points or look for a loop."
    )
    raise ChildFailedError(message)
