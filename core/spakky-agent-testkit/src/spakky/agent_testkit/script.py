"""The vocabulary of a scripted turn: what a model says, calls, waits for and breaks on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

from spakky.agent.checks import require_positive
from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.contracts.model_request import ModelRequest
from spakky.agent.contracts.model_stream import (
    ModelError,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue, digest_value

type TurnAction = Callable[[], Awaitable[None]]
"""Something that a turn does between its events: wait, or raise."""
type TurnItem = ModelStreamEvent | TurnAction
type Turn = Sequence[TurnItem | Sequence[TurnItem]]
"""One answer of the model: events and actions in order; the helpers' results may stand in it as they are."""
type TurnSource = Turn | Callable[[ModelRequest], Turn]
"""A turn, or a function that makes it from the request it answers."""


class EndWithoutDone(Exception):
    """Tells the player of a turn that the stream returns here; never seen outside."""


def cut_text(text: str, chunk: int | None) -> list[str]:
    """Cut a text into pieces of a number of characters; in one piece for None. An empty text is one empty piece."""
    require_positive(chunk, "chunk")
    if chunk is None or not text:
        return [text]
    return [text[start : start + chunk] for start in range(0, len(text), chunk)]


def say(
    text: str, *, chunk: int | None = None, as_message: bool = False
) -> tuple[ModelStreamEvent, ...]:
    """Say a text.

    Args:
        text: What the model says.
        chunk: How many characters a delta holds; all in one for None.
        as_message: Send MESSAGE_DELTA instead of TOKEN_DELTA.
    """
    if as_message:
        kind = ModelStreamEventKind.MESSAGE_DELTA
        return tuple(ModelStreamEvent(kind, message_delta=piece) for piece in cut_text(text, chunk))
    kind = ModelStreamEventKind.TOKEN_DELTA
    return tuple(ModelStreamEvent(kind, token_delta=piece) for piece in cut_text(text, chunk))


def think(text: str, *, chunk: int | None = None) -> tuple[ModelStreamEvent, ...]:
    """Think a text; ``chunk`` as for ``say``."""
    kind = ModelStreamEventKind.REASONING_DELTA
    return tuple(ModelStreamEvent(kind, reasoning_delta=piece) for piece in cut_text(text, chunk))


def call(
    name: str,
    arguments: JsonObject = EMPTY_OBJECT,
    *,
    call_id: str | None = None,
    chunk: int | None = None,
    arguments_error: str | None = None,
) -> tuple[ModelStreamEvent, ...]:
    """Call a tool: start, argument deltas, end, and the complete call.

    Args:
        name: The tool's schema name.
        arguments: The arguments.
        call_id: The provider's id; made from the name and arguments when it is None.
        chunk: How many characters of the arguments' text a delta holds; all in one for None.
        arguments_error: Says that the argument text was not an object; then ``arguments`` is left out of the call.
    """
    kind = ModelStreamEventKind
    used_id = f"call_{digest_value([name, arguments])[7:15]}" if call_id is None else call_id
    start = ModelToolCall(name, EMPTY_OBJECT, used_id)
    given = EMPTY_OBJECT if arguments_error else arguments
    whole = ModelToolCall(name, given, used_id, arguments_error=arguments_error)
    pieces = cut_text(json.dumps(arguments, ensure_ascii=False), chunk)
    return (
        ModelStreamEvent(kind.TOOL_CALL_START, tool_call=start),
        *(
            ModelStreamEvent(kind.TOOL_CALL_ARGS_DELTA, tool_call=start, tool_call_args_delta=piece)
            for piece in pieces
        ),
        ModelStreamEvent(kind.TOOL_CALL_END, tool_call=start),
        ModelStreamEvent(kind.TOOL_CALL_CANDIDATE, tool_call=whole),
    )


def structured(value: JsonValue) -> ModelStreamEvent:
    """Give a structured output."""
    return ModelStreamEvent(ModelStreamEventKind.STRUCTURED_OUTPUT, structured_output=value)


def usage(
    input_tokens: int, output_tokens: int, *, metadata: JsonObject = EMPTY_OBJECT
) -> ModelStreamEvent:
    """End the answer with DONE and a usage; a turn without it ends with DONE and no usage."""
    total = input_tokens + output_tokens
    return ModelStreamEvent(
        ModelStreamEventKind.DONE,
        usage=ModelUsage(input_tokens, output_tokens, total),
        metadata=metadata,
    )


def fail(code: str, message: str, *, retryable: bool = False) -> ModelStreamEvent:
    """End the answer with ERROR."""
    return ModelStreamEvent(
        ModelStreamEventKind.ERROR, error=ModelError(code, message, retryable=retryable)
    )


def gate(event: asyncio.Event, *, reached: asyncio.Event | None = None) -> TurnAction:
    """Wait until an event is set.

    Args:
        event: What is waited for.
        reached: Set when the model has come here, so that a test can go on from that moment.
    """

    async def wait() -> None:
        if reached is not None:
            reached.set()
        await event.wait()

    return wait


def hang(*, reached: asyncio.Event | None = None) -> TurnAction:
    """Wait for ever; only closing or cancelling the stream ends it. ``reached`` as for ``gate``."""

    async def wait() -> None:
        # The event is made here, since an event belongs to the loop that first waits for it.
        await gate(asyncio.Event(), reached=reached)()

    return wait


def raises(error: BaseException) -> TurnAction:
    """Raise an error out of the stream, as a broken adapter does."""

    async def break_stream() -> None:
        raise error

    return break_stream


def returns() -> TurnAction:
    """End the stream by returning, without DONE."""

    async def leave() -> None:
        raise EndWithoutDone

    return leave
