"""The one place where the sensitive patterns meet everything of an outcome that leaves the run.

Texts that stream are guarded by their channels while they stream in. What is guarded here is complete: results and
arguments as they are shown, evidence, what people are asked, and messages of failures. What the model reads stays as it
is, since patterns say what must not be shown, and so do the keys that the run is stored under.
"""

from dataclasses import replace

from spakky.agent.contracts.approval import AgentApprovalRequest
from spakky.agent.contracts.evidence import AgentEvidenceCandidate
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject
from spakky.agent.loop.exposure import Exposure
from spakky.agent.loop.frames import CallFinished
from spakky.agent.loop.outcomes import (
    Answered,
    AuthNeeded,
    CallBroke,
    CallPaused,
    CallReturned,
    HookBroke,
    ModelBroke,
    Outcome,
    PeopleAsked,
)
from spakky.agent.loop.progress import CallState


def guard_outcome(outcome: Outcome, exposure: Exposure) -> Outcome:
    """Give an outcome with every match of a pattern replaced; without patterns, the outcome itself."""
    if exposure.policy is None:
        return outcome
    match outcome:
        case CallReturned():
            return _returned(outcome, exposure)
        case Answered():
            mistakes = tuple(_returned(mistake, exposure) for mistake in outcome.mistakes)
            return replace(outcome, mistakes=mistakes)
        case CallBroke() | ModelBroke() | HookBroke():
            return replace(outcome, message=exposure.guard_text(outcome.message))
        case AuthNeeded():
            return replace(outcome, prompt=exposure.guard_text(outcome.prompt))
        case PeopleAsked():
            return PeopleAsked(tuple(_asked(call, exposure) for call in outcome.calls))
        case CallPaused():
            return CallPaused(_asked(outcome.call, exposure))
        case _:
            return outcome


def _returned(outcome: CallReturned, exposure: Exposure) -> CallReturned:
    shown = outcome.shown
    guarded = CallFinished(
        shown.call_id,
        shown.name,
        shown.message_id,
        _guard_object(shown.arguments, exposure),
        exposure.guard_value(shown.result),
        is_error=shown.is_error,
    )
    evidence = outcome.evidence
    if evidence is not None:
        evidence = _guard_evidence(evidence, exposure)
    return replace(outcome, shown=guarded, evidence=evidence)


def _guard_evidence(evidence: AgentEvidenceCandidate, exposure: Exposure) -> AgentEvidenceCandidate:
    """Guard what was captured; digests and identities are no text of the tool's."""
    payload = {
        key: exposure.guard_value(value) if key in {"result", "summary", "output"} else value
        for key, value in evidence.payload.items()
    }
    summary = None if evidence.summary is None else exposure.guard_text(evidence.summary)
    return replace(evidence, payload=payload, summary=summary)


def _asked(call: CallState, exposure: Exposure) -> CallState:
    request = None if call.request is None else _guard_request(call.request, exposure)
    return replace(call, request=request)


def _guard_request(request: AgentApprovalRequest, exposure: Exposure) -> AgentApprovalRequest:
    arguments = {"arguments": exposure.guard_value(request.metadata.get("arguments"))}
    metadata = {**request.metadata, **(arguments if "arguments" in request.metadata else {})}
    return replace(request, prompt=exposure.guard_text(request.prompt), metadata=metadata)


def _guard_object(value: JsonObject, exposure: Exposure) -> JsonObject:
    guarded = exposure.guard_value(value)
    return guarded if isinstance(guarded, dict) else EMPTY_OBJECT
