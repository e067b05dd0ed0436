"""One event loop for one command: interrupts cancel it, and its clean-up has a bound."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """How a command in a loop ended.

    Attributes:
        interrupted: Whether the user interrupted it.
        abandoned: Whether something of it still runs: the command itself or a thread that it started work in.
        error: What it raised; None for a cancellation that an interrupt asked for.
    """

    interrupted: bool = False
    abandoned: bool = False
    error: BaseException | None = None


def run_in_loop(
    start: Callable[[], Coroutine[object, object, object]], cleanup_seconds: float
) -> LoopOutcome:
    """Run a coroutine to its end in a new event loop.

    The first SIGINT cancels it and gives it time to clean up; the second one ends at once.

    Args:
        start: Makes the coroutine; called inside the loop.
        cleanup_seconds: How long it may take to end after it was cancelled, and its threads after that.
    """
    runner = asyncio.Runner()
    watched = _WatchedCommand(start, cleanup_seconds)
    try:
        with _catch_interrupts(watched.interrupt):
            outcome = runner.run(watched.run())
    except KeyboardInterrupt:
        outcome = LoopOutcome(interrupted=True, abandoned=True)
    # Closing waits for all that still runs, which is what an abandoned command is not given time for.
    if not outcome.abandoned:
        runner.close()
    return outcome


class _WatchedCommand:
    """A command and the interrupts that it gets."""

    def __init__(
        self, start: Callable[[], Coroutine[object, object, object]], cleanup_seconds: float
    ) -> None:
        self._start = start
        self._cleanup_seconds = cleanup_seconds
        self._interrupted = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interruption = asyncio.Event()

    def interrupt(self) -> None:
        """Take an interrupt; called by a signal handler, between any two instructions.

        Raises:
            KeyboardInterrupt: It is the second one, or the loop does not run yet.
        """
        if self._interrupted or self._loop is None:
            raise KeyboardInterrupt
        self._interrupted = True
        self._loop.call_soon_threadsafe(self._interruption.set)

    async def run(self) -> LoopOutcome:
        """Run the command, and cancel it when it is interrupted."""
        self._loop = asyncio.get_running_loop()
        executor = ThreadPoolExecutor(thread_name_prefix="spakky-command")
        self._loop.set_default_executor(executor)
        command = asyncio.create_task(self._settle())
        interruption = asyncio.create_task(self._interruption.wait())
        await asyncio.wait({command, interruption}, return_when=asyncio.FIRST_COMPLETED)
        interruption.cancel()
        if self._interrupted:
            return await self._clean_up(command, executor)
        error = command.result()
        return LoopOutcome(interrupted=isinstance(error, KeyboardInterrupt), error=error)

    async def _settle(self) -> BaseException | None:
        """Run the command and give what it raised, so that nothing but an outcome leaves its task."""
        try:
            await self._start()
        except BaseException as error:  # noqa: BLE001  # also the command's own SystemExit; it is raised again later
            return error
        return None

    async def _clean_up(
        self, command: asyncio.Task[BaseException | None], executor: ThreadPoolExecutor
    ) -> LoopOutcome:
        command.cancel()
        await asyncio.wait({command}, timeout=self._cleanup_seconds)
        if not command.done():
            return LoopOutcome(interrupted=True, abandoned=True)
        error = command.result()
        ended = await _join_threads(executor, self._cleanup_seconds)
        asked_for = isinstance(error, asyncio.CancelledError)
        return LoopOutcome(
            interrupted=True, abandoned=not ended, error=None if asked_for else error
        )


async def _join_threads(executor: ThreadPoolExecutor, timeout_seconds: float) -> bool:
    """Wait until no thread of an executor runs any more; tells whether it came to that."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def join() -> None:
        executor.shutdown(wait=True, cancel_futures=True)
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=join, daemon=True).start()
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait({waiting}, timeout=timeout_seconds)
    waiting.cancel()
    return ended.is_set()


@contextmanager
def _catch_interrupts(interrupt: Callable[[], None]) -> Iterator[None]:
    """Hand SIGINT to a function, where this thread gets signals and nobody else has taken that one."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        interrupt()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
