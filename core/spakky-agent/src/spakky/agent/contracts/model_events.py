"""Events of what a model streams: text, reasoning, and the life of a tool call.

The three delta classes are made for every piece that a model streams, so they are neither checked
nor frozen.
"""

from dataclasses import dataclass
from typing import ClassVar

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.construction import store_objects
from spakky.agent.contracts.event_kinds import AgentEventAttribution, AgentEventKind
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(slots=True)
class MessageDeltaEvent:
    """A piece of an assistant message; treat it as read-only.

    Attributes:
        attribution: The run.
        message_id: The message, one for each model call.
        delta: The piece.
        metadata: Extra data.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.MESSAGE_DELTA

    attribution: AgentEventAttribution
    message_id: str
    delta: str
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(slots=True)
class ReasoningDeltaEvent:
    """A piece of a model's reasoning; treat it as read-only.

    Attributes:
        attribution: The run.
        reasoning_id: The reasoning, one for each model call.
        delta: The piece.
        metadata: Extra data.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.REASONING_DELTA

    attribution: AgentEventAttribution
    reasoning_id: str
    delta: str
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(frozen=True, slots=True)
class ToolCallStartEvent:
    """That a model began to write a tool call.

    Attributes:
        attribution: The run.
        call_id: The call.
        tool_name: The tool's schema name.
        parent_message_id: The message that asked for it; None when the model wrote no text before.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank id.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.TOOL_CALL_START

    attribution: AgentEventAttribution
    call_id: str
    tool_name: str
    parent_message_id: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.call_id, "ToolCallStartEvent.call_id")
        require_optional_text(self.parent_message_id, "ToolCallStartEvent.parent_message_id")
        store_objects(self, "metadata")


@dataclass(slots=True)
class ToolCallArgsDeltaEvent:
    """A piece of a call's argument text; treat it as read-only.

    Attributes:
        attribution: The run.
        call_id: The call.
        args_delta: The piece.
        metadata: Extra data.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.TOOL_CALL_ARGS_DELTA

    attribution: AgentEventAttribution
    call_id: str
    args_delta: str
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(frozen=True, slots=True)
class ToolCallEndEvent:
    """That the arguments of a call are complete.

    Attributes:
        attribution: The run.
        call_id: The call.
        metadata: Extra data.

    Raises:
        AgentValueError: The call id is blank.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.TOOL_CALL_END

    attribution: AgentEventAttribution
    call_id: str
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.call_id, "ToolCallEndEvent.call_id")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class ToolCallResultEvent:
    """What a call gave back to the model.

    Attributes:
        attribution: The run.
        call_id: The call.
        tool_name: The tool's schema name.
        message_id: The TOOL message that carries the result.
        result: The result, guarded.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank id.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.TOOL_CALL_RESULT

    attribution: AgentEventAttribution
    call_id: str
    tool_name: str
    message_id: str
    result: JsonValue = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.call_id, "ToolCallResultEvent.call_id")
        require_text(self.message_id, "ToolCallResultEvent.message_id")
        store_objects(self, "metadata")
