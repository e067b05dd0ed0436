"""Any bytes, cut anywhere, and any JSON at any place: events and at most one typed error, and nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st
from vllm_wire import DONE, TOOLS, Heard, ask, call, call_part, delta, event, finish, listen, text

from spakky.agent.contracts.model_stream import ModelStreamEventKind as Kind
from spakky.plugins.vllm import ModelErrorCode, VllmAgentModel, VllmProfile, VllmRetry, VllmRuntime

CODES = {code.value for code in ModelErrorCode}
BETWEEN = {
    Kind.TOOL_CALL_START,
    Kind.TOOL_CALL_ARGS_DELTA,
    Kind.TOOL_CALL_END,
    Kind.TOOL_CALL_CANDIDATE,
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
words = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "index",
        "id",
        "finish_reason",
        "usage",
        "error",
        "code",
        "type",
        "refusal",
        "reasoning",
        "reasoning_content",
        "logprobs",
        "object",
        "detail",
        "prompt_tokens",
        "completion_tokens_details",
        "text",
        "thinking",
    ]
)
known = st.recursive(
    json_values
    | st.sampled_from(["stop", "length", "tool_calls", "error", "read", "{}", '{"a":1}', "null"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=25,
)
GOOD = [
    b": wait\n\n",
    delta({"role": "assistant", "content": ""}),
    delta({"reasoning": "hm"}),
    text("hi"),
    call(call_part(0, id="a", name="read", arguments='{"path":')),
    call(call_part(0, arguments='"p"}'), call_part(1, id="b", name="ping")),
    finish("tool_calls"),
    event(
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
    ),
    DONE,
]
items = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(GOOD),
    st.builds(lambda data: b"data: " + data + b"\n\n", st.binary(max_size=40)),
    st.builds(lambda value: event(json.loads(json.dumps(value, allow_nan=True))), known),
    st.builds(lambda value: delta(value), known),
    st.builds(lambda value: event({"choices": value}), known),
    st.builds(lambda value: event({"choices": [value]}), known),
    st.builds(lambda value: call(value) if isinstance(value, dict) else event(value), known),
)


class Body(httpx.AsyncByteStream):
    """A body in given pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


class Transport(httpx.AsyncBaseTransport):
    """Answers with one status and body, whatever is asked."""

    def __init__(self, pieces: list[bytes], status: int = 200) -> None:
        self.pieces = pieces
        self.status = status

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self.status, stream=Body(self.pieces))


def answer(pieces: list[bytes], status: int = 200) -> Heard:
    profile = VllmProfile(model="m", retry=VllmRetry(max_attempts=1))
    runtime = VllmRuntime(transport=lambda: Transport(pieces, status))
    model = VllmAgentModel(profiles={"default": profile}, runtime=runtime)

    async def run() -> Heard:
        async with asyncio.timeout(20):
            return await listen(model, ask(tools=TOOLS, schema={"type": "object"}))

    return asyncio.run(run())


def check(heard: Heard) -> None:
    """What holds for every answer, however broken."""
    assert heard.ended_once
    assert all(error.code in CODES and "\n" not in error.message for error in heard.errors)
    opened: set[str | None] = set()
    for item in heard.events:
        if item.kind in BETWEEN:
            assert item.tool_call is not None
            assert item.tool_call.call_id
            assert (item.kind is Kind.TOOL_CALL_START) is (item.tool_call.call_id not in opened)
            opened.add(item.tool_call.call_id)
    assert len(heard.candidates) in {0, len(opened)}


def cut(body: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[start:end] for start, end in pairwise(marks)]


@settings(max_examples=400, deadline=None)
@given(body=st.lists(items, max_size=10), places=st.lists(st.integers(0, 5000), max_size=12))
def test_any_stream_cut_anywhere_gives_events_and_one_end(
    body: list[bytes], places: list[int]
) -> None:
    check(answer(cut(b"".join(body), places)))


@settings(max_examples=200, deadline=None)
@given(body=st.lists(items, max_size=8), places=st.lists(st.integers(0, 5000), max_size=12))
def test_where_a_stream_is_cut_changes_nothing(body: list[bytes], places: list[int]) -> None:
    whole = b"".join(body)
    one, other = answer([whole]), answer(cut(whole, places))

    assert one.events == other.events


@settings(max_examples=200, deadline=None)
@given(value=known, status=st.sampled_from([200, 200, 400, 404, 429, 500]))
def test_any_json_body_with_any_status_gives_one_end(value: Any, status: int) -> None:
    check(answer([json.dumps(value).encode()], status))


@settings(max_examples=200, deadline=None)
@given(
    place=st.integers(0, len(GOOD) - 1),
    at=st.integers(0, 200),
    byte=st.integers(0, 255),
    drop=st.booleans(),
)
def test_a_good_stream_with_one_wrong_byte_gives_events_and_one_end(
    place: int, at: int, byte: int, drop: bool
) -> None:
    broken = bytearray(GOOD[place])
    at %= len(broken)
    broken[at : at + 1] = b"" if drop else bytes([byte])

    check(answer([*GOOD[:place], bytes(broken), *GOOD[place + 1 :]]))


def test_the_stream_that_the_others_break_is_good() -> None:
    heard = answer(GOOD)

    assert heard.calls == [("read", {"path": "p"}, "a"), ("ping", {}, "b")]
    assert heard.usage is not None
