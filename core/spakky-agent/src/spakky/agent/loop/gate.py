"""Stops a waiting run from outside, without a task, queue or timeout for each thing it waits for.

One gate belongs to one run. Whoever wants the run to stop trips it: the deadline, a CANCEL seen by the watcher, a lost
lease. While the run waits inside ``wait`` the waiting task is cancelled, as ``asyncio.timeout`` would do, and the
cancellation is taken back here; between waits nothing is cancelled, so the code of a caller that holds the generator
never sees it. No ``yield`` happens inside ``wait``.
"""

import asyncio
from collections.abc import Awaitable

from spakky.agent.loop.outcomes import Stopped, StopReason
from spakky.agent.loop.progress import CancelOrder


class Tripped(Exception):
    """What was awaited was stopped because the gate was tripped."""


class Gate:
    """Where one run can be stopped."""

    __slots__ = ("_base", "_cancelled", "_deadline", "_task", "stopped")

    def __init__(self) -> None:
        self.stopped: Stopped | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False
        self._base = 0
        self._deadline: asyncio.TimerHandle | None = None

    def start_deadline(self, timeout_seconds: float | None) -> None:
        """Trip the gate once that much time has passed; None sets no deadline."""
        if timeout_seconds is not None:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(timeout_seconds, self.trip, StopReason.DEADLINE)

    def trip(self, reason: StopReason, order: CancelOrder | None = None) -> None:
        """Stop the run; the first reason stands, but a lost lease overrides it."""
        if self.stopped is not None and reason is not StopReason.LEASE_LOST:
            return
        self.stopped = Stopped(reason, order)
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def close(self) -> None:
        """Drop the deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    async def wait[T](self, awaitable: Awaitable[T]) -> T:
        """Await something until it ends or the gate is tripped.

        Raises:
            Tripped: The gate was tripped; what was awaited has been cancelled.
            CancelledError: The caller's own task was cancelled.
        """
        if self.stopped is not None:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()
            raise Tripped
        self._task = task = asyncio.current_task()
        if task is not None:
            self._base = task.cancelling()
        try:
            result = await awaitable
        except (asyncio.CancelledError, Exception):
            # What was awaited may answer our cancellation with an error of its own, or end its stream.
            self._take_back(task)
            raise
        finally:
            self._task = None
        self._take_back(task)
        if self.stopped is not None:
            raise Tripped
        return result

    def _take_back(self, task: "asyncio.Task[object] | None") -> None:
        """Take our own cancellation back, where there is one, and say by the error whether it was the only one."""
        if not self._cancelled or task is None:
            return
        self._cancelled = False
        if task.uncancel() <= self._base:
            raise Tripped from None
        raise asyncio.CancelledError from None
