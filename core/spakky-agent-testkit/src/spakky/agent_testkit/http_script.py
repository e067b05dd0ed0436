"""Reads the answers of a model server from a script file."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from spakky.agent.error import AgentValueError
from spakky.agent_testkit.http_answers import (
    Answer,
    ChatAnswer,
    ChatCall,
    ChatPart,
    ChatReasoning,
    ChatText,
    Ending,
    raw,
    reply,
)

# A script is a decoded JSON file; the patterns below look at what they use of it.
type Record = dict[str, Any]


def parse_answer(record: Record) -> Answer:
    """Read an answer from a script file.

    A record is one of ``{"parts": [...], "finish_reason", "usage", "chunk"}`` whose parts are texts or objects with
    one of ``text``, ``reasoning``, ``call`` (``name``, ``arguments``, ``call_id``); ``{"raw": [texts], "ending"}``;
    or ``{"status", "body", "headers"}``.

    Raises:
        AgentValueError: It is none of these.
    """
    match record:
        case {"parts": [*parts], **rest}:
            usage = rest.get("usage", [1, 1])
            return ChatAnswer(
                tuple(_parse_part(part) for part in parts),
                rest.get("finish_reason"),
                (int(usage[0]), int(usage[1])),
                rest.get("chunk"),
            )
        case {"raw": [*texts], **rest}:
            pieces = tuple(str(text).encode() for text in texts)
            return raw(*pieces, ending=Ending(rest.get("ending", Ending.CLEAN)))
        case {"status": int(status), **rest}:
            return reply(status, rest.get("body"), headers=rest.get("headers"))
        case _:
            message = f"An answer of a script needs one of the keys parts, raw or status: {str(record)[:200]}"
            raise AgentValueError(message)


def _parse_part(part: Record | str) -> ChatPart:
    match part:
        case str(text) | {"text": str(text)}:
            return ChatText(text)
        case {"reasoning": str(text)}:
            return ChatReasoning(text)
        case {"call": {"name": str(name), **rest}}:
            arguments = rest.get("arguments", {})
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            return ChatCall(name, text, str(rest.get("call_id", "call_0")))
        case _:
            message = f"A part of an answer must be a text, or an object with text, reasoning or call: {str(part)[:200]}"
            raise AgentValueError(message)


def parse_script(record: Record) -> tuple[Sequence[Answer], Mapping[str, bool]]:
    """Read a script file: ``{"answers": [...], "by_progress": false}``.

    Returns:
        The answers, and the options of ``HttpModelServer`` that the script sets.

    Raises:
        AgentValueError: It has another form.
    """
    match record:
        case {"answers": [*answers], **rest}:
            options = {"by_progress": rest.get("by_progress") is True}
            return tuple(parse_answer(answer) for answer in answers), options
        case _:
            message = 'A script must be a JSON object with a list "answers".'
            raise AgentValueError(message)
