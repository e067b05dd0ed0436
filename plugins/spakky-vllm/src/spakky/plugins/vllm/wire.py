"""What comes back over the wire: typed chunks of a chat completion, and plain readings of their looser parts.

A chunk of a stream and a whole answer are one type here: the choice of a chunk has a ``delta``, that of a whole answer a
``message``, and both have the same fields. Only what is read is declared; servers add fields of their own.

Typed strictly are the parts that carry structure. Parts that servers write in several ways (an index as a text, a content as a
list of parts, an error as a text or an object) are declared ``object`` and read by the functions below, which refuse nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.json_value import JsonValue

DONE = b"[DONE]"
_TEXT_PARTS = ("text", "output_text")
_REASONING_PARTS = ("thinking", "reasoning")
_MAX_ERROR_DEPTH = 4


class FunctionPart(msgspec.Struct, gc=False):
    """The function of a tool call, or a piece of it."""

    name: object = None
    arguments: object = None


class ToolCallPart(msgspec.Struct, gc=False):
    """A tool call, or a piece of it."""

    index: object = None
    id: object = None
    function: FunctionPart | None = None


class Delta(msgspec.Struct, gc=False):
    """A whole message of the assistant, or the next piece of it."""

    content: object = None
    reasoning: object = None
    reasoning_content: object = None
    tool_calls: list[ToolCallPart] | None = None
    refusal: object = None


class Choice(msgspec.Struct, gc=False):
    """One of the answers that were asked for; this adapter reads the one with index 0."""

    index: object = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: object = None
    logprobs: object = None
    error: object = None


class Chunk(msgspec.Struct, gc=False):
    """One event of a stream, or the body of a whole answer."""

    id: object = None
    model: object = None
    kind: object = msgspec.field(default=None, name="object")
    choices: list[Choice] | None = None
    usage: object = None
    error: object = None
    message: object = None
    detail: object = None
    code: object = None
    type: object = None


_CHUNK_DECODER = msgspec.json.Decoder(Chunk)


class WireFormatError(ValueError):
    """The bytes are no chunk; the message says why, without the bytes."""


@dataclass(frozen=True, slots=True)
class WireError:
    """A failure as a server described it.

    Attributes:
        message: Its words; empty when it gave none. They are not cleaned of credentials.
        type: Its name for the kind of failure.
        code: Its code; a number as a number, a text as a text.
        param: The part of the request that it names.
    """

    message: str = ""
    type: str = ""
    code: int | str | None = None
    param: str = ""


def parse_chunk(data: bytes) -> Chunk:
    """Read a chunk.

    Raises:
        WireFormatError: The bytes are no JSON object of that shape.
    """
    try:
        return _CHUNK_DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise WireFormatError(_reason(error)) from None
    except RecursionError:
        message = "the JSON is nested too deeply"
        raise WireFormatError(message) from None


def parse_json(text: str | bytes) -> JsonValue:
    """Read any JSON value.

    Raises:
        WireFormatError: The text is no JSON.
    """
    try:
        value: JsonValue = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise WireFormatError(_reason(error)) from None
    except UnicodeError:
        message = "the text holds half of a surrogate pair"
        raise WireFormatError(message) from None
    except RecursionError:
        message = "the JSON is nested too deeply"
        raise WireFormatError(message) from None
    return value


def _reason(error: msgspec.DecodeError) -> str:
    # Unlike a validation message of other libraries, that of msgspec names types and paths but never quotes a value.
    reason = str(error)
    return reason[:1].lower() + reason[1:]


def read_text(content: object) -> str:
    """Give the text of a content: itself, or the texts among its parts, joined."""
    if isinstance(content, str):
        return content
    return _join_parts(content, _TEXT_PARTS)


def read_reasoning(delta: Delta) -> str:
    """Give the reasoning of a delta; where both names are used they hold the same text, which counts once."""
    for value in (delta.reasoning, delta.reasoning_content):
        if value and isinstance(value, str):
            return value
    return _join_parts(delta.content, _REASONING_PARTS)


def _join_parts(content: object, kinds: tuple[str, ...]) -> str:
    texts: list[str] = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict) or part.get("type") not in kinds:
            continue
        value = part.get(part["type"], part.get("text"))
        # A part may itself hold a list of text parts, one level deep.
        for inner in value if isinstance(value, list) else (value,):
            text = inner.get("text") if isinstance(inner, dict) else inner
            texts.append(text if isinstance(text, str) else "")
    return "".join(texts)


def read_index(value: object) -> int | None:
    """Give an index that may be a number, a text of digits or missing."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return None


def read_arguments(value: object) -> str | None:
    """Give a piece of argument text; the decoded value that some servers send is encoded again.

    Raises:
        WireFormatError: The value is nested too deeply.
    """
    if value is None or isinstance(value, str):
        return value
    return _dump(value)


def read_usage(value: object) -> ModelUsage | None:
    """Give the token counts, those that are counts; None when there are none at all."""
    if not isinstance(value, dict):
        return None
    usage = ModelUsage(
        input_tokens=_read_count(value, "prompt_tokens"),
        output_tokens=_read_count(value, "completion_tokens"),
        total_tokens=_read_count(value, "total_tokens"),
        cached_input_tokens=_read_count(value.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_read_count(value.get("completion_tokens_details"), "reasoning_tokens"),
    )
    return None if usage == ModelUsage() else usage


def _read_count(value: object, name: str) -> int | None:
    if not isinstance(value, dict):
        return None
    count = value.get(name)
    whole = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    return count if whole else None


def find_chunk_error(chunk: Chunk) -> WireError | None:
    """Give the failure that a chunk as a whole tells, in whichever way; None when it tells none.

    Raises:
        WireFormatError: The failure is nested too deeply.
    """
    if chunk.error:
        return describe_error(chunk.error)
    if chunk.kind == "error" or (chunk.choices is None and (chunk.message or chunk.detail)):
        return describe_error(
            {
                "message": chunk.message or chunk.detail,
                "type": chunk.type,
                "code": chunk.code,
            }
        )
    return None


def describe_error(body: object) -> WireError:
    """Read an error body, in the forms that servers use.

    Known are ``{"error": {...}}``, ``{"error": "text"}``, ``{"message": ...}``, ``{"detail": ...}``, a list of one of these,
    and a plain text; the object may have ``type``, ``code`` and ``param``.
    """
    value = body
    for _ in range(_MAX_ERROR_DEPTH):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, Mapping) and value.get("error"):
            value = value["error"]
        else:
            break
    if isinstance(value, str):
        return WireError(value)
    if not isinstance(value, Mapping):
        return WireError()
    message = value.get("message") or value.get("detail") or ""
    code = value.get("code")
    return WireError(
        message=message if isinstance(message, str) else _dump(message),
        type=_text_of(value.get("type")),
        code=code if isinstance(code, int | str) and not isinstance(code, bool) else None,
        param=_text_of(value.get("param")),
    )


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dump(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        message = "the JSON is nested too deeply"
        raise WireFormatError(message) from None
