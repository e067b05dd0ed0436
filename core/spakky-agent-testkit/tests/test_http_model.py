"""The HTTP model server: what goes over the wire, what it records, and how it breaks."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from spakky.agent.error import AgentValueError
from spakky.agent.json_value import JsonObject
from spakky.agent_testkit.http_model import (
    AnswerSource,
    ChatAnswer,
    ChatCall,
    ChatReasoning,
    Ending,
    Framing,
    HttpModelServer,
    RawAnswer,
    RecordedRequest,
    chat,
    main,
    parse_answer,
    parse_script,
    raw,
    reply,
    serve_in_child,
)

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STREAM = {**QUESTION, "stream": True, "stream_options": {"include_usage": True}}


@pytest.fixture
async def client() -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=10) as opened:
        yield opened


async def ask(client: httpx.AsyncClient, server: HttpModelServer, body: object) -> httpx.Response:
    return await client.post(f"{server.base_url}/chat/completions", json=body)


def events_of(response: httpx.Response) -> list[dict[str, object]]:
    lines = [line for line in response.content.split(b"\n\n") if line]
    assert lines[-1] == b"data: [DONE]"
    return [json.loads(line.removeprefix(b"data: ")) for line in lines[:-1]]


def deltas_of(response: httpx.Response) -> list[dict[str, object]]:
    # The shape is what the test asserts; a wrong one fails with a KeyError.
    return [event["choices"][0]["delta"] for event in events_of(response) if event["choices"]]  # type: ignore[index]


async def test_a_chat_answer_is_streamed_when_the_request_asks_for_it(
    client: httpx.AsyncClient,
) -> None:
    async with HttpModelServer(
        [chat("Hello", ChatReasoning("hm"), usage=(3, 4), chunk=2)]
    ) as server:
        response = await ask(client, server, STREAM)
    assert response.headers["content-type"] == "text/event-stream"
    assert deltas_of(response) == [
        {"role": "assistant", "content": ""},
        {"content": "He"},
        {"content": "ll"},
        {"content": "o"},
        {"reasoning_content": "hm"},
        {},
    ]
    last = events_of(response)[-1]
    assert last["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    assert {event["model"] for event in events_of(response)} == {"m"}


async def test_usage_is_streamed_only_when_it_is_asked_for(client: httpx.AsyncClient) -> None:
    async with HttpModelServer([chat("a")]) as server:
        response = await ask(client, server, {**QUESTION, "stream": True})
    assert "usage" not in response.text
    assert "scripted-model" not in response.text


async def test_tool_calls_are_streamed_with_their_index(client: httpx.AsyncClient) -> None:
    calls = (ChatCall("read", '{"a":1}', "c1"), ChatCall("ping", "", "c2"))
    async with HttpModelServer([ChatAnswer(calls, one_byte_writes=True)]) as server:
        response = await ask(client, server, STREAM)
    parts = [delta["tool_calls"] for delta in deltas_of(response) if "tool_calls" in delta]
    first = {"index": 0, "id": "c1", "type": "function"}
    second = {"index": 1, "id": "c2", "type": "function"}
    assert parts == [
        [{**first, "function": {"name": "read", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"a":1}'}}],
        [{**second, "function": {"name": "ping", "arguments": ""}}],
        [{"index": 1, "function": {"arguments": ""}}],
    ]
    assert '"finish_reason": "tool_calls"' in response.text


async def test_a_chat_answer_is_one_object_otherwise(client: httpx.AsyncClient) -> None:
    answers = [
        chat("a", "b", ChatReasoning("hm"), ChatCall("t", "{}", "c")),
        chat(finish_reason="length"),
    ]
    async with HttpModelServer(answers) as server:
        first = (await ask(client, server, QUESTION)).json()
        second = (await ask(client, server, {"messages": []})).json()
    message = first["choices"][0]["message"]
    assert message == {
        "role": "assistant",
        "content": "ab",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        ],
    }
    assert first["choices"][0]["finish_reason"] == "tool_calls"
    assert second["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": None},
        "finish_reason": "length",
    }
    assert second["model"] == "scripted-model"


@pytest.mark.parametrize("one_byte_writes", [False, True])
@pytest.mark.parametrize("framing", list(Framing))
async def test_raw_bytes_are_sent_as_they_are(
    client: httpx.AsyncClient, framing: Framing, *, one_byte_writes: bool
) -> None:
    pieces = ("data: 한🙂".encode(), b"", b"\xff\x00\r\n")
    answer = RawAnswer(
        pieces, 299, "text/x", (("x-a", "1"),), framing, one_byte_writes=one_byte_writes
    )
    async with HttpModelServer([answer]) as server:
        response = await ask(client, server, STREAM)
    assert response.content == b"".join(pieces)
    assert (response.status_code, response.headers["x-a"]) == (299, "1")
    assert response.headers["content-type"] == "text/x"


async def test_a_content_type_can_be_left_out(client: httpx.AsyncClient) -> None:
    async with HttpModelServer([RawAnswer((b"a",), content_type="")]) as server:
        assert "content-type" not in (await ask(client, server, STREAM)).headers


@pytest.mark.parametrize(
    ("framing", "ending"),
    [
        (Framing.CHUNKED, Ending.CUT),
        (Framing.LENGTH, Ending.CUT),
        (Framing.CHUNKED, Ending.RESET),
        (Framing.CLOSE, Ending.RESET),
    ],
)
async def test_a_cut_or_reset_answer_breaks_the_client(
    client: httpx.AsyncClient, framing: Framing, ending: Ending
) -> None:
    answer = RawAnswer((b"half",), framing=framing, ending=ending)
    async with HttpModelServer([answer]) as server:
        with pytest.raises(httpx.TransportError):
            await ask(client, server, STREAM)


async def test_cutting_a_body_that_ends_with_the_connection_is_not_seen(
    client: httpx.AsyncClient,
) -> None:
    answer = RawAnswer((b"half",), framing=Framing.CLOSE, ending=Ending.CUT)
    async with HttpModelServer([answer]) as server:
        assert (await ask(client, server, STREAM)).content == b"half"


async def test_requests_are_recorded(client: httpx.AsyncClient) -> None:
    async with HttpModelServer([chat("a"), chat("b")]) as server:
        await client.post(
            f"{server.base_url}/chat/completions?x=1", json=QUESTION, headers={"X-Trace": "7"}
        )
        await ask(client, server, QUESTION)
        await server.wait_for_requests(2)
    first, second = server.requests
    assert (first.method, first.path) == ("POST", "/v1/chat/completions?x=1")
    assert first.headers["x-trace"] == "7"
    assert first.json == QUESTION
    assert first.received_at <= second.received_at
    assert server.connections == 1


async def test_a_body_in_chunks_is_recorded_whole(client: httpx.AsyncClient) -> None:
    async def body() -> AsyncGenerator[bytes]:
        yield b'{"messages"'
        yield b": []}"

    async with HttpModelServer([chat("a")]) as server:
        response = await client.post(f"{server.base_url}/chat/completions", content=body())
    assert response.status_code == 200
    assert server.requests[0].json == {"messages": []}


async def test_an_answer_may_be_made_from_its_request(client: httpx.AsyncClient) -> None:
    def echo(request: RecordedRequest) -> RawAnswer:
        return reply(429, {"size": len(request.body)}, headers={"Retry-After": "2"})

    sources: list[AnswerSource] = [echo]
    async with HttpModelServer(sources) as server:
        response = await ask(client, server, QUESTION)
    assert (response.status_code, response.headers["retry-after"]) == (429, "2")
    assert response.json() == {"size": len(server.requests[0].body)}


async def test_by_progress_a_request_gets_the_same_answer_each_time(
    client: httpx.AsyncClient,
) -> None:
    later = {**QUESTION, "messages": [{"role": "user"}, {"role": "assistant"}, {"role": "tool"}]}
    async with HttpModelServer([chat("a"), chat("b")], by_progress=True) as server:
        texts = [
            (await ask(client, server, body)).json()
            for body in (later, later, QUESTION, {"messages": 1})
        ]
    assert [text["choices"][0]["message"]["content"] for text in texts] == ["b", "b", "a", "a"]


async def test_the_models_are_listed(client: httpx.AsyncClient) -> None:
    async with HttpModelServer(models=["one", "two"]) as server:
        response = await client.get(f"{server.base_url}/models")
    assert [item["id"] for item in response.json()["data"]] == ["one", "two"]


async def test_what_the_server_cannot_answer_has_a_status_of_its_own(
    client: httpx.AsyncClient,
) -> None:
    async with HttpModelServer(api_key="right") as server:
        client.headers["authorization"] = "Bearer wrong"
        assert (await ask(client, server, QUESTION)).status_code == 401
        client.headers["authorization"] = "Bearer right"
        assert (await ask(client, server, QUESTION)).status_code == 500
        assert (await client.get(f"{server.base_url}/other")).status_code == 404
        assert (await client.get(f"{server.base_url}/chat/completions")).status_code == 404
        assert (await ask(client, server, [1])).status_code == 400
        url = f"{server.base_url}/chat/completions"
        assert (await client.post(url, content=b"no json")).status_code == 400
        server.extend(chat("late"))
        server.extend(reply(500, b"<html>"))
    assert len(server.requests) == 6


async def test_html_is_answered_as_html(client: httpx.AsyncClient) -> None:
    async with HttpModelServer([reply(500, b"<html>")]) as server:
        response = await ask(client, server, QUESTION)
    assert (response.headers["content-type"], response.text) == ("text/html", "<html>")


async def test_an_answer_waits_for_its_events(client: httpx.AsyncClient) -> None:
    start, go_on = asyncio.Event(), asyncio.Event()
    answer = RawAnswer((b"a", go_on, b"b"), before=start)
    async with HttpModelServer([answer, chat("x", go_on, "y")]) as server, asyncio.timeout(10):
        task = asyncio.create_task(ask(client, server, STREAM))
        await server.wait_for_requests(1)
        assert not task.done()
        start.set()
        go_on.set()
        assert (await task).content == b"ab"
        assert "x" in (await ask(client, server, STREAM)).text


async def test_an_answer_in_one_piece_waits_too(client: httpx.AsyncClient) -> None:
    go_on = asyncio.Event()
    async with HttpModelServer([chat("x", go_on)]) as server, asyncio.timeout(10):
        task = asyncio.create_task(ask(client, server, QUESTION))
        await server.wait_for_requests(1)
        assert not task.done()
        go_on.set()
        assert (await task).status_code == 200


async def test_a_client_that_goes_away_is_seen(client: httpx.AsyncClient) -> None:
    answer = raw(b"data: 1\n\n", asyncio.Event())
    async with HttpModelServer([answer]) as server:
        url = f"{server.base_url}/chat/completions"
        async with client.stream("POST", url, json=STREAM) as response:
            assert await anext(response.aiter_raw()) == b"data: 1\n\n"
            assert (server.disconnects, server.open_connections) == (0, 1)
        await server.wait_for_disconnects()
        assert server.disconnects == 1
        with pytest.raises(TimeoutError):
            await server.wait_for_disconnects(2, timeout_seconds=0)


async def test_a_client_that_resets_while_it_is_written_to_is_seen() -> None:
    async def flood() -> None:
        block = b"x" * 65536
        answer = RawAnswer(tuple(block for _ in range(400)))
        async with HttpModelServer([answer]) as server:
            port = int(server.base_url.split(":")[2].split("/")[0])
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            await server.wait_for_requests(1)
            writer.transport.abort()
            await server.wait_for_disconnects()

    async with asyncio.timeout(10):
        await flood()


async def test_a_client_may_connect_and_say_nothing(client: httpx.AsyncClient) -> None:
    async with HttpModelServer([chat("a")]) as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await writer.wait_closed()
        assert (await ask(client, server, QUESTION)).status_code == 200


async def test_a_client_that_goes_away_before_its_request_is_whole_gets_no_answer() -> None:
    async with HttpModelServer([chat("a")]) as server, asyncio.timeout(10):
        port = int(server.base_url.split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 9\r\n\r\nhalf")
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    assert (server.requests, server.connections) == ([], 1)


async def test_closing_the_server_ends_its_connections(client: httpx.AsyncClient) -> None:
    async with HttpModelServer([raw(asyncio.Event())]) as server:
        task = asyncio.create_task(ask(client, server, STREAM))
        await server.wait_for_requests(1)
    with pytest.raises(httpx.TransportError):
        await task
    assert server.open_connections == 0
    with pytest.raises(AgentValueError, match="does not run"):
        _ = server.base_url


async def test_it_runs_as_a_program(client: httpx.AsyncClient, tmp_path: Path) -> None:
    script: JsonObject = {
        "by_progress": True,
        "answers": [
            {"parts": ["a", {"text": "b"}, {"reasoning": "r"}], "usage": [5, 6], "chunk": 1},
            {"parts": [{"call": {"name": "t", "arguments": {"k": 1}, "call_id": "c"}}]},
        ],
    }
    async with serve_in_child(script, tmp_path) as base_url:
        url = f"{base_url}/chat/completions"
        first = (await client.post(url, json=QUESTION)).json()
        again = (await client.post(url, json=QUESTION)).json()
    assert first == again
    assert first["choices"][0]["message"]["content"] == "ab"
    assert first["usage"]["total_tokens"] == 11


def test_a_script_may_hold_every_form_of_answer() -> None:
    answers, options = parse_script(
        {
            "answers": [
                {"raw": ["data: 1\n\n", "x"], "ending": "cut"},
                {"status": 503, "body": {"error": "e"}, "headers": {"a": "b"}},
                {
                    "parts": [{"call": {"name": "t", "arguments": "no json"}}],
                    "finish_reason": "stop",
                },
            ]
        }
    )
    assert options == {"by_progress": False}
    assert answers == (
        raw(b"data: 1\n\n", b"x", ending=Ending.CUT),
        reply(503, {"error": "e"}, headers={"a": "b"}),
        ChatAnswer((ChatCall("t", "no json"),), "stop"),
    )


def test_a_wrong_script_is_refused() -> None:
    with pytest.raises(AgentValueError, match="answers"):
        parse_script({})
    with pytest.raises(AgentValueError, match="parts, raw or status"):
        parse_answer({"text": "a"})
    with pytest.raises(AgentValueError, match="text, reasoning or call"):
        parse_answer({"parts": [{"name": "t"}]})
    with pytest.raises(AgentValueError, match="chunk"):
        ChatAnswer(chunk=0)


def test_the_program_needs_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "--script" in capsys.readouterr().err
