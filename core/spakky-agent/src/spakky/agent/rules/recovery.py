"""What to do with a run after a restart, told by its state, its evidence and its pending signals alone. Pure."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from spakky.agent.contracts.boundary import (
    AgentActionBoundaryStage,
    AgentActionKind,
    AgentResumeAction,
    AgentResumeBoundary,
    AgentResumePlan,
)
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.contracts.tool_metadata import (
    Idempotency,
    ToolResumeAction,
    ToolResumeMetadata,
)
from spakky.agent.error import AgentCheckpointError
from spakky.agent.json_value import JsonObject
from spakky.agent.rules.lifecycle import ENDED, Trigger, apply_move


def plan_agent_resume(
    state: AgentState,
    evidence: Sequence[AgentEvidence],
    signals: Sequence[AgentSignal] = (),
) -> AgentResumePlan:
    """Decide how a run goes on after a restart.

    A boundary is open when its "before" evidence has no "after". The first open one that may not be repeated decides,
    else the first open one.

    Args:
        state: The run's stored state.
        evidence: All of the run's evidence, in append order.
        signals: The run's pending signals, in append order.

    Returns:
        START for a run that never began; SKIP_COMPLETED, with the last boundary, when nothing is open; RETRY for an
        open action that may be repeated, for an approval wait whose decision is pending, and for a cancellation to
        finish; REQUIRE_HITL, with the state to save, for any other; NOT_RESUMABLE for a run that failed or was
        cancelled.

    Raises:
        AgentCheckpointError: A piece of boundary evidence lacks its fields.
    """
    action = _action_without_boundary(state)
    if action is not None:
        return AgentResumePlan(state, action, None, tuple(signals))
    boundaries = tuple(_boundaries(evidence))
    open_boundaries = _open_boundaries(boundaries)
    if not open_boundaries:
        last = boundaries[-1] if boundaries else None
        return AgentResumePlan(state, AgentResumeAction.SKIP_COMPLETED, last, tuple(signals))
    needing = [
        boundary for boundary in open_boundaries if not _may_repeat(boundary, evidence, signals)
    ]
    if needing:
        waiting = apply_move(state, Trigger.ASK_RECOVERY)
        action = AgentResumeAction.REQUIRE_HITL
        return AgentResumePlan(waiting, action, needing[0], tuple(signals))
    return AgentResumePlan(state, AgentResumeAction.RETRY, open_boundaries[0], tuple(signals))


def _action_without_boundary(state: AgentState) -> AgentResumeAction | None:
    """Give what the status alone decides; None when the boundaries have to be looked at."""
    if state.status is AgentStatus.CREATED:
        return AgentResumeAction.START
    if state.status is AgentStatus.COMPLETED:
        return AgentResumeAction.SKIP_COMPLETED
    if state.status in ENDED:
        return AgentResumeAction.NOT_RESUMABLE
    if state.status is AgentStatus.CANCELLING:
        return AgentResumeAction.RETRY
    return None


def _open_boundaries(boundaries: Sequence[AgentResumeBoundary]) -> list[AgentResumeBoundary]:
    """Give the boundaries that were begun and not ended, oldest first."""
    open_by_action: dict[str, AgentResumeBoundary] = {}
    for boundary in boundaries:
        if boundary.stage is AgentActionBoundaryStage.BEFORE:
            open_by_action[boundary.action_id] = boundary
        else:
            open_by_action.pop(boundary.action_id, None)
    return list(open_by_action.values())


def _boundaries(evidence: Sequence[AgentEvidence]) -> Iterator[AgentResumeBoundary]:
    for piece in evidence:
        if piece.kind is AgentEvidenceKind.ACTION_BOUNDARY:
            yield _boundary(piece)


def _boundary(piece: AgentEvidence) -> AgentResumeBoundary:
    payload = piece.payload
    try:
        return AgentResumeBoundary(
            action_id=_text(payload, "action_id"),
            action_kind=AgentActionKind(_text(payload, "action_kind")),
            stage=AgentActionBoundaryStage(_text(payload, "stage")),
            idempotency=Idempotency(_text(payload, "idempotency")),
            evidence_id=piece.id,
        )
    except ValueError as error:
        message = f"Boundary evidence {piece.id} cannot be read ({error}); it was not written by this framework. Restore the row from a backup, or end the run with a CANCEL signal."
        raise AgentCheckpointError(message) from error


def _text(payload: JsonObject, key: str) -> str:
    value = payload.get(key)
    if isinstance(value, str):
        return value
    raise ValueError(key)


def _may_repeat(
    boundary: AgentResumeBoundary,
    evidence: Sequence[AgentEvidence],
    signals: Sequence[AgentSignal],
) -> bool:
    match boundary.action_kind:
        case AgentActionKind.MODEL_CALL:
            return True
        case AgentActionKind.TOOL_CALL:
            resume = ToolResumeMetadata(boundary.idempotency).action_for_incomplete_boundary()
            return resume is ToolResumeAction.RETRY
        case AgentActionKind.APPROVAL_WAIT:
            return _is_decided(boundary, evidence, signals)
        case _:
            assert_never(boundary.action_kind)


def _is_decided(
    boundary: AgentResumeBoundary,
    evidence: Sequence[AgentEvidence],
    signals: Sequence[AgentSignal],
) -> bool:
    wanted = {boundary.action_id}
    source = next((piece for piece in evidence if piece.id == boundary.evidence_id), None)
    metadata = None if source is None else source.payload.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("approval_id"), str):
        wanted.add(str(metadata["approval_id"]))
    return any(
        signal.kind is AgentSignalKind.APPROVAL_DECISION
        and signal.payload.get("request_id") in wanted
        for signal in signals
    )
