"""What a model server answers: raw bytes, or texts and calls in the form of OpenAI-compatible servers."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from spakky.agent.error import AgentValueError
from spakky.agent.json_value import JsonObject, JsonValue

SSE = "text/event-stream"
JSON = "application/json"

type Piece = bytes | asyncio.Event
"""Bytes to write at once, or an event to wait for before going on."""


class Framing(StrEnum):
    """How the end of a body is told."""

    CHUNKED = "chunked"
    LENGTH = "length"
    CLOSE = "close"


class Ending(StrEnum):
    """What happens to the connection after the last piece."""

    CLEAN = "clean"
    CUT = "cut"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer byte for byte.

    Attributes:
        pieces: What is written, one write and one flush each, and what is waited for in between.
        status: The HTTP status.
        content_type: The header of that name; left out when it is empty.
        headers: Further headers.
        framing: CHUNKED sends each write as one chunk, LENGTH sends a Content-Length, CLOSE ends with the connection.
        ending: CLEAN ends as the framing says; CUT closes without the end that the framing promises (the same as
            CLEAN for CLOSE); RESET makes the client see a reset.
        one_byte_writes: Write each byte by itself.
        before: What is waited for before the status line.
    """

    pieces: tuple[Piece, ...] = ()
    status: int = 200
    content_type: str = SSE
    headers: tuple[tuple[str, str], ...] = ()
    framing: Framing = Framing.CHUNKED
    ending: Ending = Ending.CLEAN
    one_byte_writes: bool = False
    before: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class ChatText:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatReasoning:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatCall:
    """A tool call; the argument text is sent as it is, valid or not."""

    name: str
    arguments: str = "{}"
    call_id: str = "call_0"


