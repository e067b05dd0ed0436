"""The decisions that a person can take on an approval request."""

from enum import StrEnum


class ApprovalDecision(StrEnum):
    """What a person decided: run it, refuse it, run it with other arguments, later, or end the run."""

    APPROVE = "approve"
    REJECT = "reject"
    MODIFY = "modify"
    DEFER = "defer"
    CANCEL = "cancel"


DEFAULT_APPROVAL_DECISIONS: tuple[ApprovalDecision, ...] = tuple(ApprovalDecision)
"""All decisions; what a request allows unless it says otherwise."""
