"""Deadlines of one request: one timer that is moved, not one per wait.

A request has two deadlines at a time: the total one, and that of the phase it is in (first delta, idle, usage). Whoever waits for
the network waits through ``Deadline.wait``. Only there can a deadline strike: between two waits the consumer has the word, and
its time is none of the server's. The timer is set once and looks, when it fires, how far the deadline has moved meanwhile; so a
delta costs no timer, no task and no cancel scope.
"""

import asyncio
from asyncio import AbstractEventLoop, Task, TimerHandle
from collections.abc import Awaitable
from enum import StrEnum
from math import inf


class DeadlinePhase(StrEnum):
    """What is being waited for, in words for a message."""

    TOTAL = "the end of the request"
    FIRST_DELTA = "the first part of the answer"
    IDLE = "the next part of the answer"
    USAGE = "the token counts"


class DeadlinePassedError(Exception):
    """A wait took too long.

    Args:
        phase: What was being waited for.
        seconds: How long it may take.
    """

    def __init__(self, phase: DeadlinePhase, seconds: float) -> None:
        super().__init__(f"Waited {seconds:g} s for {phase.value}.")
        self.phase = phase
        self.seconds = seconds


class Deadline:
    """The deadlines of one request. Made inside the running event loop, and closed by whoever made it.

    Args:
        total_seconds: For the whole request, from now on; None for no bound.
    """

    __slots__ = (
        "_handle",
        "_loop",
        "_passed",
        "_phase",
        "_phase_due",
        "_phase_seconds",
        "_task",
        "_total_due",
        "_total_seconds",
    )

    def __init__(self, total_seconds: float | None) -> None:
        self._loop: AbstractEventLoop = asyncio.get_running_loop()
        self._total_seconds = inf if total_seconds is None else total_seconds
        self._total_due = self._loop.time() + self._total_seconds
        self._phase = DeadlinePhase.TOTAL
        self._phase_seconds = inf
        self._phase_due = inf
        self._handle: TimerHandle | None = None
        self._task: Task[object] | None = None
        self._passed: DeadlinePassedError | None = None

    def expect(self, phase: DeadlinePhase, seconds: float | None) -> None:
        """Begin a phase: from now on, that may take so long; None for no bound but the total one."""
        self._phase = phase
        self._phase_seconds = inf if seconds is None else seconds
        self._phase_due = self._loop.time() + self._phase_seconds
        if self._handle is None or self._phase_due < self._handle.when():
            self._set_timer()

    def remaining(self) -> float:
        """Give the seconds that are left of the total ones; infinite without a bound."""
        return self._total_due - self._loop.time()

    async def wait[T](self, awaitable: Awaitable[T]) -> T:
        """Wait for something, but not beyond the deadlines.

        Raises:
            DeadlinePassedError: One of the deadlines struck; what was waited for is cancelled.
        """
        task = asyncio.current_task()
        if task is None:
            # Without a task there is nothing that a deadline could cancel; asyncio itself asks for one here.
            message = "A model can be asked from a task of the event loop only."
            raise RuntimeError(message)
        if self._handle is None:
            self._set_timer()
        cancelling = task.cancelling()
        self._task = task
        try:
            result = await awaitable
        except (Exception, asyncio.CancelledError) as error:
            passed = self._take_passed(task)
            if passed is None or task.cancelling() > cancelling:
                raise
            raise passed from error
        finally:
            self._task = None
        # It came in the very moment in which the deadline struck, and it may be something that has to be closed.
        self._take_passed(task)
        return result

    def close(self) -> None:
        """Stop the timer; the deadlines do not strike any more."""
        self._total_due = self._phase_due = inf
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _take_passed(self, task: "Task[object]") -> DeadlinePassedError | None:
        passed = self._passed
        if passed is not None:
            # Our own request to cancel was heard, so it must not count as one from outside.
            self._passed = None
            task.uncancel()
        return passed

    def _set_timer(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        due = min(self._phase_due, self._total_due)
        if due < inf:
            self._handle = self._loop.call_at(due, self._strike)

    def _strike(self) -> None:
        self._handle = None
        task = self._task
        if task is None:
            # Nobody waits for the network now; the next wait sets the timer again.
            return
        due = min(self._phase_due, self._total_due)
        if self._loop.time() < due:
            self._set_timer()
            return
        if self._total_due <= self._phase_due:
            self._passed = DeadlinePassedError(DeadlinePhase.TOTAL, self._total_seconds)
        else:
            self._passed = DeadlinePassedError(self._phase, self._phase_seconds)
        task.cancel()
