"""Stored states and signals refuse what no store could give back."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest

from spakky.agent.contracts.signals import (
    AgentSignal,
    AgentSignalConsumptionBatch,
    AgentSignalKind,
    AgentSignalPollPoint,
)
from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentValueError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)


@pytest.mark.requirement("STATE-1")
def test_a_new_state_has_no_history() -> None:
    state = AgentState("r1", "Agent", AgentStatus.CREATED)
    assert (state.version, state.checkpoint, state.metadata) == (0, {}, {})
    assert (state.created_at, state.updated_at) == (None, None)


@pytest.mark.requirement("STATE-1")
def test_a_state_keeps_all_that_it_was_given() -> None:
    state = AgentState(
        "r1",
        "Agent",
        AgentStatus.INTERRUPTED,
        AgentStateTransition.WAITING_APPROVAL,
        AgentStateReason.APPROVAL_REQUIRED,
        metadata={"a": 1},
        created_at=NOON,
        updated_at=NOON,
        version=3,
        checkpoint={"step": 2},
    )
    assert state == AgentState(
        id="r1",
        agent_type="Agent",
        status=AgentStatus.INTERRUPTED,
        transition=AgentStateTransition.WAITING_APPROVAL,
        reason=AgentStateReason.APPROVAL_REQUIRED,
        metadata={"a": 1},
        created_at=NOON,
        updated_at=NOON,
        version=3,
        checkpoint={"step": 2},
    )
    with pytest.raises(FrozenInstanceError):
        # The assignment is what must fail.
        state.version = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"id": " "}, "AgentState.id"),
        ({"agent_type": ""}, "AgentState.agent_type"),
        ({"status": "active"}, "AgentState.status"),
        ({"transition": "running"}, "AgentState.transition"),
        ({"reason": "timeout"}, "AgentState.reason"),
        ({"pending_signal_count": -1}, "AgentState.pending_signal_count"),
        ({"version": -1}, "AgentState.version"),
        ({"version": True}, "AgentState.version"),
        ({"created_at": NAIVE}, "AgentState.created_at"),
        ({"updated_at": NAIVE}, "AgentState.updated_at"),
        ({"checkpoint": "x"}, "AgentState.checkpoint"),
    ],
)
def test_a_state_that_no_store_could_give_back_is_refused(wrong: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {
        "id": "r1",
        "agent_type": "Agent",
        "status": AgentStatus.ACTIVE,
        **wrong,
    }
    with pytest.raises(AgentValueError, match=part):
        AgentState(**given)


@pytest.mark.requirement("SIG-1")
def test_a_signal_carries_a_payload_that_a_hook_can_read() -> None:
    payload = {"instruction": "shorter"}
    signal = AgentSignal("s1", "r1", AgentSignalKind.STEERING_INSTRUCTION, payload)
    payload["instruction"] = "longer"
    assert signal.payload.get("instruction") == "shorter"
    assert signal.created_at is None


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"id": ""}, "AgentSignal.id"),
        ({"agent_state_id": " "}, "AgentSignal.agent_state_id"),
        ({"kind": "cancel"}, "AgentSignal.kind"),
        ({"created_at": NAIVE}, "AgentSignal.created_at"),
        ({"payload": 5}, "AgentSignal.payload"),
    ],
)
def test_a_signal_that_no_store_could_give_back_is_refused(
    wrong: dict[str, Any], part: str
) -> None:
    given: dict[str, Any] = {
        "id": "s1",
        "agent_state_id": "r1",
        "kind": AgentSignalKind.CANCEL,
        **wrong,
    }
    with pytest.raises(AgentValueError, match=part):
        AgentSignal(**given)


def test_a_batch_counts_the_signals_that_one_look_consumed() -> None:
    signal = AgentSignal("s1", "r1", AgentSignalKind.CANCEL, created_at=NOON)
    batch = AgentSignalConsumptionBatch("r1", AgentSignalPollPoint.CONFIGURED, (signal, signal))
    assert batch.consumed_count == 2
    assert (
        AgentSignalConsumptionBatch("r1", AgentSignalPollPoint.CONFIGURED, ()).consumed_count == 0
    )


def test_a_batch_needs_a_run_and_a_poll_point() -> None:
    wrong: Any = "configured"
    with pytest.raises(AgentValueError, match="state_id"):
        AgentSignalConsumptionBatch("", AgentSignalPollPoint.CONFIGURED, ())
    with pytest.raises(AgentValueError, match="poll_point"):
        AgentSignalConsumptionBatch("r1", wrong, ())
