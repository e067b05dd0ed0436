"""The status table: every status meets every trigger."""

from dataclasses import FrozenInstanceError

import pytest

from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentLifecycleError
from spakky.agent.rules.lifecycle import (
    CREATED,
    ENDED,
    Standing,
    Trigger,
    apply_move,
    decide_move,
    standing_of,
)

RUNNING = "active running -"
CANCELLING = "cancelling cancelling cancellation_requested"
FAILED = "failed failed execution_failed"
TIMED_OUT = "failed timed_out timeout"
PAUSES = {
    "ask_approval": "interrupted waiting_approval approval_required",
    "ask_auth": "interrupted interrupted auth_required",
    "ask_recovery": "interrupted interrupted recovery_requires_hitl",
    "interrupt": "interrupted interrupted user_interrupted",
}
EXPECTED: dict[str, dict[str, str]] = {
    "created": {"start": RUNNING, "begin_cancel": CANCELLING},
    "active": {
        **PAUSES,
        "go_on": RUNNING,
        "lose_model": "interrupted interrupted execution_failed",
        "begin_cancel": CANCELLING,
        "complete": "completed completed -",
        "fail": FAILED,
        "time_out": TIMED_OUT,
    },
    "interrupted": {
        **PAUSES,
        "go_on": RUNNING,
        "defer": "interrupted waiting_approval approval_deferred",
        "reject": "failed failed approval_rejected",
        "begin_cancel": CANCELLING,
        "fail": FAILED,
        "time_out": TIMED_OUT,
    },
    "cancelling": {
        "begin_cancel": CANCELLING,
        "finish_cancel": "cancelled cancelled cancellation_requested",
        "fail_cleanup": "failed failed cancellation_cleanup_failed",
    },
    "completed": {},
    "failed": {},
    "cancelled": {},
}


def parse(text: str) -> Standing:
    status, transition, reason = text.split()
    return Standing(
        AgentStatus(status),
        AgentStateTransition(transition),
        None if reason == "-" else AgentStateReason(reason),
    )


@pytest.mark.parametrize("status", list(AgentStatus))
@pytest.mark.parametrize("trigger", list(Trigger))
@pytest.mark.requirement("STATE-2", "STATE-3", "STATE-4", "STATE-6", "HITL-11")
def test_every_cell_of_the_table_is_as_written(status: AgentStatus, trigger: Trigger) -> None:
    expected = EXPECTED[status.value].get(trigger.value)
    if expected is None:
        with pytest.raises(AgentLifecycleError) as caught:
            decide_move(status, trigger)
        assert status.value in str(caught.value)
        assert trigger.value.replace("_", " ") in str(caught.value)
    else:
        assert decide_move(status, trigger) == parse(expected)


@pytest.mark.requirement("STATE-6")
def test_the_ended_statuses_are_those_that_nothing_moves() -> None:
    assert {AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.CANCELLED} == ENDED


@pytest.mark.requirement("STATE-5")
def test_failure_timeout_interruption_and_cancellation_stay_apart() -> None:
    standings = (
        decide_move(AgentStatus.ACTIVE, Trigger.FAIL),
        decide_move(AgentStatus.ACTIVE, Trigger.TIME_OUT),
        decide_move(AgentStatus.ACTIVE, Trigger.INTERRUPT),
        decide_move(AgentStatus.CANCELLING, Trigger.FINISH_CANCEL),
    )
    assert [(s.status.value, s.reason and s.reason.value) for s in standings] == [
        ("failed", "execution_failed"),
        ("failed", "timeout"),
        ("interrupted", "user_interrupted"),
        ("cancelled", "cancellation_requested"),
    ]


def test_a_move_changes_the_three_columns_and_nothing_else() -> None:
    state = AgentState(
        "r", "desk", AgentStatus.CREATED, version=4, metadata={"k": 1}, checkpoint={"schema": 1}
    )
    moved = apply_move(state, Trigger.START)
    assert standing_of(moved) == parse(RUNNING)
    assert (moved.version, moved.metadata, moved.checkpoint) == (4, {"k": 1}, {"schema": 1})
    back = apply_move(apply_move(moved, Trigger.ASK_APPROVAL), Trigger.GO_ON)
    assert back.reason is None


def test_a_state_without_a_transition_is_pending() -> None:
    assert standing_of(AgentState("r", "desk", AgentStatus.CREATED)) == CREATED


def test_a_standing_is_a_value() -> None:
    standing = decide_move(AgentStatus.CREATED, Trigger.START)
    with pytest.raises(FrozenInstanceError):
        standing.reason = None  # type: ignore[misc]  # what is refused
    assert hash(standing) == hash(decide_move(AgentStatus.CREATED, Trigger.START))
