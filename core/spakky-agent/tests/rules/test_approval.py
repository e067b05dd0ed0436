"""When a tool waits for a person, and what a decision does."""

from itertools import product
from typing import Any

import pytest

from spakky.agent.contracts.approval import (
    AgentApprovalPlan,
    AgentApprovalPlanAction,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.contracts.tool_metadata import (
    AgentToolMetadata,
    DataAccess,
    Externality,
    ToolApprovalRequirement,
    ToolEffects,
)
from spakky.agent.contracts.yields import AgentYieldKind
from spakky.agent.declare.descriptor import AgentToolDescriptor
from spakky.agent.error import AgentApprovalDecisionError, AgentLifecycleError
from spakky.agent.rules.approval import (
    materialize_agent_approval_decision_state,
    needs_approval,
    parse_agent_approval_decision_signal,
    plan_agent_tool_approval,
)

EFFECTS = [
    ToolEffects(access, externality, destructive=destructive, network=network)
    for access, externality, destructive, network in product(
        DataAccess, Externality, (False, True), (False, True)
    )
]


def describe(metadata: AgentToolMetadata) -> AgentToolDescriptor:
    return AgentToolDescriptor.foreign(
        source="tests",
        name="act",
        call=lambda: None,
        input_schema={"type": "object", "properties": {}},
        metadata=metadata,
    )


def plan(declared: AgentToolMetadata, **more: Any) -> AgentApprovalPlan:
    return plan_agent_tool_approval(
        descriptor=describe(declared),
        approval_id="a1",
        agent_state_id="r1",
        agent_type="desk",
        **more,
    )


RISKY = AgentToolMetadata(effects=ToolEffects.external_side_effect())


@pytest.mark.parametrize("effects", EFFECTS)
@pytest.mark.requirement("HITL-1", "HITL-2", "HITL-3", "HITL-4")
def test_requirement_and_risk_alone_decide(effects: ToolEffects) -> None:
    candidate = (
        effects.data_access in {DataAccess.WRITE, DataAccess.READ_WRITE}
        or effects.externality is not Externality.LOCAL
        or effects.destructive
        or effects.network
    )
    expected = {
        ToolApprovalRequirement.REQUIRED: True,
        ToolApprovalRequirement.NOT_REQUIRED: False,
        ToolApprovalRequirement.DERIVED: candidate,
    }
    for requirement, waits in expected.items():
        metadata = AgentToolMetadata(effects=effects, approval=requirement)
        assert needs_approval(metadata) is waits
        action = plan(metadata).action
        assert action is (
            AgentApprovalPlanAction.WAIT_FOR_APPROVAL if waits else AgentApprovalPlanAction.PROCEED
        )


@pytest.mark.requirement("HITL-3")
def test_a_call_that_goes_on_has_no_request() -> None:
    proceeding = plan(AgentToolMetadata(effects=ToolEffects.read_only()))
    assert (proceeding.request, proceeding.state, proceeding.yield_item) == (None, None, None)


@pytest.mark.requirement("HITL-4", "HITL-5")
def test_a_call_that_waits_has_request_state_and_item() -> None:
    waiting = plan(
        RISKY, prompt="Send it?", action_ref="r1/call/1.1", call_id="c1", metadata={"to": "x"}
    )
    assert waiting.request is not None
    assert waiting.state is not None
    assert waiting.yield_item is not None
    assert (waiting.request.prompt, waiting.request.action_ref) == ("Send it?", "r1/call/1.1")
    assert (waiting.request.call_id, waiting.request.metadata) == ("c1", {"to": "x"})
    assert (waiting.state.id, waiting.state.agent_type) == ("r1", "desk")
    assert waiting.state.status is AgentStatus.INTERRUPTED
    assert waiting.state.transition is AgentStateTransition.WAITING_APPROVAL
    assert waiting.state.reason is AgentStateReason.APPROVAL_REQUIRED
    assert waiting.yield_item.kind is AgentYieldKind.APPROVAL
    assert waiting.yield_item.payload.id == "a1"


def test_without_words_of_its_own_the_prompt_names_the_tool() -> None:
    request = plan(RISKY).request
    assert request is not None
    assert "act" in request.prompt
    assert request.action_ref == "act"


# ---------------------------------------------------------------- decisions


def decision_signal(kind: str = "approval_decision", **payload: Any) -> AgentSignal:
    return AgentSignal("s1", "r1", AgentSignalKind(kind), payload)


def open_request(**parts: Any) -> AgentApprovalRequest:
    given: dict[str, Any] = {"approval_id": "a1", "agent_state_id": "r1"}
    return AgentApprovalRequest.from_tool_descriptor(descriptor=describe(RISKY), **(given | parts))


WAITING = AgentState(
    "r1",
    "desk",
    AgentStatus.INTERRUPTED,
    AgentStateTransition.WAITING_APPROVAL,
    AgentStateReason.APPROVAL_REQUIRED,
)
OUTCOMES = [
    ("approve", "active running -"),
    ("modify", "active running -"),
    ("defer", "interrupted waiting_approval approval_deferred"),
    ("reject", "failed failed approval_rejected"),
    ("cancel", "cancelling cancelling cancellation_requested"),
]


@pytest.mark.parametrize(("decision", "standing"), OUTCOMES)
@pytest.mark.requirement("HITL-6", "HITL-7", "HITL-8", "HITL-9", "HITL-10")
def test_each_decision_moves_the_run_as_written(decision: str, standing: str) -> None:
    signal = decision_signal(
        request_id="a1", decision=decision, modified_payload={"x": 1}, decided_by="ann"
    )
    outcome = parse_agent_approval_decision_signal(signal, request=open_request())
    state = materialize_agent_approval_decision_state(WAITING, outcome)
    for holder in (outcome, state):
        reason = "-" if holder.reason is None else holder.reason.value
        assert holder.transition is not None
        assert f"{holder.status.value} {holder.transition.value} {reason}" == standing
    assert outcome.decision is ApprovalDecision(decision)
    assert (outcome.request_id, outcome.decided_by) == ("a1", "ann")
    assert outcome.modified_payload == ({"x": 1} if decision == "modify" else {})


def test_a_decision_is_read_without_a_request_too() -> None:
    signal = decision_signal(request_id="other", decision="approve", comment="fine")
    outcome = parse_agent_approval_decision_signal(signal)
    assert (outcome.request_id, outcome.comment, outcome.has_result) == ("other", "fine", False)


@pytest.mark.parametrize("result", [None, 0, "done", {"paid": 3}, []])
def test_a_supplied_result_counts_even_when_it_is_null(result: Any) -> None:
    signal = decision_signal(request_id="a1", decision="approve", result=result)
    outcome = parse_agent_approval_decision_signal(signal)
    assert outcome.has_result
    assert outcome.result == result


def test_empty_fields_of_a_form_count_as_absent() -> None:
    signal = decision_signal(request_id="a1", decision="approve", comment="", decided_by="  ")
    outcome = parse_agent_approval_decision_signal(signal)
    assert (outcome.comment, outcome.decided_by) == (None, None)


REFUSED = [
    ({"decision": "approve"}, "request_id"),
    ({"decision": "approve", "request_id": " "}, "request_id"),
    ({"decision": "approve", "request_id": 7}, "request_id"),
    ({"request_id": "a1"}, "approve, reject, modify, defer, cancel"),
    ({"request_id": "a1", "decision": "yes, s3cret"}, "decision"),
    ({"request_id": "a1", "decision": True}, "decision"),
    ({"request_id": "a1", "decision": "modify"}, "modified_payload"),
    ({"request_id": "a1", "decision": "modify", "modified_payload": ["s3cret"]}, "modified"),
    ({"request_id": "a1", "decision": "approve", "comment": {"s3cret": 1}}, "comment"),
    ({"request_id": "a1", "decision": "approve", "decided_by": 5}, "decided_by"),
    ({"request_id": "a2", "decision": "approve"}, "a1"),
]


@pytest.mark.parametrize(("payload", "named"), REFUSED)
@pytest.mark.requirement("HITL-6")
def test_a_decision_that_cannot_be_read_is_refused_without_its_values(
    payload: dict[str, Any], named: str
) -> None:
    with pytest.raises(AgentApprovalDecisionError) as caught:
        parse_agent_approval_decision_signal(decision_signal(**payload), request=open_request())
    assert named in str(caught.value)
    assert "s1" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("kind", [k for k in AgentSignalKind if k != "approval_decision"])
def test_other_kinds_are_refused(kind: str) -> None:
    with pytest.raises(AgentApprovalDecisionError, match=kind):
        parse_agent_approval_decision_signal(
            decision_signal(kind, request_id="a1", decision="approve")
        )


@pytest.mark.parametrize("other", [{"agent_state_id": "r0"}, {"agent_state_id": "r2"}])
def test_decisions_of_other_runs_are_refused(other: dict[str, str]) -> None:
    with pytest.raises(AgentApprovalDecisionError, match=other["agent_state_id"]):
        parse_agent_approval_decision_signal(
            decision_signal(request_id="a1", decision="approve"), request=open_request(**other)
        )


@pytest.mark.parametrize("other", ["a0", "a2", "A1"])
def test_decisions_of_other_requests_are_refused(other: str) -> None:
    with pytest.raises(AgentApprovalDecisionError, match=f"answers request {other}"):
        parse_agent_approval_decision_signal(
            decision_signal(request_id=other, decision="approve"), request=open_request()
        )


def test_a_decision_that_the_request_does_not_allow_is_refused() -> None:
    narrow = AgentApprovalRequest.from_metadata(
        {**open_request().to_metadata(), "allowed_decisions": ["approve", "reject"]}
    )
    with pytest.raises(AgentApprovalDecisionError, match="approve, reject"):
        parse_agent_approval_decision_signal(
            decision_signal(request_id="a1", decision="defer"), request=narrow
        )


@pytest.mark.requirement("HITL-11", "STATE-6")
def test_a_decision_on_an_ended_run_moves_nothing() -> None:
    outcome = parse_agent_approval_decision_signal(
        decision_signal(request_id="a1", decision="approve")
    )
    ended = AgentState("r1", "desk", AgentStatus.CANCELLED)
    with pytest.raises(AgentLifecycleError):
        materialize_agent_approval_decision_state(ended, outcome)
