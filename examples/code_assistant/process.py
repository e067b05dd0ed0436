"""Runs one program in a process group of its own, with bounds on time and output; nothing of the group outlives it."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from code_assistant.results import CommandResult

MAX_OUTPUT_BYTES = 64_000
_LAST_OUTPUT_SECONDS = 2.0
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT")


def minimal_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the environment of a child: what programs need to work, and nothing that could be a secret."""
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, "TERM": "dumb", **passed, **(extra or {})}


async def run_program(
    arguments: Sequence[str],
    *,
    folder: Path,
    timeout_seconds: float,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> CommandResult:
    """Run a program and wait for its end. When the caller is cancelled, the whole group is killed.

    Processes that the program leaves behind in its group are killed when it ends. One that starts a group of its own is
    out of reach.

    Args:
        arguments: The program and its arguments.
        folder: Its working folder.
        timeout_seconds: After that it is killed.
        stdin: What it reads.
        environment: Further variables.

    Raises:
        OSError: The program cannot be started.
    """
    output, errors = _Pipe(), _Pipe()
    try:
        process = await _start(arguments, folder, environment, output, errors)
    except BaseException:
        output.close()
        errors.close()
        raise
    readers = [asyncio.create_task(pipe.drain()) for pipe in (output, errors)]
    try:
        timed_out = await _wait(process, stdin, timeout_seconds)
    finally:
        _kill_group(process)
        # A process that left the group may hold the pipes open for ever.
        await asyncio.wait(readers, timeout=_LAST_OUTPUT_SECONDS)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        output.close()
        errors.close()
        await process.wait()
    return CommandResult(
        exit_code=process.returncode if process.returncode is not None else -signal.SIGKILL,
        output=output.text(),
        errors=errors.text(),
        timed_out=timed_out,
        is_cut=output.is_cut or errors.is_cut,
    )


async def _start(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None,
    output: "_Pipe",
    errors: "_Pipe",
) -> Process:
    """Start a program as the leader of a new group."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *arguments,
            cwd=folder,
            env=minimal_environment(environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=output.writing_end,
            stderr=errors.writing_end,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # It may run already and have children, and a start that is cut off would kill the leader alone.
        with suppress(OSError):
            process = await starting
            _kill_group(process)
            await process.wait()
        raise


async def _wait(process: Process, stdin: bytes, timeout_seconds: float) -> bool:
    """Wait for a process; tells whether it took too long."""
    try:
        async with asyncio.timeout(timeout_seconds):
            await _feed(process, stdin)
            await process.wait()
    except TimeoutError:
        return True
    return False


async def _feed(process: Process, stdin: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


def _kill_group(process: Process) -> None:
    # The group's id is the leader's pid, which stays taken while any member of the group lives.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@dataclass(slots=True)
class _Pipe:
    """One stream of output. What is beyond the bound is read and dropped, so that the program does not block."""

    writing_end: int = -1
    is_cut: bool = False
    _reading_end: int = -1
    _kept: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._reading_end, self.writing_end = os.pipe()

    def close(self) -> None:
        """Close what is still open."""
        for descriptor in (self._reading_end, self.writing_end):
            with suppress(OSError):
                os.close(descriptor)
        self._reading_end = self.writing_end = -1

    async def drain(self) -> None:
        """Read until every writer is gone."""
        os.close(self.writing_end)
        self.writing_end = -1
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(self._reading_end, "rb", 0)
        )
        self._reading_end = -1
        try:
            while chunk := await reader.read(16_384):
                room = MAX_OUTPUT_BYTES - len(self._kept)
                self._kept += chunk[:room]
                self.is_cut = self.is_cut or len(chunk) > room
        finally:
            transport.close()

    def text(self) -> str:
        """Give what was kept, as text."""
        return self._kept.decode("utf-8", "replace")
