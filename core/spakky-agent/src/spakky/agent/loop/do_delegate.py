"""Hands a call to a teammate: a local one runs as a child of this run, a remote one through the delegate port."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from spakky.agent.contracts.approval import (
    AgentApprovalBoundaryKind,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.delegation import (
    AgentDelegateTarget,
    DelegationContextSlice,
    DelegationPacket,
    DelegationResult,
    DelegationReturnPolicy,
)
from spakky.agent.contracts.events import AgentEvent
from spakky.agent.contracts.evidence import AgentEvidenceCandidate
from spakky.agent.contracts.run_events import RunFinishedEvent, RunPausedEvent
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import ToolRisk
from spakky.agent.contracts.yields import AgentYieldKind, Error
from spakky.agent.declare.spec import AgentTeammate
from spakky.agent.error import AbstractSpakkyAgentError
from spakky.agent.json_value import FrozenObject, JsonObject, JsonValue
from spakky.agent.loop.children import ChildOrder
from spakky.agent.loop.decisions import CHILD_RUN_KEY
from spakky.agent.loop.frames import ChildShown, Frame
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import AuthNeeded, CallPaused, CallReturned, Outcome
from spakky.agent.loop.plan_calls import shown_result
from spakky.agent.loop.progress import CallStage, CallState, Progress
from spakky.agent.loop.tool_result import failed, render_result
from spakky.agent.rules.limits import NOTHING_SPENT, Spent, read_spent

ANCESTORS_KEY = "spakky.ancestors"
"""Run metadata: the names of the agents above a delegated run, so that no agent delegates to itself in a circle."""

MAX_DEPTH = 8
"""How deep delegations may nest."""


async def run_delegate(
    kit: RunKit, progress: Progress, call: CallState
) -> AsyncGenerator[Frame | Outcome, None]:
    """Run a delegate call; a local child's events come as they happen, the call's result comes last."""
    teammate = next((mate for mate in kit.spec.teammates if mate.name == call.delegate), None)
    if teammate is None:
        yield failed(call, None, f"The agent has no teammate {call.delegate} any more.")
        return
    packet = packet_of(kit, call, teammate)
    runs = (
        _run_local(kit, progress, call, packet, teammate)
        if teammate.pod is not None
        else _run_remote(kit, call, packet)
    )
    try:
        async with aclosing(runs) as items:
            async for item in items:
                if isinstance(item, _Reply):
                    yield _returned(kit, call, packet, item)
                elif isinstance(item, RunPausedEvent):
                    yield _paused(kit, call, item)
                else:
                    yield item
    except AbstractSpakkyAgentError as error:
        yield failed(
            call, kit.find_tool(call.call.name), f"{teammate.name} could not be run: {error}"
        )
    except Exception as error:  # noqa: BLE001 - whatever a delegate raises is told as its failure
        # Its text stays out, since it was written for the delegate's own log.
        why = f"{teammate.name} could not be run: its delegate raised {type(error).__name__}."
        yield failed(call, kit.find_tool(call.call.name), why)


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a teammate gave back: a text for the model and the output as JSON, or why there is none."""

    summary: str
    output: JsonValue = None
    failure: bool = False
    spent: Spent = NOTHING_SPENT
    evidence_refs: tuple[str, ...] = ()


def packet_of(kit: RunKit, call: CallState, teammate: AgentTeammate) -> DelegationPacket:
    """Give the packet that states what is delegated."""
    arguments = call.call.arguments
    summary = arguments.get("context_summary")
    task: JsonObject = {
        key: arguments[key] for key in ("instruction", "task") if arguments.get(key) is not None
    }
    pod = teammate.pod
    return DelegationPacket(
        id=call.action_id,
        parent_agent_state_id=kit.run_id,
        target=AgentDelegateTarget(
            agent_type=str(teammate.card_url) if pod is None else pod.__qualname__,
            agent_name=teammate.name,
        ),
        task=task,
        context=DelegationContextSlice(summary=summary if isinstance(summary, str) else None),
        constraints=teammate.constraints,
        expected_output=teammate.expected_output,
        budget=teammate.budget,
        allowed_capabilities=teammate.allowed_capabilities,
        return_policy=teammate.return_policy,
        metadata=FrozenObject({"conversation_id": kit.run_input.effective_conversation_id}),
    )


def child_instruction(arguments: JsonObject, packet: DelegationPacket) -> str:
    """Give the instruction of a local child: what the model asked, then what the parent's author declared."""
    parts = [str(arguments.get("instruction", ""))]
    if arguments.get("task"):
        parts.append(f"Task: {arguments['task']}")
    if arguments.get("context_summary"):
        parts.append(f"Context: {arguments['context_summary']}")
    parts.extend(f"Constraint: {constraint}" for constraint in packet.constraints)
    if packet.expected_output.description is not None:
        parts.append(f"Expected output: {packet.expected_output.description}")
    return "\n\n".join(parts)


async def _run_local(
    kit: RunKit,
    progress: Progress,
    call: CallState,
    packet: DelegationPacket,
    teammate: AgentTeammate,
) -> AsyncGenerator[Frame | Outcome | _Reply | RunPausedEvent, None]:
    ancestors = _ancestors(kit)
    if len(ancestors) > MAX_DEPTH:
        yield _Reply(
            f"Delegation is nested deeper than {MAX_DEPTH} agents; do the task without {teammate.name}.",
            failure=True,
        )
        return
    run_input = RunAgentInput(
        state_id=child_run_id(call),
        instruction=child_instruction(call.call.arguments, packet),
        conversation_id=f"{kit.run_input.effective_conversation_id}/{call.action_id}",
        parent_run_id=kit.run_id,
        resume=True,
        metadata=FrozenObject({ANCESTORS_KEY: [*ancestors]}),
    )
    order = ChildOrder(
        teammate.name,
        run_input,
        kit.spec.limits,
        progress.spent,
        packet.budget,
        packet.allowed_capabilities,
    )
    last: AgentEvent | None = None
    # A child that was started before goes on where it was; a new one starts, since its id is not known yet.
    async with aclosing(kit.open_child(order)) as events:
        async for event in events:
            last = event
            yield ChildShown(event)
    if isinstance(last, RunPausedEvent) and kit.spec.is_durable:
        yield last
    else:
        yield _reply_of(teammate.name, last)


