"""Runs a database operation so that a cancelled caller still learns nothing too early.

A driver may go on with a statement after its caller was cancelled: SQLite's thread cannot be
interrupted, and a server may have begun to commit. If the caller went on at once, its next read
could come before that commit. So the operation runs in a task of its own, and a cancelled caller
waits until the outcome is settled, within limits.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

GRACE_SECONDS = 0.5
"""How long a cancelled caller waits for its operation before the operation is cancelled too."""


async def settle[T](
    operation: Coroutine[object, object, T], *, grace_seconds: float = GRACE_SECONDS
) -> T:
    """Run an operation; when the caller is cancelled, end only once the operation has ended.

    Args:
        operation: What to run.
        grace_seconds: How long the operation may go on after a cancellation. Then it is cancelled,
            and waited for.

    Raises:
        asyncio.CancelledError: The caller was cancelled. The operation has ended: it is done as a
            whole or, when its transaction could not be finished, undone as a whole.
    """
    task = asyncio.ensure_future(operation)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.done():
            raise
        await _wait_to_the_end(task, grace_seconds)
        raise


async def _wait_to_the_end[T](task: asyncio.Future[T], grace_seconds: float) -> None:
    """Wait for a task through further cancellations of the caller, which will be raised anyway."""
    timer = asyncio.get_running_loop().call_later(grace_seconds, task.cancel)
    try:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
    finally:
        timer.cancel()
    if not task.cancelled():
        # Asked for, so that the loop does not report an exception that nobody looked at.
        task.exception()
