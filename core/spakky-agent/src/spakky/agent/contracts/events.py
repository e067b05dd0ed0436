"""The protocol-neutral events of a run, from which stream protocols are served.

Each class has its own constant ``kind``. All events of one run carry the same attribution.
"""

from spakky.agent.contracts.content_events import (
    ArtifactEvent,
    CustomEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
)
from spakky.agent.contracts.event_kinds import AgentEventAttribution, AgentEventKind
from spakky.agent.contracts.model_events import (
    MessageDeltaEvent,
    ReasoningDeltaEvent,
    ToolCallArgsDeltaEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from spakky.agent.contracts.run_events import (
    RunFinishedEvent,
    RunPausedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
)

__all__ = [
    "AgentEvent",
    "AgentEventAttribution",
    "AgentEventKind",
    "ArtifactEvent",
    "CustomEvent",
    "MessageDeltaEvent",
    "ReasoningDeltaEvent",
    "RunFinishedEvent",
    "RunPausedEvent",
    "RunStartedEvent",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "ToolCallArgsDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallResultEvent",
    "ToolCallStartEvent",
]

# A plain union, so that isinstance(item, AgentEvent) works.
AgentEvent = (
    MessageDeltaEvent
    | ReasoningDeltaEvent
    | ToolCallStartEvent
    | ToolCallArgsDeltaEvent
    | ToolCallEndEvent
    | ToolCallResultEvent
    | RunStartedEvent
    | RunPausedEvent
    | RunFinishedEvent
    | StepStartedEvent
    | StepFinishedEvent
    | StateSnapshotEvent
    | StateDeltaEvent
    | ArtifactEvent
    | CustomEvent
)
"""Every event class."""
