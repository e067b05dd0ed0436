"""The status table of a run: which triggers move which status, and where to.

Everything that moves a run's status is a row here. The table does not know who pulls a trigger, nor what a run does
between two of them. A missing row is a fault of the caller, named with both sides. An ended run has no rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentLifecycleError


class Trigger(StrEnum):
    """What may happen to a run, seen from its status."""

    START = "start"
    GO_ON = "go_on"
    ASK_APPROVAL = "ask_approval"
    DEFER = "defer"
    ASK_AUTH = "ask_auth"
    ASK_RECOVERY = "ask_recovery"
    INTERRUPT = "interrupt"
    LOSE_MODEL = "lose_model"
    REJECT = "reject"
    BEGIN_CANCEL = "begin_cancel"
    FINISH_CANCEL = "finish_cancel"
    FAIL_CLEANUP = "fail_cleanup"
    COMPLETE = "complete"
    FAIL = "fail"
    TIME_OUT = "time_out"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run stands: the three columns that an ``AgentState`` shows of its life cycle."""

    status: AgentStatus
    transition: AgentStateTransition
    reason: AgentStateReason | None = None


CREATED = Standing(AgentStatus.CREATED, AgentStateTransition.PENDING)

_RUNNING = Standing(AgentStatus.ACTIVE, AgentStateTransition.RUNNING)
_CANCELLING = Standing(
    AgentStatus.CANCELLING,
    AgentStateTransition.CANCELLING,
    AgentStateReason.CANCELLATION_REQUESTED,
)


def _waiting(reason: AgentStateReason) -> Standing:
    return Standing(AgentStatus.INTERRUPTED, AgentStateTransition.WAITING_APPROVAL, reason)


def _interrupted(reason: AgentStateReason) -> Standing:
    return Standing(AgentStatus.INTERRUPTED, AgentStateTransition.INTERRUPTED, reason)


def _failed(reason: AgentStateReason) -> Standing:
    return Standing(AgentStatus.FAILED, AgentStateTransition.FAILED, reason)


# Pauses that may begin while a run is active and be renewed, with another reason, while it is interrupted.
_PAUSES: Mapping[Trigger, Standing] = {
    Trigger.ASK_APPROVAL: _waiting(AgentStateReason.APPROVAL_REQUIRED),
    Trigger.ASK_AUTH: _interrupted(AgentStateReason.AUTH_REQUIRED),
    Trigger.ASK_RECOVERY: _interrupted(AgentStateReason.RECOVERY_REQUIRES_HITL),
    Trigger.INTERRUPT: _interrupted(AgentStateReason.USER_INTERRUPTED),
}

_ENDINGS: Mapping[Trigger, Standing] = {
    Trigger.FAIL: _failed(AgentStateReason.EXECUTION_FAILED),
    Trigger.TIME_OUT: Standing(
        AgentStatus.FAILED, AgentStateTransition.TIMED_OUT, AgentStateReason.TIMEOUT
    ),
}

TABLE: Mapping[AgentStatus, Mapping[Trigger, Standing]] = MappingProxyType(
    {
        AgentStatus.CREATED: {Trigger.START: _RUNNING, Trigger.BEGIN_CANCEL: _CANCELLING},
        AgentStatus.ACTIVE: {
            Trigger.GO_ON: _RUNNING,
            **_PAUSES,
            Trigger.LOSE_MODEL: _interrupted(AgentStateReason.EXECUTION_FAILED),
            Trigger.BEGIN_CANCEL: _CANCELLING,
            Trigger.COMPLETE: Standing(AgentStatus.COMPLETED, AgentStateTransition.COMPLETED),
            **_ENDINGS,
        },
        AgentStatus.INTERRUPTED: {
            Trigger.GO_ON: _RUNNING,
            **_PAUSES,
            Trigger.DEFER: _waiting(AgentStateReason.APPROVAL_DEFERRED),
            Trigger.REJECT: _failed(AgentStateReason.APPROVAL_REJECTED),
            Trigger.BEGIN_CANCEL: _CANCELLING,
            **_ENDINGS,
        },
        AgentStatus.CANCELLING: {
            Trigger.BEGIN_CANCEL: _CANCELLING,
            Trigger.FINISH_CANCEL: Standing(
                AgentStatus.CANCELLED,
                AgentStateTransition.CANCELLED,
                AgentStateReason.CANCELLATION_REQUESTED,
            ),
            Trigger.FAIL_CLEANUP: _failed(AgentStateReason.CANCELLATION_CLEANUP_FAILED),
        },
        AgentStatus.COMPLETED: {},
        AgentStatus.FAILED: {},
        AgentStatus.CANCELLED: {},
    }
)

ENDED: frozenset[AgentStatus] = frozenset(status for status, moves in TABLE.items() if not moves)
"""The statuses that nothing moves: an ended run is never opened again."""


def decide_move(status: AgentStatus, trigger: Trigger, run: str = "The run") -> Standing:
    """Look up where a trigger moves a status.

    Args:
        status: Where the run stands.
        trigger: What is to happen.
        run: How an error names the run.

    Raises:
        AgentLifecycleError: The table has no such row.
    """
    standing = TABLE[status].get(trigger)
    if standing is None:
        moves = ", ".join(_in_words(move) for move in TABLE[status])
        hint = f"it can {moves}" if moves else "it has ended, so start another one"
        message = f"{run} is {status.value} and cannot {_in_words(trigger)}; {hint}."
        raise AgentLifecycleError(message)
    return standing


def _in_words(trigger: Trigger) -> str:
    return trigger.value.replace("_", " ")


def standing_of(state: AgentState) -> Standing:
    """Read the standing out of a state."""
    transition = state.transition or AgentStateTransition.PENDING
    return Standing(state.status, transition, state.reason)


def apply_move(state: AgentState, trigger: Trigger) -> AgentState:
    """Give the state after a trigger; its version and everything else stay.

    Raises:
        AgentLifecycleError: The table has no such row.
    """
    standing = decide_move(state.status, trigger, f"Run {state.id}")
    return replace(
        state, status=standing.status, transition=standing.transition, reason=standing.reason
    )
