"""Why a commit was refused by its own conditions; told apart here, explained in ``database``."""

from enum import StrEnum


class Refusal(StrEnum):
    """The condition that failed."""

    LEASE = "lease"
    STATE = "state"
    SIGNAL = "signal"


class CommitRefusedError(Exception):
    """A condition of a commit failed, and nothing of it is to stay. Never leaves the package.

    Args:
        refusal: The condition.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal
