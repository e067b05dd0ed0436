"""Approval requests: how they are made, shown, stored and read again."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from spakky.agent.contracts.approval import (
    APPROVAL_REQUEST_KEY,
    DEFAULT_APPROVAL_DECISIONS,
    AgentApprovalBoundaryKind,
    AgentApprovalDecisionOutcome,
    AgentApprovalPlan,
    AgentApprovalPlanAction,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.state import (
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.contracts.tool_metadata import (
    AgentToolMetadata,
    ToolEffects,
    ToolRisk,
    ToolRiskAxis,
)
from spakky.agent.contracts.yields import AgentYieldKind
from spakky.agent.error import AgentValueError


@dataclass(frozen=True)
class Descriptor:
    name: str
    metadata: AgentToolMetadata
    description: str | None = None


DELETE = Descriptor("files.delete", AgentToolMetadata(effects=ToolEffects.destructive_action()))


def request_for(**parts: Any) -> AgentApprovalRequest:
    given: dict[str, Any] = {"approval_id": "a1", "agent_state_id": "r1", "descriptor": DELETE}
    return AgentApprovalRequest.from_tool_descriptor(**(given | parts))


@pytest.mark.requirement("HITL-5")
def test_a_request_for_a_tool_names_the_tool_and_its_risk() -> None:
    request = request_for(call_id="t1", argument_digest="sha256:0", metadata={"preview": "x"})
    assert request.boundary is AgentApprovalBoundaryKind.TOOL_INVOCATION
    assert request.prompt == (
        "May the agent run the tool 'files.delete'? Its declared risk: write, destructive."
    )
    assert request.risk.axes == (ToolRiskAxis.WRITE, ToolRiskAxis.DESTRUCTIVE)
    assert (request.id, request.call_id, request.action_ref) == ("a1", "t1", "files.delete")
    assert request.allowed_decisions == tuple(ApprovalDecision) == DEFAULT_APPROVAL_DECISIONS
    assert request.argument_digest == "sha256:0"
    assert request.metadata == {"preview": "x"}


def test_a_request_uses_the_callers_words_and_reference() -> None:
    request = request_for(prompt="Delete it?", action_ref="r1/2/0")
    assert (request.prompt, request.action_ref) == ("Delete it?", "r1/2/0")
    harmless = request_for(descriptor=Descriptor("echo", AgentToolMetadata()))
    assert harmless.prompt == "May the agent run the tool 'echo'?"


@pytest.mark.requirement("HITL-4", "HITL-5")
def test_a_request_becomes_a_waiting_state_and_an_item() -> None:
    request = request_for(call_id="t1")
    state = request.to_state(agent_type="Cleaner")
    assert (state.id, state.agent_type) == ("r1", "Cleaner")
    assert (state.status, state.transition, state.reason) == (
        AgentStatus.INTERRUPTED,
        AgentStateTransition.WAITING_APPROVAL,
        AgentStateReason.APPROVAL_REQUIRED,
    )
    assert state.metadata[APPROVAL_REQUEST_KEY] == request.to_metadata()
    item = request.to_yield()
    assert item.kind is AgentYieldKind.APPROVAL
    assert (item.payload.id, item.payload.prompt) == (request.id, request.prompt)
    assert item.payload.allowed_decisions == request.allowed_decisions
    assert item.payload.metadata["call_id"] == "t1"


@pytest.mark.requirement("HITL-5")
@pytest.mark.parametrize("call_id", [None, "t1"])
def test_a_stored_request_is_read_again_as_it_was(call_id: str | None) -> None:
    request = request_for(call_id=call_id, metadata={"preview": {"path": "x"}})
    stored = json.loads(json.dumps(request.to_metadata()))
    assert AgentApprovalRequest.from_metadata(stored) == request


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("id", None, "no text under 'id'"),
        ("prompt", 5, "no text under 'prompt'"),
        ("call_id", 5, "no text under 'call_id'"),
        ("boundary", "nowhere", "'nowhere'"),
        ("risk_axes", "write", "no list under 'risk_axes'"),
        ("risk_axes", ["heat"], "'heat'"),
        ("allowed_decisions", ["perhaps"], "'perhaps'"),
        ("allowed_decisions", [], "is empty"),
        ("metadata", [], "no object under 'metadata'"),
    ],
)
def test_a_damaged_stored_request_is_refused_by_its_part(key: str, value: Any, part: str) -> None:
    stored = {**request_for().to_metadata(), key: value}
    with pytest.raises(AgentValueError, match=part):
        AgentApprovalRequest.from_metadata(stored)


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"id": " "}, "AgentApprovalRequest.id"),
        ({"agent_state_id": ""}, "AgentApprovalRequest.agent_state_id"),
        ({"boundary": "delegation"}, "AgentApprovalRequest.boundary"),
        ({"prompt": ""}, "AgentApprovalRequest.prompt"),
        ({"action_ref": ""}, "AgentApprovalRequest.action_ref"),
        ({"call_id": ""}, "AgentApprovalRequest.call_id"),
        ({"argument_digest": ""}, "AgentApprovalRequest.argument_digest"),
        ({"allowed_decisions": ()}, "'a1' is empty"),
        ({"allowed_decisions": ("approve",)}, "AgentApprovalRequest.allowed_decisions"),
        ({"allowed_decisions": (ApprovalDecision.APPROVE,) * 2}, "'a1' names a decision twice"),
    ],
)
def test_a_request_that_nobody_could_answer_is_refused(wrong: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {
        "id": "a1",
        "agent_state_id": "r1",
        "boundary": AgentApprovalBoundaryKind.DELEGATION,
        "prompt": "May I?",
        "risk": ToolRisk(),
        "action_ref": "x",
        **wrong,
    }
    with pytest.raises(AgentValueError, match=part):
        AgentApprovalRequest(**given)


def test_a_plan_has_a_question_exactly_when_it_waits() -> None:
    request = request_for()
    waiting = AgentApprovalPlan(
        AgentApprovalPlanAction.WAIT_FOR_APPROVAL,
        request,
        request.to_state(agent_type="Cleaner"),
        request.to_yield(),
    )
    assert waiting.requires_approval
    assert not AgentApprovalPlan(AgentApprovalPlanAction.PROCEED).requires_approval
    with pytest.raises(AgentValueError, match="this one is WAIT_FOR_APPROVAL"):
        AgentApprovalPlan(AgentApprovalPlanAction.WAIT_FOR_APPROVAL, request)
    with pytest.raises(AgentValueError, match="this one is PROCEED"):
        AgentApprovalPlan(AgentApprovalPlanAction.PROCEED, request)


def test_an_outcome_may_carry_a_result_in_place_of_a_run() -> None:
    outcome = AgentApprovalDecisionOutcome(
        "a1",
        ApprovalDecision.APPROVE,
        AgentStatus.ACTIVE,
        AgentStateTransition.RUNNING,
        result=None,
        has_result=True,
        decided_by="ann",
    )
    assert (outcome.has_result, outcome.result, outcome.modified_payload) == (True, None, {})


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"request_id": ""}, "request_id"),
        ({"decision": "approve"}, "decision"),
        ({"status": "active"}, "status"),
        ({"transition": "running"}, "transition"),
        ({"reason": "timeout"}, "reason"),
        ({"decided_by": " "}, "decided_by"),
        ({"modified_payload": [1]}, "modified_payload"),
        ({"result": 5}, "of 'a1' has a result"),
    ],
)
def test_an_outcome_that_contradicts_itself_is_refused(wrong: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {
        "request_id": "a1",
        "decision": ApprovalDecision.DEFER,
        "status": AgentStatus.INTERRUPTED,
        "transition": AgentStateTransition.WAITING_APPROVAL,
        "reason": AgentStateReason.APPROVAL_DEFERRED,
        **wrong,
    }
    with pytest.raises(AgentValueError, match=f"AgentApprovalDecisionOutcome.*{part}"):
        AgentApprovalDecisionOutcome(**given)
