"""What a person's decision does to the call that waits for it."""

from dataclasses import replace

from spakky.agent.contracts.approval import AgentApprovalDecisionOutcome, ApprovalDecision
from spakky.agent.contracts.execution import RejectionPolicy
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.error import AgentApprovalDecisionError, AgentToolBindingError
from spakky.agent.json_value import JsonValue, clean_value
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Decided
from spakky.agent.loop.progress import CallStage, CallState, Progress
from spakky.agent.loop.tool_result import remembered_result, render_result
from spakky.agent.rules.approval import parse_agent_approval_decision_signal
from spakky.agent.rules.history import answer_call

CHILD_RUN_KEY = "child_state_id"
"""Request metadata: the delegated run that asks, when a parent passes its request on."""


def decide_on_signal(kit: RunKit, progress: Progress, signal: AgentSignal) -> Decided:
    """Match a decision signal with the call that waits for it, and give the call after it.

    A signal that cannot be read, that no open request waits for, or that does not fit is refused: it is consumed and
    recorded, and the request stays open. A decision that was taken before has no effect.
    """
    request_id = signal.payload.get("request_id")
    call = next(
        (c for c in progress.waiting if c.request is not None and c.request.id == request_id), None
    )
    if call is None:
        return Decided(
            signal.id, None, None, "No open request has that id; it may have been decided already."
        )
    try:
        decision = parse_agent_approval_decision_signal(signal, request=call.request)
    except AgentApprovalDecisionError as error:
        return _refuse(signal, call, str(error))
    return _apply(kit, signal, decision, call)


def _apply(
    kit: RunKit, signal: AgentSignal, decision: AgentApprovalDecisionOutcome, call: CallState
) -> Decided:
    if is_child_request(call):
        return _forward(signal, decision, call)
    match decision.decision:
        case ApprovalDecision.APPROVE if decision.has_result:
            message = render_result(call, _supplied(kit, call, decision.result))
            done = replace(call, stage=CallStage.DONE, note=None)
            return Decided(signal.id, decision, done, answer=message)
        case ApprovalDecision.APPROVE if call.uncertain and not call.storable:
            return _refuse(
                signal,
                call,
                "The call's arguments held a secret, which is stored nowhere; modify the call or supply its result.",
            )
        case ApprovalDecision.APPROVE:
            return Decided(signal.id, decision, _ready(call))
        case ApprovalDecision.MODIFY:
            return _modify(kit, signal, decision, call)
        case ApprovalDecision.REJECT if kit.spec.on_rejection is RejectionPolicy.INFORM_MODEL:
            done = replace(call, stage=CallStage.DONE, note=None)
            return Decided(signal.id, decision, done, answer=_refusal(call, decision.comment))
        case _:
            return Decided(signal.id, decision, call)


def _supplied(kit: RunKit, call: CallState, result: JsonValue) -> JsonValue:
    """Give a result that a person supplied; what its tool marks as secret is kept no more than if it had run."""
    tool = kit.find_tool(call.call.name)
    result = clean_value(result)
    return result if tool is None else remembered_result(tool, result)


def is_child_request(call: CallState) -> bool:
    """Say whether the open request is that of a delegated child, and not for the delegation itself."""
    return call.request is not None and CHILD_RUN_KEY in call.request.metadata


def _forward(
    signal: AgentSignal, decision: AgentApprovalDecisionOutcome, call: CallState
) -> Decided:
    """Hand the decision to the child that asked; the delegate call goes on, and the child finds it in its own queue."""
    child = str(call.request.metadata[CHILD_RUN_KEY]) if call.request is not None else ""
    forward = AgentSignal(f"{signal.id}/forwarded", child, signal.kind, signal.payload)
    if decision.decision is ApprovalDecision.REJECT:
        # The parent does not fail with its child: the child does, and the parent's model is told.
        decision = replace(decision, decision=ApprovalDecision.APPROVE)
    return Decided(signal.id, decision, _ready(call), forward=forward)


def _ready(call: CallState) -> CallState:
    return replace(call, stage=CallStage.READY, uncertain=False, note=None)


def _modify(
    kit: RunKit, signal: AgentSignal, decision: AgentApprovalDecisionOutcome, call: CallState
) -> Decided:
    tool = kit.find_tool(call.call.name)
    if tool is None:
        return _refuse(signal, call, f"The agent has no tool {call.call.name} any more.")
    try:
        tool.bind_invocation(decision.modified_payload)
    except AgentToolBindingError as error:
        return _refuse(signal, call, str(error))
    arguments = decision.modified_payload
    storable = kit.planner.is_storable(tool, arguments)
    changed = replace(call, call=replace(call.call, arguments=arguments), storable=storable)
    return Decided(signal.id, decision, _ready(changed))


def _refuse(signal: AgentSignal, call: CallState, why: str) -> Decided:
    return Decided(signal.id, None, replace(call, note=why), why)


def _refusal(call: CallState, comment: str | None) -> ModelMessage:
    content = "A person refused this call, and it was not run."
    if comment is not None:
        content = f"{content} They said: {comment}"
    return answer_call(call.call, content, message_id=call.action_id, is_error=True, ran=False)
