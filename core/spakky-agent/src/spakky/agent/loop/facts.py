"""What a move of the loop puts on record: boundary checkpoints and other evidence, and the signals it consumed. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from spakky.agent.contracts.boundary import AgentActionBoundaryCheckpoint
from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.json_value import JsonObject, JsonValue, digest_value
from spakky.agent.loop.outcomes import (
    Answered,
    CallPaused,
    CallReturned,
    CleanedUp,
    Decided,
    InboxRead,
    Outcome,
    PeopleAsked,
    Recorded,
    Stopped,
)
from spakky.agent.loop.progress import CallStage, CallState, Progress


@dataclass(frozen=True, slots=True)
class Facts:
    """What the next commit adds beside state and transcript: evidence, consumed signals, and signals to other runs."""

    evidence: tuple[AgentEvidenceCandidate, ...] = ()
    consumed: tuple[str, ...] = ()
    forwarded: tuple[AgentSignal, ...] = ()


def facts_of(before: Progress, outcome: Outcome, after: Progress) -> Facts:
    """Give what an outcome puts on record."""
    consumed: tuple[str, ...] = ()
    forwarded: tuple[AgentSignal, ...] = ()
    if isinstance(outcome, InboxRead):
        consumed = outcome.consumed
        forwarded = tuple(d.forward for d in outcome.decisions if d.forward is not None)
    elif isinstance(outcome, Stopped) and outcome.order is not None:
        consumed = (outcome.order.signal_id,)
    return Facts(tuple(_evidence(before, outcome, after)), consumed, forwarded)


def facts_begun(before: Progress, after: Progress) -> Facts:
    """Give the intents of the actions that are marked as begun between two progresses."""
    return Facts(tuple(_intents(before, after)))


def _intents(before: Progress, after: Progress) -> Iterator[AgentEvidenceCandidate]:
    if after.asking and not before.asking:
        yield AgentActionBoundaryCheckpoint.before_model_call(
            after.model_action_id, idempotency=Idempotency.IDEMPOTENT
        ).to_evidence_candidate()
    stages = {call.action_id: call.stage for call in before.calls}
    for call in after.calls:
        if call.stage is CallStage.STARTED and stages.get(call.action_id) is not CallStage.STARTED:
            yield AgentActionBoundaryCheckpoint.before_tool_call(
                call.action_id, idempotency=call.idempotency, metadata=_about(call)
            ).to_evidence_candidate()


def _evidence(
    before: Progress, outcome: Outcome, after: Progress
) -> Iterator[AgentEvidenceCandidate]:
    match outcome:
        case Answered():
            yield AgentActionBoundaryCheckpoint.after_model_call(
                before.model_action_id,
                idempotency=Idempotency.IDEMPOTENT,
                metadata={"calls": len(outcome.calls)},
            ).to_evidence_candidate()
            yield from outcome.audits
        case Recorded(candidates):
            yield from candidates
        case CallReturned(call, _, _, evidence):
            yield AgentActionBoundaryCheckpoint.after_tool_call(
                call.action_id, idempotency=call.idempotency, metadata=_about(call)
            ).to_evidence_candidate()
            if evidence is not None:
                yield evidence
        case PeopleAsked(calls):
            yield from (_wait_begun(call) for call in calls)
        case CallPaused(call):
            yield _wait_begun(call)
        case InboxRead():
            yield from _inbox(before, outcome, after)
        case CleanedUp(report):
            yield report.to_evidence_candidate()
        case _:
            return


def _inbox(
    before: Progress, outcome: InboxRead, after: Progress
) -> Iterator[AgentEvidenceCandidate]:
    for decided in outcome.decisions:
        yield from _decision(decided)
    yield from outcome.evidence
    yield from _taken_back(before, after)


def _wait_begun(call: CallState) -> AgentEvidenceCandidate:
    checkpoint = AgentActionBoundaryCheckpoint.before_approval_wait(
        _wait_id(call), metadata=_about(call)
    )
    return checkpoint.to_evidence_candidate()


def _decision(decided: Decided) -> Iterator[AgentEvidenceCandidate]:
    decision, call = decided.decision, decided.call
    payload: dict[str, JsonValue] = {"signal_id": decided.signal_id}
    if decided.refused is not None:
        payload["refused"] = decided.refused
    if decision is not None:
        payload |= {
            "request_id": decision.request_id,
            "decision": decision.decision.value,
            "comment": decision.comment,
            "decided_by": decision.decided_by,
        }
    if call is not None:
        payload |= {
            "action_id": call.action_id,
            "tool": call.call.name,
            "proposed_digest": call.digest,
            "decided_digest": digest_value(call.call.arguments) if call.storable else call.digest,
        }
    yield AgentEvidenceCandidate(AgentEvidenceKind.APPROVAL, payload)
    if call is not None and call.stage not in {CallStage.WAITING, CallStage.GATED}:
        yield AgentActionBoundaryCheckpoint.after_approval_wait(
            _wait_id(call), metadata=_about(call)
        ).to_evidence_candidate()


def _taken_back(before: Progress, after: Progress) -> Iterator[AgentEvidenceCandidate]:
    stages = {call.action_id: call.stage for call in after.calls}
    for call in before.calls:
        if call.stage is CallStage.STARTED and stages.get(call.action_id) is CallStage.READY:
            yield AgentActionBoundaryCheckpoint.after_tool_call(
                call.action_id,
                idempotency=call.idempotency,
                metadata={**_about(call), "not_started": True},
            ).to_evidence_candidate()


def _wait_id(call: CallState) -> str:
    return call.action_id if call.request is None else call.request.id


def _about(call: CallState) -> JsonObject:
    about: dict[str, JsonValue] = {
        "tool": call.call.name,
        "call_id": call.call_id,
        "digest": call.digest,
    }
    if call.request is not None:
        about["approval_id"] = call.request.id
    return about
