"""What an operator asks a server."""

import asyncio

import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import CAPTURES, ask

from spakky.agent.contracts.model_request import ModelSelection
from spakky.plugins.vllm import ServedModel, VllmAgentModel, VllmModelError, VllmProfile


def body(content: bytes, status: int = 200) -> Reply:
    return Reply([content], status=status, headers=JSON)


@pytest.mark.parametrize(
    ("folder", "models"),
    [
        ("tiny-random", (ServedModel("tiny", 2048),)),
        ("llama-cpp-qwen-coder-0.5b", (ServedModel("qwen", 4096),)),
    ],
)
async def test_the_models_of_a_server_are_listed(
    server: ModelServer, model: VllmAgentModel, folder: str, models: tuple[ServedModel, ...]
) -> None:
    server.reply(body((CAPTURES / folder / "models.response.json").read_bytes()))

    assert await model.list_models() == models
    assert (server.requests[0].method, server.requests[0].path) == ("GET", "/v1/models")


async def test_a_server_is_well_by_its_health_route_or_its_models(
    server: ModelServer, model: VllmAgentModel
) -> None:
    server.reply(body(b""))
    await model.check_health()
    server.reply(body(b"{}", 404), body(b'{"data":[]}'))
    await model.check_health("default")

    assert [item.path for item in server.requests] == ["/health", "/health", "/v1/models"]


@pytest.mark.parametrize(("status", "code"), [(503, "unavailable"), (401, "authentication")])
async def test_a_server_that_is_not_well_says_why(
    server: ModelServer, model: VllmAgentModel, status: int, code: str
) -> None:
    server.reply(body(b'{"error":"loading"}', status))

    with pytest.raises(VllmModelError, match="loading") as raised:
        await model.check_health()

    assert raised.value.error_code == f"agent.model.{code}"


async def test_tokens_are_counted_by_the_server(server: ModelServer, model: VllmAgentModel) -> None:
    server.reply(body(b'{"count": 12, "max_model_len": 2048, "tokens": [1, 2]}'))

    assert await model.count_tokens(ask("hi", tools=["file.read"])) == 12

    sent = server.requests[0].json
    assert server.requests[0].path == "/tokenize"
    assert set(sent) == {"model", "messages", "tools"}
    await model.count_tokens(ask("hi", selection=ModelSelection(model="other")))
    assert server.requests[1].json == {
        "model": "other",
        "messages": [{"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize("content", [b"<html>", b"{}", b'{"data": 7}', b"[" * 100_000])
async def test_an_answer_of_another_shape_is_a_protocol_error(
    server: ModelServer, model: VllmAgentModel, content: bytes
) -> None:
    server.reply(body(content))

    with pytest.raises(VllmModelError, match="something else") as raised:
        await model.list_models()

    assert raised.value.error_code == "agent.model.protocol"


async def test_a_question_is_bounded_in_time(server: ModelServer) -> None:
    gate = asyncio.Event()
    profile = VllmProfile.model_validate(
        {"base_url": server.base_url, "model": "m", "timeouts": {"total_seconds": 0.1}}
    )
    model = VllmAgentModel(profiles={"default": profile})
    server.reply(Reply([], before=gate.wait))

    async with asyncio.timeout(5):
        with pytest.raises(VllmModelError, match=r"Waited 0\.1 s"):
            await model.check_health()
    gate.set()
    await model.aclose()


async def test_a_server_that_is_not_there_cannot_be_asked() -> None:
    probe = ModelServer()
    await probe.start()
    model = VllmAgentModel(base_url=probe.base_url, model="m")
    await probe.stop()

    with pytest.raises(VllmModelError) as raised:
        await model.list_models()
    await model.aclose()

    assert raised.value.error_code == "agent.model.unavailable"


async def test_query_parameters_and_another_key_header_are_sent(server: ModelServer) -> None:
    profile = VllmProfile.model_validate(
        {
            "base_url": f"{server.base_url.removesuffix('/v1')}/openai/deployments/d",
            "model": "m",
            "api_key": "k-123",
            "query": {"api-version": "2026-01-01"},
            "dialect": {"api_key_header": "api-key"},
        }
    )
    model = VllmAgentModel(profiles={"default": profile})
    server.reply(body(b'{"data":[]}'))

    assert await model.list_models() == ()

    assert server.requests[0].path == "/openai/deployments/d/models?api-version=2026-01-01"
    assert server.requests[0].headers["api-key"] == "k-123"
    assert "authorization" not in server.requests[0].headers
    await model.aclose()


async def test_credentials_of_the_address_are_sent_as_basic_authentication(
    server: ModelServer,
) -> None:
    address = server.base_url.replace("http://", "http://user:pass@")
    model = VllmAgentModel(base_url=address, model="m")
    server.reply(body(b'{"data":[]}'))

    await model.list_models()

    assert server.requests[0].headers["authorization"] == "Basic dXNlcjpwYXNz"
    await model.aclose()
