"""The offline model over real HTTP, through the adapter that real servers are asked with."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress

import httpx
import pytest
from code_assistant.offline_model import OFFLINE_MODEL, OfflineModelServer

from spakky.agent import (
    JsonSchemaConstraint,
    ModelMessage,
    ModelMessageRole,
    ModelRequest,
    ModelStreamEventKind,
    ModelToolSpec,
    ToolCallingSpec,
)
from spakky.plugins.vllm import VllmAgentModel

TOOL = ModelToolSpec("workspace.read", JsonSchemaConstraint({"type": "object", "properties": {}}))


@pytest.fixture
async def url() -> AsyncGenerator[str]:
    async with OfflineModelServer() as server:
        yield server.base_url


def ask(text: str) -> ModelRequest:
    message = ModelMessage(ModelMessageRole.USER, text)
    return ModelRequest((message,), tool_calling=ToolCallingSpec((TOOL,)))


async def test_an_answer_streams_in_pieces_and_a_call_has_its_declared_name(url: str) -> None:
    model = VllmAgentModel(base_url=url, model=OFFLINE_MODEL)
    events = [event async for event in model.stream(ask('read "한 글.md"'))]
    await model.aclose()

    texts = [event.token_delta or event.message_delta for event in events]
    assert "".join(text for text in texts if text) == "Reading 한 글.md."
    assert len([text for text in texts if text]) > 1
    calls = [event.tool_call for event in events if event.kind.value == "tool_call_candidate"]
    assert calls[0] is not None
    assert (calls[0].name, dict(calls[0].arguments)) == ("workspace.read", {"path": "한 글.md"})
    assert events[-1].kind is ModelStreamEventKind.DONE


async def test_an_answer_comes_whole_too(url: str) -> None:
    model = VllmAgentModel(base_url=url, model=OFFLINE_MODEL)
    called = await model.complete(ask("read a.md"))
    told = await model.complete(ask("dance"))
    models = await model.list_models()
    await model.aclose()

    assert called.tool_calls[0].name == "workspace.read"
    assert "not a language model" in told.content
    assert [served.name for served in models] == [OFFLINE_MODEL]


async def test_a_tool_that_is_not_offered_is_called_by_its_own_name(url: str) -> None:
    async with httpx.AsyncClient() as client:
        body = {"messages": [{"role": "user", "content": "git status"}], "tools": ["x"]}
        answer = (await client.post(f"{url}/chat/completions", json=body)).json()
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "git.status"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nowhere", b"", 404),
        ("POST", "/chat/completions", b"no json", 400),
        ("POST", "/chat/completions", b"[]", 400),
        ("POST", "/chat/completions", b'{"messages": 1}', 400),
    ],
)
async def test_what_is_not_understood_is_refused(
    url: str, method: str, path: str, body: bytes, status: int
) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.request(method, f"{url}{path}", content=body)
    assert answer.status_code == status
    assert "message" in answer.json()["error"]


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    ],
)
async def test_a_request_out_of_bounds_is_refused(url: str, head: bytes) -> None:
    port = int(url.split(":")[2].split("/", maxsplit=1)[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)
    async with asyncio.timeout(5):
        answer = await reader.readuntil(b"\r\n\r\n")
        body = json.loads(await reader.read())
    writer.close()
    await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 400")
    assert body["error"]["message"]


async def test_a_header_out_of_bounds_ends_its_connection_and_no_other(url: str) -> None:
    async with httpx.AsyncClient() as client:
        with suppress(httpx.TransportError):
            answer = await client.get(f"{url}/models", headers={"x": "y" * 200_000})
            assert answer.status_code == 400
        assert (await client.get(f"{url}/models")).status_code == 200


async def test_a_client_that_goes_away_is_no_fault(url: str) -> None:
    port = int(url.split(":")[2].split("/", maxsplit=1)[0])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST / HTT")
    writer.close()
    await writer.wait_closed()
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{url}/models")).status_code == 200


async def test_closing_ends_connections_that_wait() -> None:
    async with OfflineModelServer() as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with httpx.AsyncClient() as client:
            await client.get(f"{server.base_url}/models")
    async with asyncio.timeout(5):
        assert await reader.read() == b""
    writer.close()
