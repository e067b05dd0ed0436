"""Bytes as servers write them, and what a model adapter makes of them."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_request import (
    JsonSchemaConstraint,
    ModelRequest,
    ModelSelection,
    ModelToolSpec,
    StructuredOutputSpec,
    ToolCallingSpec,
)
from spakky.agent.contracts.model_stream import (
    ModelError,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.json_value import JsonValue
from spakky.plugins.vllm import VllmAgentModel
from spakky.plugins.vllm.answer import AnswerReader
from spakky.plugins.vllm.error import VllmModelError
from spakky.plugins.vllm.request_body import PreparedRequest
from spakky.plugins.vllm.sse import SseDecoder
from spakky.plugins.vllm.target import Target
from spakky.plugins.vllm.tool_names import ToolNameMap

CAPTURES = Path(__file__).parent / "captures"
DONE = b"data: [DONE]\n\n"
TARGET = Target("default", "m", "http://server:1/v1", ("sk-top-secret",))
TOOLS = ("read", "ping", "save")


def event(value: object) -> bytes:
    """Give a value as one event of a stream."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def delta(value: object, finish_reason: str | None = None, **choice: object) -> bytes:
    """Give a chunk with one delta."""
    body = {"index": 0, "delta": value, "finish_reason": finish_reason, **choice}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return event({**head, "choices": [body]})


def text(value: str) -> bytes:
    """Give a chunk with a piece of text."""
    return delta({"content": value})


def finish(reason: str) -> bytes:
    """Give the chunk that ends an answer."""
    return delta({}, reason)


def usage(prompt: int, completion: int, total: int) -> bytes:
    """Give the chunk with the token counts."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return event({"id": "c", "choices": [], "usage": counts})


_ABSENT = object()


def call_part(
    index: object = _ABSENT,
    *,
    id: object = _ABSENT,  # noqa: A002 - the field's name on the wire
    name: object = _ABSENT,
    arguments: object = _ABSENT,
) -> dict[str, object]:
    """Give a piece of a tool call with the fields that are named."""
    function = {"name": name, "arguments": arguments}
    function = {key: value for key, value in function.items() if value is not _ABSENT}
    part = {"index": index, "id": id, "type": "function", "function": function}
    return {key: value for key, value in part.items() if value is not _ABSENT}


def call(*parts: dict[str, object]) -> bytes:
    """Give a chunk with pieces of tool calls."""
    return delta({"tool_calls": list(parts)})


@dataclass(slots=True)
class Heard:
    """Everything that an answer told, in order."""

    events: list[ModelStreamEvent] = field(default_factory=list)

    @property
    def kinds(self) -> list[ModelStreamEventKind]:
        return [item.kind for item in self.events]

    @property
    def text(self) -> str:
        return "".join(item.token_delta or "" for item in self.events)

    @property
    def reasoning(self) -> str:
        return "".join(item.reasoning_delta or "" for item in self.events)

    @property
    def candidates(self) -> list[ModelToolCall]:
        wanted = ModelStreamEventKind.TOOL_CALL_CANDIDATE
        return [item.tool_call for item in self.events if item.kind is wanted and item.tool_call]

    @property
    def calls(self) -> list[tuple[str, dict[str, JsonValue], str | None]]:
        return [(item.name, dict(item.arguments), item.call_id) for item in self.candidates]

    @property
    def errors(self) -> list[ModelError]:
        return [item.error for item in self.events if item.error is not None]

    @property
    def code(self) -> str | None:
        return self.errors[0].code if self.errors else None

    @property
    def done(self) -> list[ModelStreamEvent]:
        return [item for item in self.events if item.kind is ModelStreamEventKind.DONE]

    @property
    def usage(self) -> ModelUsage | None:
        return self.done[0].usage if self.done else None

    @property
    def ended_once(self) -> bool:
        ends = {ModelStreamEventKind.DONE, ModelStreamEventKind.ERROR}
        return self.kinds[-1] in ends and sum(kind in ends for kind in self.kinds) == 1

    def argument_texts(self) -> dict[str | None, str]:
        """Give the argument text of each call as it was streamed, by call id."""
        texts: dict[str | None, str] = {}
        for item in self.events:
            if item.tool_call is not None:
                told = texts.setdefault(item.tool_call.call_id, "")
                texts[item.tool_call.call_id] = told + (item.tool_call_args_delta or "")
        return texts


async def listen(model: VllmAgentModel, request: ModelRequest) -> Heard:
    """Ask for a stream and hear it to the end."""
    heard = Heard()
    async with aclosing(model.stream(request)) as events:
        async for item in events:
            heard.events.append(item)
    return heard


def read_body(body: bytes, *, tools: Sequence[str] = TOOLS, structured: bool = False) -> Heard:
    """Read the body of a stream without any network."""
    heard = Heard()
    reader = AnswerReader(PreparedRequest(b"", ToolNameMap(tools), structured), TARGET)
    decoder = SseDecoder()
    try:
        for data in (*decoder.feed(body), *decoder.finish()):
            reader.feed(data, heard.events)
            if reader.ended:
                break
        reader.finish(heard.events)
    except VllmModelError as error:
        told = ModelStreamEvent(ModelStreamEventKind.ERROR, error=error.to_model_error())
        heard.events.append(told)
    return heard


def ask(
    content: str = "hi",
    *,
    tools: Sequence[str] = (),
    selection: ModelSelection | None = None,
    schema: dict[str, JsonValue] | None = None,
) -> ModelRequest:
    """Give a request with one user message."""
    specs = tuple(
        ModelToolSpec(name, JsonSchemaConstraint({"type": "object", "properties": {}}))
        for name in tools
    )
    return ModelRequest(
        messages=(ModelMessage(ModelMessageRole.USER, content),),
        tool_calling=ToolCallingSpec(specs) if specs else None,
        structured_output=StructuredOutputSpec(JsonSchemaConstraint(schema)) if schema else None,
        model_selection=selection,
    )


type StreamFactory = Callable[[], AsyncIterator[ModelStreamEvent]]
