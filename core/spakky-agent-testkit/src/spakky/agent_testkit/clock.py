"""A clock that moves only when a test says so."""

from datetime import UTC, datetime, timedelta

from spakky.agent.checks import require_not_negative, require_positive
from spakky.agent.error import AgentValueError

START_OF_TIME = datetime(2030, 1, 1, tzinfo=UTC)
"""What a new clock shows."""


class ManualClock:
    """Shows one time until it is moved on; call it to read it.

    Args:
        now: The first time shown; it must have a time zone.

    Raises:
        AgentValueError: The time has no time zone.
    """

    __slots__ = ("_now",)

    def __init__(self, now: datetime = START_OF_TIME) -> None:
        if now.tzinfo is None:
            message = "ManualClock.now must have a time zone; write datetime(..., tzinfo=UTC)."
            raise AgentValueError(message)
        self._now = now

    def __call__(self) -> datetime:
        """Give the time that is shown."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the time on.

        Args:
            seconds: How far; zero or more.

        Raises:
            AgentValueError: A negative number.
        """
        require_not_negative(seconds, "ManualClock.advance(seconds)")
        self._now += timedelta(seconds=seconds)


def add_seconds(now: datetime, seconds: float, where: str) -> datetime:
    """Give the time that lies a number of seconds, greater than zero, later.

    Raises:
        AgentValueError: Zero seconds or fewer.
    """
    require_positive(seconds, where)
    return now + timedelta(seconds=seconds)
