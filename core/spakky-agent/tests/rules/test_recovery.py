"""What a restart does with a run, told by its state, evidence and signals."""

from dataclasses import replace
from typing import Any

import pytest

from spakky.agent.contracts.boundary import (
    AgentActionBoundaryCheckpoint,
    AgentActionBoundaryStage,
    AgentActionKind,
    AgentResumeAction,
)
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.error import AgentCheckpointError
from spakky.agent.rules.recovery import plan_agent_resume

POINT = AgentActionBoundaryCheckpoint
ACTIVE = AgentState("r1", "desk", AgentStatus.ACTIVE)
NOT_REPEATABLE = [item for item in Idempotency if item is not Idempotency.IDEMPOTENT]
MESSAGE = AgentSignal("s1", "r1", AgentSignalKind.USER_MESSAGE, {"request_id": "a1"})


def record(*points: POINT) -> list[AgentEvidence]:
    return [
        point.to_evidence_candidate().to_evidence(evidence_id=f"e{number}", agent_state_id="r1")
        for number, point in enumerate(points, 1)
    ]


def before(action_id: str, idempotency: Idempotency = Idempotency.UNKNOWN) -> POINT:
    return POINT.before_tool_call(action_id, idempotency=idempotency)


def after(action_id: str, idempotency: Idempotency = Idempotency.UNKNOWN) -> POINT:
    return POINT.after_tool_call(action_id, idempotency=idempotency)


@pytest.mark.parametrize(
    ("status", "action"),
    [
        (AgentStatus.CREATED, AgentResumeAction.START),
        (AgentStatus.COMPLETED, AgentResumeAction.SKIP_COMPLETED),
        (AgentStatus.FAILED, AgentResumeAction.NOT_RESUMABLE),
        (AgentStatus.CANCELLED, AgentResumeAction.NOT_RESUMABLE),
        (AgentStatus.CANCELLING, AgentResumeAction.RETRY),
    ],
)
@pytest.mark.requirement("RECOV-2", "STATE-5", "STATE-6")
def test_some_statuses_decide_alone(status: AgentStatus, action: AgentResumeAction) -> None:
    state = AgentState("r1", "desk", status)
    plan = plan_agent_resume(state, record(before("t1")), (MESSAGE,))
    assert (plan.action, plan.state, plan.boundary) == (action, state, None)
    assert plan.signals == (MESSAGE,)


@pytest.mark.parametrize("status", [AgentStatus.ACTIVE, AgentStatus.INTERRUPTED])
@pytest.mark.parametrize("idempotency", list(Idempotency))
@pytest.mark.requirement("RECOV-2", "RECOV-3")
def test_a_completed_boundary_is_skipped(status: AgentStatus, idempotency: Idempotency) -> None:
    state = AgentState("r1", "desk", status)
    evidence = record(before("t1", idempotency), after("t1", idempotency))
    plan = plan_agent_resume(state, evidence, (MESSAGE,))
    assert plan.action is AgentResumeAction.SKIP_COMPLETED
    assert plan.state is state
    assert plan.boundary is not None
    assert plan.boundary.stage is AgentActionBoundaryStage.AFTER
    assert plan.signals == (MESSAGE,)


def test_without_any_boundary_there_is_nothing_to_repeat() -> None:
    other = AgentEvidence("e", "r1", AgentEvidenceKind.TOOL, {"stage": "before"})
    plan = plan_agent_resume(ACTIVE, [other])
    assert (plan.action, plan.boundary) == (AgentResumeAction.SKIP_COMPLETED, None)


@pytest.mark.requirement("RECOV-4")
def test_an_open_idempotent_call_is_retried() -> None:
    plan = plan_agent_resume(ACTIVE, record(before("t1", Idempotency.IDEMPOTENT)))
    assert plan.action is AgentResumeAction.RETRY
    assert plan.can_resume_automatically
    assert plan.state is ACTIVE
    assert plan.boundary is not None
    assert (plan.boundary.action_id, plan.boundary.evidence_id) == ("t1", "e1")


@pytest.mark.requirement("RECOV-4")
def test_an_open_model_call_is_retried() -> None:
    plan = plan_agent_resume(ACTIVE, record(POINT.before_model_call("m1")))
    assert plan.action is AgentResumeAction.RETRY
    assert plan.boundary is not None
    assert plan.boundary.action_kind is AgentActionKind.MODEL_CALL


@pytest.mark.parametrize("idempotency", NOT_REPEATABLE)
@pytest.mark.parametrize("status", [AgentStatus.ACTIVE, AgentStatus.INTERRUPTED])
@pytest.mark.requirement("RECOV-5")
def test_an_open_call_that_may_not_be_repeated_waits_for_a_person(
    idempotency: Idempotency, status: AgentStatus
) -> None:
    state = AgentState("r1", "desk", status, version=3)
    plan = plan_agent_resume(state, record(before("t1", idempotency)))
    assert plan.action is AgentResumeAction.REQUIRE_HITL
    assert plan.requires_human_input
    assert plan.state.status is AgentStatus.INTERRUPTED
    assert plan.state.reason is AgentStateReason.RECOVERY_REQUIRES_HITL
    assert plan.state.version == 3