def child_run_id(call: CallState) -> str:
    """Give the id of the run that a local delegate call makes; the same whenever the call is made again."""
    return f"{call.action_id}/child"


def _paused(kit: RunKit, call: CallState, event: RunPausedEvent) -> Outcome:
    """Pause with the child: a request for consent is passed on, and so is a sign-in; other pauses are failures."""
    if event.reason is AgentStateReason.AUTH_REQUIRED:
        provider = event.metadata.get("provider")
        return AuthNeeded(str(provider), event.prompt, call)
    if event.approval_id is None:
        name = call.delegate or call.call.name
        return failed(call, None, f"{name} was interrupted and has not finished: {event.prompt}")
    request = AgentApprovalRequest(
        id=event.approval_id,
        agent_state_id=kit.run_id,
        boundary=AgentApprovalBoundaryKind.DELEGATION,
        prompt=event.prompt,
        risk=ToolRisk(),
        action_ref=call.action_id,
        allowed_decisions=tuple(ApprovalDecision(choice) for choice in event.allowed_decisions),
        metadata=FrozenObject({CHILD_RUN_KEY: event.state_id, "child": event.metadata}),
        call_id=call.call_id,
        argument_digest=call.digest,
    )
    return CallPaused(replace(call, stage=CallStage.WAITING, request=request))


def _ancestors(kit: RunKit) -> tuple[str, ...]:
    above = kit.run_input.metadata.get(ANCESTORS_KEY)
    names = tuple(str(name) for name in above) if isinstance(above, list | tuple) else ()
    return (*names, kit.agent_name)


def _reply_of(name: str, last: AgentEvent | None) -> _Reply:
    spent = (
        read_spent(last.metadata.get("spent"))
        if isinstance(last, RunFinishedEvent)
        else NOTHING_SPENT
    )
    match last:
        case RunFinishedEvent(status=AgentStatus.COMPLETED) if last.error is None:
            return _Reply(_text_of(last.result), last.result, spent=spent)
        case RunFinishedEvent(status=AgentStatus.CANCELLED):
            return _Reply(f"{name} was cancelled.", failure=True, spent=spent)
        case RunFinishedEvent():
            why = (last.error or {}).get("message", "it gave no reason")
            return _Reply(f"{name} failed: {why}", failure=True, spent=spent)
        case RunPausedEvent():
            waits = f"{name} waits for a person and has not finished: {last.prompt}"
            return _Reply(waits, failure=True)
        case _:
            return _Reply(f"{name} ended without a result.", failure=True)


def _text_of(result: JsonValue) -> str:
    if isinstance(result, dict) and isinstance(result.get("output_text"), str):
        return str(result["output_text"])
    return result if isinstance(result, str) else ""


async def _run_remote(
    kit: RunKit, call: CallState, packet: DelegationPacket
) -> AsyncGenerator[Frame | Outcome | _Reply, None]:
    if kit.delegate is None:
        yield _Reply(
            f"No IAgentDelegate is registered, so {call.delegate} cannot be reached.", failure=True
        )
        return
    final: _Reply | None = None
    async with aclosing(kit.delegate.delegate(packet)) as items:
        async for item in items:
            match item.payload:
                case DelegationResult() as result:
                    refs = result.evidence_refs
                    final = _Reply(result.summary, result.output, evidence_refs=refs)
                case Error() as error if item.kind is AgentYieldKind.ERROR:
                    final = _Reply(f"{call.delegate} failed: {error.message}", failure=True)
                case _:
                    continue
    yield final or _Reply(f"{call.delegate} ended without a result.", failure=True)


def _content(packet: DelegationPacket, reply: _Reply) -> JsonValue:
    """Give what the parent's model reads, as the return policy has it."""
    match packet.return_policy:
        case DelegationReturnPolicy.FINAL_OUTPUT:
            return reply.summary if reply.output is None else reply.output
        case DelegationReturnPolicy.EVIDENCE_REFS:
            return list(reply.evidence_refs)
        case DelegationReturnPolicy.SUMMARY_AND_EVIDENCE if reply.evidence_refs:
            return {"summary": reply.summary, "evidence_refs": list(reply.evidence_refs)}
        case _:
            return reply.summary or reply.output


def _returned(
    kit: RunKit, call: CallState, packet: DelegationPacket, reply: _Reply
) -> CallReturned:
    tool = kit.find_tool(call.call.name)
    if reply.failure:
        return replace(failed(call, tool, reply.summary), spent=reply.spent)
    content = _content(packet, reply)
    message = render_result(call, content)
    done = replace(call, stage=CallStage.DONE)
    result = DelegationResult(
        id=f"{packet.id}/result",
        packet_id=packet.id,
        target=packet.target,
        summary=reply.summary or "The teammate finished.",
        output=reply.output,
        evidence_refs=reply.evidence_refs,
    )
    evidence = result.to_parent_evidence(evidence_id=result.id, parent_agent_state_id=kit.run_id)
    candidate = AgentEvidenceCandidate(evidence.kind, evidence.payload, evidence.summary)
    shown = shown_result(done, message, content, tool)
    return CallReturned(done, message, shown, candidate, reply.spent)
