"""Projects frames to the protocol-neutral stream of ``run_events()``. Pure; keeps the order."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from spakky.agent.contracts.events import (
    AgentEvent,
    AgentEventAttribution,
    CustomEvent,
    MessageDeltaEvent,
    ReasoningDeltaEvent,
    RunFinishedEvent,
    RunPausedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolCallArgsDeltaEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from spakky.agent.contracts.json_form import to_json_value
from spakky.agent.contracts.state import AgentStatus
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import FrozenObject, JsonObject, JsonValue
from spakky.agent.loop.frames import (
    CallArgumentsShown,
    CallClosed,
    CallFinished,
    CallOpened,
    ChildShown,
    EvidenceShown,
    Frame,
    HookShown,
    ProgressShown,
    ReasoningShown,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
    StepFinished,
    StepStarted,
    TextShown,
)
from spakky.agent.rules.lifecycle import ENDED

type Events = tuple[AgentEvent, ...]


def to_events(frame: Frame, attribution: AgentEventAttribution) -> Events:
    """Give the events of a frame: none, or one. An event of a child run passes with its own attribution."""
    project = _PROJECTIONS.get(type(frame))
    return () if project is None else project(frame, attribution)


def _text(frame: TextShown, by: AgentEventAttribution) -> Events:
    return (MessageDeltaEvent(by, frame.message_id, frame.text),)


def _reasoning(frame: ReasoningShown, by: AgentEventAttribution) -> Events:
    return (ReasoningDeltaEvent(by, frame.reasoning_id, frame.text),)


def _call_opened(frame: CallOpened, by: AgentEventAttribution) -> Events:
    return (ToolCallStartEvent(by, frame.call_id, frame.name, frame.parent_message_id),)


def _call_arguments(frame: CallArgumentsShown, by: AgentEventAttribution) -> Events:
    return (ToolCallArgsDeltaEvent(by, frame.call_id, frame.delta),)


def _call_closed(frame: CallClosed, by: AgentEventAttribution) -> Events:
    return (ToolCallEndEvent(by, frame.call_id),)


def _call_finished(frame: CallFinished, by: AgentEventAttribution) -> Events:
    marks: JsonObject = {"is_error": True} if frame.is_error else {}
    return (
        ToolCallResultEvent(by, frame.call_id, frame.name, frame.message_id, frame.result, marks),
    )


def _run_started(frame: RunStarted, by: AgentEventAttribution) -> Events:
    return (RunStartedEvent(by, FrozenObject({"resumed": frame.resumed})),)


def _step_started(frame: StepStarted, by: AgentEventAttribution) -> Events:
    return (StepStartedEvent(by, frame.name),)


def _step_finished(frame: StepFinished, by: AgentEventAttribution) -> Events:
    return (StepFinishedEvent(by, frame.name),)


def _progress(frame: ProgressShown, by: AgentEventAttribution) -> Events:
    value: JsonObject = {"message": frame.message, "current_step": frame.current_step}
    return (CustomEvent(by, "progress", value, frame.metadata),)


def _evidence(frame: EvidenceShown, by: AgentEventAttribution) -> Events:
    return (CustomEvent(by, "evidence", to_json_value(frame.evidence)),)


def _hook(frame: HookShown, by: AgentEventAttribution) -> Events:
    payload = frame.item.payload
    try:
        value = to_json_value(payload)
    except AgentValueError:
        # An author's hook may yield what it likes; what has no JSON form is told by its class.
        value = {"type": type(payload).__name__}
    return (CustomEvent(by, frame.item.kind.value, value),)


def _child(frame: ChildShown, _by: AgentEventAttribution) -> Events:
    return (frame.event,)


def _paused(frame: RunPaused, by: AgentEventAttribution) -> Events:
    first = frame.requests[0] if frame.requests else None
    metadata: dict[str, JsonValue] = {**frame.metadata}
    if frame.code is not None:
        metadata |= {"code": frame.code, "retryable": frame.retryable}
    if frame.requests:
        metadata["approvals"] = [request.to_metadata() for request in frame.requests]
    return (
        RunPausedEvent(
            by,
            frame.reason,
            frame.prompt,
            by.run_id,
            None if first is None else first.id,
            None if first is None else first.call_id,
            () if first is None else tuple(choice.value for choice in first.allowed_decisions),
            metadata,
        ),
    )


def _completed(frame: RunCompleted, by: AgentEventAttribution) -> Events:
    metadata: JsonObject = {**frame.metadata, "spent": frame.spent}
    return (RunFinishedEvent(by, metadata=metadata, result=frame.stored),)


def _failed(frame: RunFailed, by: AgentEventAttribution) -> Events:
    error: dict[str, JsonValue] = {
        "code": frame.code,
        "message": frame.message,
        "retryable": frame.retryable,
    }
    if frame.status in ENDED:
        return (RunFinishedEvent(by, error, {"spent": frame.spent}, status=frame.status),)
    # This runner let go of a run that has not ended: the stream is over, the run is not.
    error["resumable"] = True
    return (RunFinishedEvent(by, error=error, status=AgentStatus.FAILED),)


def _cancelled(frame: RunCancelled, by: AgentEventAttribution) -> Events:
    reason = frame.reason or "The run was cancelled."
    error: JsonObject = {
        "code": "agent.run.cancelled",
        "message": reason,
        "requested_by": frame.requested_by,
    }
    metadata: JsonObject = {"spent": frame.spent}
    return (RunFinishedEvent(by, error, metadata, status=AgentStatus.CANCELLED),)


# Each function takes its own frame class, which a mapping cannot say.
_PROJECTIONS: Mapping[type, Callable[[Any, AgentEventAttribution], Events]] = MappingProxyType(
    {
        TextShown: _text,
        ReasoningShown: _reasoning,
        CallOpened: _call_opened,
        CallArgumentsShown: _call_arguments,
        CallClosed: _call_closed,
        CallFinished: _call_finished,
        RunStarted: _run_started,
        StepStarted: _step_started,
        StepFinished: _step_finished,
        ProgressShown: _progress,
        EvidenceShown: _evidence,
        HookShown: _hook,
        ChildShown: _child,
        RunPaused: _paused,
        RunCompleted: _completed,
        RunFailed: _failed,
        RunCancelled: _cancelled,
    }
)
