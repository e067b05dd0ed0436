"""What is measured: the scenarios by name, and the bytes that the model server answers them with."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

DELTAS = 2000
PACED_DELTAS = 300
TURNS = 10
TURN_DELTAS = 50
PARALLEL_CALLS = 8
CROWD = 200
CROWD_DELTAS = 50
TOOL = "look_up"
PROMPT = "Say something about the weather in Lyon."


class Scenario(StrEnum):
    """A scenario; its value is the first part of the address that is asked."""

    STREAM = "stream"
    PACED = "paced"
    FIRST = "first"
    TOOLS = "tools"
    PARALLEL = "parallel"
    CROWD = "crowd"


@dataclass(frozen=True, slots=True)
class Script:
    """How one request is answered.

    Attributes:
        writes: What is written, one piece after the other, with the framing of chunked bodies.
        pause_seconds: The time between two pieces; zero only lets the other requests have their turn.
        together: How many requests of the scenario must have come in before the second piece is written.
    """

    writes: tuple[bytes, ...]
    pause_seconds: float = 0.0
    together: int = 1


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
    """Give a chunk as a vLLM server writes it."""
    choice = {
        "index": 0,
        "delta": delta,
        "logprobs": None,
        "finish_reason": reason,
        "token_ids": None,
    }
    head = {
        "id": "chatcmpl-988ab5d9e206ec15",
        "object": "chat.completion.chunk",
        "created": 1796050163,
        "model": "m",
    }
    text = json.dumps({**head, "choices": [choice]}, separators=(",", ":"))
    return _framed(b"data: " + text.encode() + b"\n\n")


def _call(index: int, step: int) -> Iterator[bytes]:
    """Give one call as it is streamed: its name first, then its arguments in two pieces."""
    function = {"name": TOOL, "arguments": ""}
    opened = {
        "index": index,
        "id": f"call-{step}-{index}",
        "type": "function",
        "function": function,
    }
    yield _chunk({"tool_calls": [opened]})
    for piece in ('{"city":', f'"Lyon {step} {index}"}}'):
        yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _answer(deltas: int, *, calls: int = 0, step: int = 0) -> tuple[bytes, ...]:
    usage = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}\n\n'
    last = _chunk({}, "tool_calls" if calls else "stop")
    return (
        *(_chunk({"content": " token"}) for _ in range(deltas)),
        *(piece for index in range(calls) for piece in _call(index, step)),
        last + _framed(usage) + _framed(b"data: [DONE]\n\n") + b"0\r\n\r\n",
    )


def write_script(scenario: Scenario, step: int) -> Script:
    """Give the answer to a request.

    Args:
        scenario: What is asked.
        step: How many answers of the model the request already holds.
    """
    match scenario:
        case Scenario.STREAM:
            return Script(_answer(DELTAS))
        case Scenario.PACED:
            return Script(_answer(PACED_DELTAS), pause_seconds=0.001)
        case Scenario.FIRST:
            return Script(_answer(1))
        case Scenario.TOOLS:
            return Script(_answer(TURN_DELTAS, calls=int(step < TURNS), step=step))
        case Scenario.PARALLEL:
            return Script(_answer(1, calls=0 if step else PARALLEL_CALLS, step=step))
        case Scenario.CROWD:
            return Script(_answer(CROWD_DELTAS), together=CROWD)
