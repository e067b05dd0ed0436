"""The events of an answer as one response: pure."""

from collections.abc import Iterable

from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.contracts.model_stream import (
    ModelResponse,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.json_value import JsonValue


class ResponseCollector:
    """Puts the events of one answer together."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ModelToolCall] = []
        self._structured: JsonValue = None
        self._usage = ModelUsage()
        self._metadata: dict[str, JsonValue] = {}

    def add(self, events: Iterable[ModelStreamEvent]) -> None:
        """Take the next events."""
        for event in events:
            self._texts.append(event.token_delta or "")
            self._reasoning.append(event.reasoning_delta or "")
            if event.kind is ModelStreamEventKind.TOOL_CALL_CANDIDATE and event.tool_call:
                self._calls.append(event.tool_call)
            elif event.kind is ModelStreamEventKind.STRUCTURED_OUTPUT:
                self._structured = event.structured_output
            elif event.kind is ModelStreamEventKind.DONE:
                self._usage = event.usage or self._usage
                self._metadata |= event.metadata

    def to_response(self) -> ModelResponse:
        """Give the answer; its reasoning, where there was any, is metadata under that name."""
        reasoning = "".join(self._reasoning)
        if reasoning:
            self._metadata["reasoning"] = reasoning
        return ModelResponse(
            content="".join(self._texts),
            structured_output=self._structured,
            tool_calls=tuple(self._calls),
            usage=self._usage,
            metadata=self._metadata,
        )
