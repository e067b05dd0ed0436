"""Projects frames to the public stream of ``run()``. Pure; keeps the order. Reasoning is not part of that stream."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from spakky.agent.contracts.approval import AgentApprovalRequest
from spakky.agent.contracts.state import AgentStateReason
from spakky.agent.contracts.yields import (
    AgentYield,
    AgentYieldKind,
    Approval,
    Cancel,
    Error,
    Evidence,
    Final,
    Progress,
    Token,
    Tool,
)
from spakky.agent.json_value import EMPTY_OBJECT, FrozenObject, JsonValue
from spakky.agent.loop.frames import (
    ApprovalAsked,
    CallFinished,
    EvidenceShown,
    Frame,
    HookShown,
    ProgressShown,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    TextShown,
)
from spakky.agent.rules.lifecycle import ENDED

type Item = AgentYield[object]
type Items = tuple[Item, ...]


def to_yields(frame: Frame, run_id: str) -> Items:
    """Give the items of a frame: none, or one.

    Args:
        frame: What the run shows.
        run_id: The run, for pauses that have no request of their own.
    """
    project = _PROJECTIONS.get(type(frame))
    return () if project is None else project(frame, run_id)


def _text(frame: TextShown, _run_id: str) -> Items:
    return (AgentYield(AgentYieldKind.TOKEN, Token(frame.text)),)


def _progress(frame: ProgressShown, _run_id: str) -> Items:
    payload = Progress(frame.message, frame.current_step, frame.metadata)
    return (AgentYield(AgentYieldKind.PROGRESS, payload),)


def _tool(frame: CallFinished, _run_id: str) -> Items:
    marks = {"is_error": True} if frame.is_error else {}
    payload = Tool(frame.name, frame.call_id, frame.arguments, frame.result, marks)
    return (AgentYield(AgentYieldKind.TOOL, payload),)


def _evidence(frame: EvidenceShown, _run_id: str) -> Items:
    return (AgentYield(AgentYieldKind.EVIDENCE, Evidence(frame.evidence)),)


def _hook(frame: HookShown, _run_id: str) -> Items:
    return (frame.item,)


def _approval(frame: ApprovalAsked, _run_id: str) -> Items:
    return (_approval_item(frame.request, frame.note),)


def _approval_item(request: AgentApprovalRequest, note: str | None) -> Item:
    item = request.to_yield()
    if note is None:
        return item
    payload = item.payload
    metadata = FrozenObject({**payload.metadata, "refused": note})
    approval = Approval(payload.id, payload.prompt, payload.allowed_decisions, metadata)
    return AgentYield(AgentYieldKind.APPROVAL, approval)


def _paused(frame: RunPaused, run_id: str) -> Items:
    if frame.requests:
        return ()
    if frame.reason is AgentStateReason.EXECUTION_FAILED:
        code = frame.code or "agent.model.failed"
        payload = Error(code, frame.prompt, frame.retryable, FrozenObject({"resumable": True}))
        return (AgentYield(AgentYieldKind.ERROR, payload),)
    metadata: dict[str, JsonValue] = {**frame.metadata, "reason": frame.reason.value}
    approval = Approval(f"{run_id}/{frame.reason.value}", frame.prompt, (), metadata)
    return (AgentYield(AgentYieldKind.APPROVAL, approval),)


def _completed(frame: RunCompleted, _run_id: str) -> Items:
    metadata: dict[str, JsonValue] = {**frame.metadata, "spent": frame.spent}
    return (AgentYield(AgentYieldKind.FINAL, Final(frame.output, metadata)),)


def _failed(frame: RunFailed, _run_id: str) -> Items:
    # This runner may have let go of a run that has not ended: the stream is over, the run is not.
    marks = EMPTY_OBJECT if frame.status in ENDED else FrozenObject({"resumable": True})
    payload = Error(frame.code, frame.message, frame.retryable, marks)
    return (AgentYield(AgentYieldKind.ERROR, payload),)


def _cancelled(frame: RunCancelled, _run_id: str) -> Items:
    return (AgentYield(AgentYieldKind.CANCEL, Cancel(frame.reason, frame.requested_by)),)


# Each function takes its own frame class, which a mapping cannot say.
_PROJECTIONS: Mapping[type, Callable[[Any, str], Items]] = MappingProxyType(
    {
        TextShown: _text,
        ProgressShown: _progress,
        CallFinished: _tool,
        EvidenceShown: _evidence,
        HookShown: _hook,
        ApprovalAsked: _approval,
        RunPaused: _paused,
        RunCompleted: _completed,
        RunFailed: _failed,
        RunCancelled: _cancelled,
    }
)
