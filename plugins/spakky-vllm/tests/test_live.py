"""A real server, when ``SPAKKY_VLLM_TEST_BASE_URL`` names one; see the README for how to start it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from vllm_wire import listen

from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.model_message import ModelMessageRole as Role
from spakky.agent.contracts.model_request import (
    JsonSchemaConstraint,
    ModelRequest,
    ModelSelection,
    ModelToolChoice,
    ModelToolSpec,
    SamplingOptions,
    StructuredOutputSpec,
    ToolCallingSpec,
)
from spakky.agent.contracts.model_stream import ModelStreamEventKind as Kind
from spakky.agent.json_value import JsonValue
from spakky.plugins.vllm import VllmAgentModel

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Seoul", "Busan"]}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.fixture
async def live() -> AsyncIterator[VllmAgentModel]:
    """A model at the live server; its name is the first one that the server lists unless a variable says another."""
    base_url = os.environ["SPAKKY_VLLM_TEST_BASE_URL"]
    key = os.environ.get("SPAKKY_VLLM_TEST_API_KEY")
    probe = VllmAgentModel(base_url=base_url, model="unknown", api_key=key)
    name = os.environ.get("SPAKKY_VLLM_TEST_MODEL") or (await probe.list_models())[0].name
    await probe.aclose()
    asking = VllmAgentModel(base_url=base_url, model=name, api_key=key)
    yield asking
    await asking.aclose()


def request(**fields: object) -> ModelRequest:
    message = ModelMessage(Role.USER, "What is the weather in Seoul?")
    sampling = SamplingOptions(temperature=0, max_tokens=96)
    # mypy cannot see through the table of fields
    return ModelRequest(messages=(message,), sampling=sampling, **fields)  # type: ignore[arg-type]  # the same


@pytest.mark.requirement("VLLM-2", "VLLM-3")
async def test_live_text_is_streamed_with_its_counts(live: VllmAgentModel) -> None:
    await live.check_health()
    heard = await listen(live, request())

    assert heard.errors == []
    assert heard.usage is not None
    assert (heard.usage.output_tokens or 0) > 0


@pytest.mark.requirement("VLLM-3", "VLLM-4")
async def test_live_forced_call_has_its_declared_name(live: VllmAgentModel) -> None:
    tool = ModelToolSpec("weather.get", JsonSchemaConstraint(SCHEMA), "The weather of a city.")
    spec = ToolCallingSpec((tool,), ModelToolChoice.REQUIRED)
    heard = await listen(live, request(tool_calling=spec))

    assert heard.code in {None, "agent.model.truncated"}
    assert all(call[0] == "weather.get" for call in heard.calls)


@pytest.mark.requirement("VLLM-3")
async def test_live_schema_is_kept(live: VllmAgentModel) -> None:
    spec = StructuredOutputSpec(JsonSchemaConstraint(SCHEMA))
    answer = await live.complete(request(structured_output=spec))

    if answer.metadata["finish_reason"] != "length":
        assert answer.structured_output in ({"city": "Seoul"}, {"city": "Busan"})


@pytest.mark.requirement("VLLM-6")
async def test_live_errors_are_typed(live: VllmAgentModel) -> None:
    wrong = ModelSelection(metadata={"options": {"temperature": 1e9}})
    unknown = ModelSelection(model="no-such-model")

    for selection in (wrong, unknown):
        heard = await listen(live, request(model_selection=selection))
        assert heard.kinds[-1] in {Kind.ERROR, Kind.DONE}
        assert heard.code in {None, "agent.model.not_found", "agent.model.invalid_request"}


@pytest.mark.requirement("VLLM-6")
async def test_live_stream_can_be_left(live: VllmAgentModel) -> None:
    async with asyncio.timeout(60), aclosing(live.stream(request())) as events:
        async for item in events:
            assert item.error is None
            break

    assert (await listen(live, request())).errors == []
