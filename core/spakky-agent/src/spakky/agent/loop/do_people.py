"""Asks people for consent: one request for each call, with an id of its own that is bound to run and arguments."""

from collections.abc import AsyncGenerator
from dataclasses import replace

from spakky.agent.contracts.approval import (
    DEFAULT_APPROVAL_DECISIONS,
    AgentApprovalBoundaryKind,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.tool_metadata import ToolRisk
from spakky.agent.declare.catalog import AgentToolApprovalContext, AgentToolDescriptor
from spakky.agent.error import AgentToolBindingError
from spakky.agent.json_value import FrozenObject
from spakky.agent.loop.frames import Frame
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Outcome, PeopleAsked
from spakky.agent.loop.progress import CallStage, CallState
from spakky.agent.loop.steps import AskPeople
from spakky.agent.rules.approval import plan_agent_tool_approval

_MISFIT = "The tool has changed, and the arguments of the call do not fit it any more; modify or reject the call."


async def ask_people(kit: RunKit, step: AskPeople) -> AsyncGenerator[Frame | Outcome, None]:
    """Give each call its request. Nothing is waited for: the answer comes through the inbox like any signal."""
    yield PeopleAsked(tuple(_ask(kit, call) for call in step.calls))


def _ask(kit: RunKit, call: CallState) -> CallState:
    request = _uncertain_request(kit, call) if call.uncertain else _consent_request(kit, call)
    request = replace(request, call_id=call.call_id, argument_digest=call.digest)
    return replace(call, stage=CallStage.WAITING, request=request)


def _consent_request(kit: RunKit, call: CallState) -> AgentApprovalRequest:
    tool = kit.find_tool(call.call.name)
    if tool is None:
        return _bare_request(kit, call, f"{call.call.name} is not a tool of this agent any more.")
    context = _context_of(tool, call)
    if context is None:
        return _bare_request(kit, call, f"{call.call.name} asks for consent. {_MISFIT}")
    plan = plan_agent_tool_approval(
        descriptor=tool,
        approval_id=_approval_id(call),
        agent_state_id=kit.run_id,
        agent_type=kit.agent_name,
        prompt=context.prompt,
        action_ref=context.action_ref or call.action_id,
        call_id=call.call_id,
        metadata=context.metadata,
    )
    return plan.request or _bare_request(kit, call, f"{call.call.name} asks for consent.")


def _uncertain_request(kit: RunKit, call: CallState) -> AgentApprovalRequest:
    prompt = (
        f"The process died while {call.call.name} was running, so it may or may not have taken effect. "
        "Approve to run it again, reject it, or supply its result."
    )
    tool = kit.find_tool(call.call.name)
    request = _bare_request(kit, call, prompt)
    if tool is None:
        return request
    context = _context_of(tool, call)
    if context is None:
        return replace(request, risk=tool.metadata.risk, prompt=f"{request.prompt} {_MISFIT}")
    metadata = FrozenObject({**context.metadata, **request.metadata})
    return replace(request, risk=tool.metadata.risk, metadata=metadata)


def _context_of(tool: AgentToolDescriptor, call: CallState) -> AgentToolApprovalContext | None:
    """Give what a person is shown of a call; None when its tool takes other arguments than when it was planned."""
    try:
        return tool.approval_context(call.call.arguments)
    except AgentToolBindingError:
        return None


def _bare_request(kit: RunKit, call: CallState, prompt: str) -> AgentApprovalRequest:
    allowed = DEFAULT_APPROVAL_DECISIONS
    if not call.storable:
        # The arguments held a secret and are gone; approving with a supplied result is still possible.
        prompt = f"{prompt} Its arguments held a secret and were not kept."
    return AgentApprovalRequest(
        id=_approval_id(call),
        agent_state_id=kit.run_id,
        boundary=AgentApprovalBoundaryKind.TOOL_INVOCATION,
        prompt=prompt,
        risk=ToolRisk(),
        action_ref=call.action_id,
        allowed_decisions=tuple(ApprovalDecision(decision) for decision in allowed),
        metadata=FrozenObject({"uncertain": call.uncertain}),
    )


def _approval_id(call: CallState) -> str:
    kind = "recovery" if call.uncertain else "approval"
    return f"{call.action_id}/{kind}"
