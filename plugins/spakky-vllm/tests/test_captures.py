"""Recorded answers of real servers, over real HTTP: whole, and one write for each byte."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import CAPTURES, ask, listen

from spakky.agent.contracts.model_stream import ModelStreamEventKind as Kind
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.plugins.vllm import VllmAgentModel, VllmModelError, VllmProfile, VllmRetry

STATUSES: dict[str, int] = json.loads((CAPTURES / "statuses.json").read_text())
STREAMS = sorted(str(path.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*.sse"))
BODIES = sorted(str(path.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*.response.json"))
CHATS = [
    name
    for name in BODIES
    if name not in STATUSES and '"chat.completion"' in (CAPTURES / name).read_text()
]
ERRORS = sorted(STATUSES)

CONTEXT_OVERFLOW = "agent.model.context_overflow"
CODES = {
    400: "agent.model.invalid_request",
    401: "agent.model.authentication",
    404: "agent.model.not_found",
    405: "agent.model.not_found",
    500: "agent.model.unavailable",
}


# The oracle of these tests reads any JSON, so that it shares no type with the code under test.
def chunks_of(body: bytes) -> Iterator[Any]:
    """Read a stream the simple way, which is enough for well-behaved bodies."""
    for line in body.split(b"\n"):
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def first_choices(body: bytes) -> Iterator[Any]:
    for chunk in chunks_of(body):
        yield from (choice for choice in chunk["choices"] if choice["index"] == 0)


def expected_usage(counts: Any) -> ModelUsage | None:
    if counts is None:
        return None
    return ModelUsage(
        counts["prompt_tokens"],
        counts["completion_tokens"],
        counts["total_tokens"],
        (counts.get("prompt_tokens_details") or {}).get("cached_tokens"),
        (counts.get("completion_tokens_details") or {}).get("reasoning_tokens"),
    )


def decode_arguments(told: str) -> Any:
    """Decode argument text; None when the model wrote something else, as some of these did."""
    try:
        return json.loads(told)
    except ValueError:
        return None


@pytest.mark.parametrize("one_byte", [False, True], ids=["whole", "bytes"])
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.requirement("VLLM-2", "VLLM-3")
async def test_every_recorded_stream_says_what_its_chunks_say(
    server: ModelServer, model: VllmAgentModel, name: str, one_byte: bool
) -> None:
    body = (CAPTURES / name).read_bytes()
    items = [item + b"\n\n" for item in body.split(b"\n\n") if item]
    server.reply(Reply(items, one_byte_writes=one_byte))

    heard = await listen(model, ask(tools=["get_weather", "add", "now"]))

    deltas = [choice["delta"] for choice in first_choices(body)]
    reasons = [choice["finish_reason"] for choice in first_choices(body) if choice["finish_reason"]]
    parts = [part for item in deltas for part in item.get("tool_calls", ())]
    names = [part["function"]["name"] for part in parts if "name" in part["function"]]
    texts: dict[int, str] = {}
    for part in parts:
        told = part["function"].get("arguments", "")
        texts[part["index"]] = texts.get(part["index"], "") + told
    assert heard.ended_once
    assert heard.text == "".join(item.get("content") or "" for item in deltas)
    assert heard.reasoning == "".join(item.get("reasoning") or "" for item in deltas)
    assert list(heard.argument_texts().values()) == list(texts.values())
    if reasons == ["length"] and parts:
        assert heard.code == "agent.model.truncated"
        assert heard.candidates == []
        return
    assert heard.errors == []
    assert [call[0] for call in heard.calls] == names
    decoded = [decode_arguments(told) for told in texts.values()]
    assert [call[1] for call in heard.calls] == [arguments or {} for arguments in decoded]
    assert [call.arguments_error is None for call in heard.candidates] == [
        arguments is not None for arguments in decoded
    ]
    assert heard.done[0].metadata["finish_reason"] == reasons[0]
    counted = [chunk["usage"] for chunk in chunks_of(body) if chunk.get("usage")]
    assert heard.usage == expected_usage(counted[-1] if counted else None)


@pytest.mark.parametrize("name", CHATS)
@pytest.mark.requirement("VLLM-2", "VLLM-3")
async def test_every_recorded_answer_says_what_its_message_says(
    server: ModelServer, model: VllmAgentModel, name: str
) -> None:
    body = (CAPTURES / name).read_bytes()
    server.reply(Reply([body], headers=JSON))

    answer = await model.complete(ask(tools=["get_weather", "add", "now"]))

    told = json.loads(body)
    message = told["choices"][0]["message"]
    assert answer.content == (message["content"] or "")
    assert answer.metadata.get("reasoning") == (message.get("reasoning") or None)
    assert [(call.name, call.call_id) for call in answer.tool_calls] == [
        (part["function"]["name"], part["id"]) for part in message.get("tool_calls", ())
    ]
    assert [dict(call.arguments) for call in answer.tool_calls] == [
        json.loads(part["function"]["arguments"]) for part in message.get("tool_calls", ())
    ]
    assert answer.metadata["finish_reason"] == told["choices"][0]["finish_reason"]
    assert answer.metadata["response_id"] == told["id"]
    assert answer.usage == expected_usage(told["usage"])


@pytest.mark.parametrize("name", CHATS[::9])
@pytest.mark.requirement("VLLM-3")
async def test_a_server_that_does_not_stream_is_heard_all_the_same(
    server: ModelServer, model: VllmAgentModel, name: str
) -> None:
    body = (CAPTURES / name).read_bytes()
    server.reply(Reply([body], headers=JSON, one_byte_writes=True))

    heard = await listen(model, ask())

    assert heard.text == (json.loads(body)["choices"][0]["message"]["content"] or "")
    assert heard.kinds[-1] is Kind.DONE


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.requirement("VLLM-6")
async def test_every_recorded_error_is_a_typed_error(server: ModelServer, name: str) -> None:
    profile = VllmProfile(base_url=server.base_url, model="m", retry=VllmRetry(max_attempts=1))
    model = VllmAgentModel(profiles={"default": profile})
    body = (CAPTURES / name).read_bytes()
    status = STATUSES[name]
    server.reply(Reply([body], status=status, headers=JSON))

    heard = await listen(model, ask())
    with pytest.raises(VllmModelError) as raised:
        await model.complete(ask())
    await model.aclose()

    overflow = "context-overflow" in name
    assert heard.code == (CONTEXT_OVERFLOW if overflow else CODES[status])
    assert raised.value.error_code == heard.code
    assert heard.errors[0].retryable is (status >= 500)
    assert heard.errors[0].metadata["http_status"] == status
    assert heard.kinds == [Kind.ERROR]
    told = json.loads(body)
    inner = told.get("error", told.get("detail"))
    words = inner["message"] if isinstance(inner, dict) else inner
    assert " ".join(words.split())[:60] in heard.errors[0].message


def test_no_recording_is_left_out() -> None:
    heard = {*STREAMS, *CHATS, *ERRORS}
    lists = {name for name in BODIES if Path(name).name.startswith(("models", "version", "health"))}

    assert {*BODIES, *STREAMS} - heard - lists == set()
    assert len(STREAMS) > 60
