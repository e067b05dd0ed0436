"""Waiting for SQLite's lock in slices, so that a cancellation need not wait for the whole time.

SQLite waits inside one call of its library, which nothing can interrupt. So a connection waits only
for a slice, and whoever wants the lock asks again until the configured time is over.
"""

from time import monotonic

SLICE_SECONDS = 0.2
"""How long one call to SQLite waits for a lock."""


def is_locked(error: BaseException) -> bool:
    """Tell whether SQLite refused something because another connection has the lock."""
    text = str(error)
    return "database is locked" in text or "database table is locked" in text


class LockDeadline:
    """Says after a refusal whether to ask for the lock once more.

    Args:
        seconds: How long to go on asking.
    """

    __slots__ = ("_ends_at",)

    def __init__(self, seconds: float) -> None:
        self._ends_at = monotonic() + seconds

    def allows_retry(self, error: BaseException) -> bool:
        """Tell whether the error is a refused lock and there is time left to ask again."""
        return is_locked(error) and monotonic() < self._ends_at