type ChatPart = ChatText | ChatReasoning | ChatCall | asyncio.Event


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer of a chat completion; a stream or one object, as the request asks.

    Attributes:
        parts: Texts, reasoning and calls in order, and events to wait for.
        finish_reason: Why it ended; ``tool_calls`` or ``stop`` by its parts when None.
        usage: Prompt and completion tokens.
        chunk: How many characters a delta holds; a part in one for None.
        one_byte_writes: Write each byte by itself.
    """

    parts: tuple[ChatPart, ...] = ()
    finish_reason: str | None = None
    usage: tuple[int, int] = (1, 1)
    chunk: int | None = None
    one_byte_writes: bool = False

    def __post_init__(self) -> None:
        if self.chunk is not None and self.chunk < 1:
            message = f"ChatAnswer.chunk must be one character or more, not {self.chunk}."
            raise AgentValueError(message)


type Answer = RawAnswer | ChatAnswer


def raw(*pieces: Piece, one_byte_writes: bool = False, ending: Ending = Ending.CLEAN) -> RawAnswer:
    """Give a stream of server-sent events byte for byte; other forms are made with ``RawAnswer`` itself."""
    return RawAnswer(pieces, one_byte_writes=one_byte_writes, ending=ending)


def reply(
    status: int, body: JsonValue | bytes = None, *, headers: Mapping[str, str] | None = None
) -> RawAnswer:
    """Give an answer in one piece: JSON, or bytes as HTML."""
    is_raw = isinstance(body, bytes)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawAnswer(
        (content,),
        status,
        "text/html" if is_raw else JSON,
        tuple((headers or {}).items()),
        Framing.LENGTH,
    )


def chat(
    *parts: str | ChatPart,
    finish_reason: str | None = None,
    usage: tuple[int, int] = (1, 1),
    chunk: int | None = None,
) -> ChatAnswer:
    """Give a chat answer; a plain text stands for ``ChatText``."""
    typed = tuple(ChatText(part) if isinstance(part, str) else part for part in parts)
    return ChatAnswer(typed, finish_reason, usage, chunk)


def render_answer(answer: Answer, request: JsonObject, model: str) -> RawAnswer:
    """Give the bytes of an answer to a request body."""
    if isinstance(answer, RawAnswer):
        return answer
    if request.get("stream") is not True:
        return _render_object(answer, model)
    options = request.get("stream_options")
    with_usage = isinstance(options, Mapping) and options.get("include_usage") is True
    pieces = _render_stream(answer, model, with_usage=with_usage)
    return RawAnswer(tuple(pieces), one_byte_writes=answer.one_byte_writes)


def _render_stream(answer: ChatAnswer, model: str, *, with_usage: bool) -> list[Piece]:
    pieces: list[Piece] = [_chunk(model, {"role": "assistant", "content": ""})]
    index = -1
    for part in answer.parts:
        if isinstance(part, asyncio.Event):
            pieces.append(part)
            continue
        if isinstance(part, ChatCall):
            index += 1
        pieces.extend(_chunk(model, delta) for delta in _deltas(part, index, answer.chunk))
    pieces.append(_chunk(model, {}, finish_reason=_finish_reason(answer)))
    if with_usage:
        pieces.append(
            _event(
                {**_head("chat.completion.chunk", model), "choices": [], "usage": _usage(answer)}
            )
        )
    pieces.append(b"data: [DONE]\n\n")
    return pieces


def _render_object(answer: ChatAnswer, model: str) -> RawAnswer:
    texts = [part.text for part in answer.parts if isinstance(part, ChatText)]
    thoughts = [part.text for part in answer.parts if isinstance(part, ChatReasoning)]
    calls = [_whole_call(part) for part in answer.parts if isinstance(part, ChatCall)]
    message: dict[str, JsonValue] = {"role": "assistant", "content": "".join(texts) or None}
    if thoughts:
        message["reasoning_content"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    choice: JsonObject = {"index": 0, "message": message, "finish_reason": _finish_reason(answer)}
    body = {**_head("chat.completion", model), "choices": [choice], "usage": _usage(answer)}
    waits = tuple(part for part in answer.parts if isinstance(part, asyncio.Event))
    content = json.dumps(body, ensure_ascii=False).encode()
    return RawAnswer(
        (*waits, content),
        content_type=JSON,
        framing=Framing.LENGTH,
        one_byte_writes=answer.one_byte_writes,
    )


def _deltas(
    part: ChatText | ChatReasoning | ChatCall, index: int, size: int | None
) -> list[JsonObject]:
    if isinstance(part, ChatText):
        return [{"content": piece} for piece in _cut(part.text, size)]
    if isinstance(part, ChatReasoning):
        return [{"reasoning_content": piece} for piece in _cut(part.text, size)]
    start: JsonObject = {
        "index": index,
        "id": part.call_id,
        "type": "function",
        "function": {"name": part.name, "arguments": ""},
    }
    rest: list[JsonObject] = [
        {"index": index, "function": {"arguments": piece}} for piece in _cut(part.arguments, size)
    ]
    return [{"tool_calls": [call]} for call in (start, *rest)]


def _whole_call(part: ChatCall) -> JsonObject:
    function: JsonObject = {"name": part.name, "arguments": part.arguments}
    return {"id": part.call_id, "type": "function", "function": function}


def _cut(text: str, size: int | None) -> list[str]:
    if size is None:
        return [text]
    return [text[start : start + size] for start in range(0, len(text), size)]


def _finish_reason(answer: ChatAnswer) -> str:
    called = any(isinstance(part, ChatCall) for part in answer.parts)
    return answer.finish_reason or ("tool_calls" if called else "stop")


def _usage(answer: ChatAnswer) -> JsonObject:
    prompt, completion = answer.usage
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _head(kind: str, model: str) -> dict[str, JsonValue]:
    return {"id": "chatcmpl-0", "object": kind, "created": 0, "model": model}


def _chunk(model: str, delta: JsonObject, *, finish_reason: str | None = None) -> bytes:
    choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _event({**_head("chat.completion.chunk", model), "choices": [choice]})


def _event(body: JsonObject) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


NO_MORE_ANSWERS: JsonObject = {
    "error": {
        "message": "The script of this server has no more answers.",
        "code": "script_exhausted",
    }
}
NOT_FOUND: JsonObject = {
    "error": {"message": "This server has no such route.", "code": "not_found"}
}
BAD_REQUEST: JsonObject = {
    "error": {"message": "The body is no JSON object.", "code": "bad_request"}
}
UNAUTHORIZED: JsonObject = {
    "error": {"message": "The API key is wrong.", "code": "invalid_api_key"}
}
