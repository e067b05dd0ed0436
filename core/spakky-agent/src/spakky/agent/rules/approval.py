"""When a tool needs a person's consent, and what a person's decision means for the run.

Pure: a descriptor goes in and a plan comes out; a signal goes in and an outcome comes out. Nothing here waits or stores.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import assert_never

from spakky.agent.contracts.approval import (
    AgentApprovalDecisionOutcome,
    AgentApprovalPlan,
    AgentApprovalPlanAction,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.contracts.tool_metadata import AgentToolMetadata, ToolApprovalRequirement
from spakky.agent.declare.catalog import AgentToolDescriptor
from spakky.agent.error import AgentApprovalDecisionError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject
from spakky.agent.rules.lifecycle import Trigger, apply_move, decide_move

_TRIGGERS: Mapping[ApprovalDecision, Trigger] = MappingProxyType(
    {
        ApprovalDecision.APPROVE: Trigger.GO_ON,
        ApprovalDecision.MODIFY: Trigger.GO_ON,
        ApprovalDecision.DEFER: Trigger.DEFER,
        ApprovalDecision.REJECT: Trigger.REJECT,
        ApprovalDecision.CANCEL: Trigger.BEGIN_CANCEL,
    }
)


def needs_approval(metadata: AgentToolMetadata) -> bool:
    """Say whether a tool stands at a risk boundary.

    REQUIRED always does, NOT_REQUIRED never does, DERIVED does when the tool's risk makes it a candidate.
    """
    match metadata.approval:
        case ToolApprovalRequirement.REQUIRED:
            return True
        case ToolApprovalRequirement.NOT_REQUIRED:
            return False
        case ToolApprovalRequirement.DERIVED:
            return metadata.requires_approval_candidate
        case _:
            assert_never(metadata.approval)


def plan_agent_tool_approval(
    *,
    descriptor: AgentToolDescriptor,
    approval_id: str,
    agent_state_id: str,
    agent_type: str,
    prompt: str | None = None,
    action_ref: str | None = None,
    call_id: str | None = None,
    metadata: JsonObject | None = None,
) -> AgentApprovalPlan:
    """Decide whether a call of a tool goes on or waits for a person.

    Args:
        descriptor: The tool; its metadata alone decide.
        approval_id: The id that a request would get; one for each call.
        agent_state_id: The run.
        agent_type: The agent's name, for the state.
        prompt: What the person is asked; without one a sentence naming the tool and its risks.
        action_ref: What the approval is for; without one the tool's name.
        call_id: The model's id of the call.
        metadata: Extra data for the request, already free of sensitive values.

    Returns:
        PROCEED alone, or WAIT_FOR_APPROVAL with the request, the state to save and the item to show.
    """
    if not needs_approval(descriptor.metadata):
        return AgentApprovalPlan(AgentApprovalPlanAction.PROCEED)
    request = AgentApprovalRequest.from_tool_descriptor(
        approval_id=approval_id,
        agent_state_id=agent_state_id,
        descriptor=descriptor,
        prompt=prompt,
        action_ref=action_ref,
        call_id=call_id,
        metadata=metadata,
    )
    return AgentApprovalPlan(
        action=AgentApprovalPlanAction.WAIT_FOR_APPROVAL,
        request=request,
        state=request.to_state(agent_type=agent_type),
        yield_item=request.to_yield(),
    )


def parse_agent_approval_decision_signal(
    signal: AgentSignal, *, request: AgentApprovalRequest | None = None
) -> AgentApprovalDecisionOutcome:
    """Read a decision out of the signal that an inbound adapter appended.

    Payload keys: ``request_id`` and ``decision`` (``approve``, ``reject``, ``modify``, ``defer`` or ``cancel``) are
    needed; ``modified_payload`` (an object) with ``modify``; ``comment``, ``decided_by`` and ``result`` (any JSON: the
    outcome of the call, recorded instead of running it) may be given.

    Args:
        signal: A signal of kind APPROVAL_DECISION.
        request: The open request; with it, run, request id and allowed decisions are checked too.

    Raises:
        AgentApprovalDecisionError: Another kind, run or request, an unknown or disallowed decision, or a payload of
            the wrong shape. The message never repeats the payload's values.
    """
    if signal.kind is not AgentSignalKind.APPROVAL_DECISION:
        message = f"Signal {signal.id} has kind {signal.kind.value}, not approval_decision; consume it as what it is."
        raise AgentApprovalDecisionError(message)
    decision = _read_decision(signal)
    request_id = _read_text(signal, "request_id")
    if request_id is None:
        message = f"Approval decision {signal.id} lacks request_id; give the id of the request it answers."
        raise AgentApprovalDecisionError(message)
    if request is not None:
        _check_fits(signal, request_id, decision, request)
    standing = decide_move(AgentStatus.INTERRUPTED, _TRIGGERS[decision])
    return AgentApprovalDecisionOutcome(
        request_id=request_id,
        decision=decision,
        status=standing.status,
        transition=standing.transition,
        reason=standing.reason,
        modified_payload=_read_modified(signal, decision),
        comment=_read_text(signal, "comment"),
        result=signal.payload.get("result"),
        has_result="result" in signal.payload,
        decided_by=_read_text(signal, "decided_by"),
    )


def materialize_agent_approval_decision_state(
    current: AgentState, outcome: AgentApprovalDecisionOutcome
) -> AgentState:
    """Give the state after a decision.

    Raises:
        AgentLifecycleError: The run is not waiting for a person.
    """
    return apply_move(current, _TRIGGERS[outcome.decision])


def _read_decision(signal: AgentSignal) -> ApprovalDecision:
    value = _read_text(signal, "decision")
    if value is not None and value in ApprovalDecision:
        return ApprovalDecision(value)
    known = ", ".join(decision.value for decision in ApprovalDecision)
    message = f"Approval decision {signal.id} has no usable decision; give one of {known}."
    raise AgentApprovalDecisionError(message)


def _read_text(signal: AgentSignal, key: str) -> str | None:
    value = signal.payload.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        # Forms send empty fields as empty texts.
        return value if value.strip() else None
    message = f"Approval decision {signal.id} has a {key} that is no text; give a text."
    raise AgentApprovalDecisionError(message)


def _read_modified(signal: AgentSignal, decision: ApprovalDecision) -> JsonObject:
    value = signal.payload.get("modified_payload")
    if decision is not ApprovalDecision.MODIFY:
        return EMPTY_OBJECT
    if isinstance(value, Mapping):
        return value
    message = f"Approval decision {signal.id} modifies nothing; give the new arguments as the object modified_payload."
    raise AgentApprovalDecisionError(message)


def _check_fits(
    signal: AgentSignal,
    request_id: str,
    decision: ApprovalDecision,
    request: AgentApprovalRequest,
) -> None:
    if signal.agent_state_id != request.agent_state_id:
        message = f"Approval decision {signal.id} belongs to run {signal.agent_state_id}, the request to run {request.agent_state_id}; append it to the run that asked."
        raise AgentApprovalDecisionError(message)
    if request_id != request.id:
        message = f"Approval decision {signal.id} answers request {request_id}, but the open one is {request.id}; read the open request again."
        raise AgentApprovalDecisionError(message)
    if decision not in request.allowed_decisions:
        allowed = ", ".join(allowed.value for allowed in request.allowed_decisions)
        message = f"Approval decision {signal.id} is {decision.value}, but request {request.id} allows only {allowed}."
        raise AgentApprovalDecisionError(message)