@pytest.mark.requirement("RECOV-5")
def test_of_a_batch_the_call_that_needs_a_person_decides_whatever_was_begun_first() -> None:
    evidence = record(
        before("t1", Idempotency.IDEMPOTENT),
        before("t2"),
        before("t3", Idempotency.IDEMPOTENT),
        before("t4"),
        after("t2"),
    )
    plan = plan_agent_resume(ACTIVE, evidence)
    assert plan.action is AgentResumeAction.REQUIRE_HITL
    assert plan.boundary is not None
    assert plan.boundary.action_id == "t4"


def test_a_second_beginning_of_an_action_is_open_again() -> None:
    idempotent = Idempotency.IDEMPOTENT
    evidence = record(before("t", idempotent), after("t", idempotent), before("t", idempotent))
    plan = plan_agent_resume(ACTIVE, evidence)
    assert plan.action is AgentResumeAction.RETRY
    assert plan.boundary is not None
    assert plan.boundary.evidence_id == "e3"


DECISIONS: list[tuple[str, dict[str, Any], AgentResumeAction]] = [
    ("approval_decision", {"request_id": "wait1"}, AgentResumeAction.RETRY),
    ("approval_decision", {"request_id": "a1"}, AgentResumeAction.RETRY),
    ("approval_decision", {"request_id": "a2"}, AgentResumeAction.REQUIRE_HITL),
    ("approval_decision", {}, AgentResumeAction.REQUIRE_HITL),
    ("user_message", {"request_id": "a1"}, AgentResumeAction.REQUIRE_HITL),
]


@pytest.mark.parametrize(("kind", "payload", "action"), DECISIONS)
@pytest.mark.requirement("RECOV-6")
def test_an_approval_wait_needs_its_own_decision(
    kind: str, payload: dict[str, Any], action: AgentResumeAction
) -> None:
    state = AgentState("r1", "desk", AgentStatus.INTERRUPTED)
    wait = POINT.before_approval_wait("wait1", metadata={"approval_id": "a1"})
    signal = AgentSignal("s1", "r1", AgentSignalKind(kind), payload)
    plan = plan_agent_resume(state, record(wait), (signal,))
    assert plan.action is action
    assert plan.signals == (signal,)


@pytest.mark.requirement("RECOV-6")
def test_an_approval_wait_without_any_signal_waits_for_a_person() -> None:
    state = AgentState("r1", "desk", AgentStatus.INTERRUPTED)
    plan = plan_agent_resume(state, record(POINT.before_approval_wait("wait1")))
    assert plan.action is AgentResumeAction.REQUIRE_HITL
    assert plan.state.reason is AgentStateReason.RECOVERY_REQUIRES_HITL


GOOD = POINT.before_model_call("m1").to_evidence_candidate().payload


@pytest.mark.parametrize("key", ["action_id", "action_kind", "stage", "idempotency"])
@pytest.mark.parametrize("value", [None, 7, "", "nonsense"])
def test_boundary_evidence_that_cannot_be_read_is_named(key: str, value: Any) -> None:
    if (key, value) == ("action_id", "nonsense"):
        value = "  "
    damaged = AgentEvidence("e9", "r1", AgentEvidenceKind.ACTION_BOUNDARY, {**GOOD, key: value})
    with pytest.raises(AgentCheckpointError, match="e9"):
        plan_agent_resume(ACTIVE, [damaged])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.requirement("RECOV-2")
def test_the_last_boundary_is_the_one_that_is_skipped(count: int) -> None:
    points = [point(f"t{n}") for n in range(count) for point in (before, after)]
    plan = plan_agent_resume(ACTIVE, record(*points))
    assert plan.boundary is not None
    assert plan.boundary.action_id == f"t{count - 1}"


@pytest.mark.parametrize("idempotency", [Idempotency.IDEMPOTENT, Idempotency.NON_IDEMPOTENT])
@pytest.mark.requirement("RECOV-4", "RECOV-5")
def test_of_several_open_calls_the_oldest_is_named(idempotency: Idempotency) -> None:
    points = [before(f"t{n}", idempotency) for n in (1, 2, 3)]
    plan = plan_agent_resume(ACTIVE, record(*points))
    assert plan.boundary is not None
    assert plan.boundary.action_id == "t1"


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("decided", [0, 1, 2])
@pytest.mark.parametrize("order", ["rising", "falling"])
@pytest.mark.requirement("RECOV-6")
def test_a_wait_is_decided_by_the_request_that_its_own_boundary_names(
    position: int, decided: int, order: str
) -> None:
    """Three waits, of which two were ended; ids say nothing about the order of the evidence."""
    waits = [
        POINT.before_approval_wait(f"wait{n}", metadata={"approval_id": f"a{n}"}) for n in range(3)
    ]
    ended = [POINT.after_approval_wait(f"wait{n}") for n in range(3) if n != position]
    signal = AgentSignal(
        "s1", "r1", AgentSignalKind.APPROVAL_DECISION, {"request_id": f"a{decided}"}
    )
    evidence = record(*waits, *ended)
    if order == "falling":
        evidence = [replace(piece, id=f"e{9 - n}") for n, piece in enumerate(evidence)]
    plan = plan_agent_resume(AgentState("r1", "desk", AgentStatus.INTERRUPTED), evidence, (signal,))
    expected = AgentResumeAction.RETRY if position == decided else AgentResumeAction.REQUIRE_HITL
    assert plan.action is expected
