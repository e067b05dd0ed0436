"""The body of a request."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import DONE, ask, call, call_part, finish, listen

from spakky.agent.contracts.model_message import ModelMessage, ModelToolCall
from spakky.agent.contracts.model_message import ModelMessageRole as Role
from spakky.agent.contracts.model_request import (
    JsonSchemaConstraint,
    ModelRequest,
    ModelSelection,
    ModelToolChoice,
    ModelToolSpec,
    SamplingOptions,
    StreamingOptions,
    StructuredOutputSpec,
    ToolCallingSpec,
)
from spakky.agent.json_value import JsonValue
from spakky.plugins.vllm import VllmAgentModel, VllmModelError, VllmProfile
from spakky.plugins.vllm.request_body import prepare_request
from spakky.plugins.vllm.router import Route

OPEN_SCHEMA: dict[str, JsonValue] = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED_SCHEMA: dict[str, JsonValue] = {
    **OPEN_SCHEMA,
    "required": ["a"],
    "additionalProperties": False,
}


# A body is any JSON, and these tests look into it by name.
def write(
    request: ModelRequest, *, streamed: bool = True, model: str = "m", **fields: object
) -> Any:
    profile = VllmProfile.model_validate({"model": "m", **fields})
    prepared = prepare_request(request, Route("default", profile, model), streamed=streamed)
    return json.loads(prepared.body)


def with_tools(
    *tools: ModelToolSpec, choice: ModelToolChoice = ModelToolChoice.AUTO
) -> ModelRequest:
    message = ModelMessage(Role.USER, "hi")
    return ModelRequest(messages=(message,), tool_calling=ToolCallingSpec(tools, choice))


@pytest.mark.requirement("MODEL-7", "VLLM-2")
def test_the_smallest_request_makes_the_smallest_body() -> None:
    assert write(ask("hi"), streamed=False) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": False,
    }


@pytest.mark.requirement("VLLM-2", "MODEL-12")
def test_a_stream_asks_for_the_counts_unless_nobody_wants_them() -> None:
    assert write(ask())["stream_options"] == {"include_usage": True}
    assert "stream_options" not in write(ask(), dialect={"stream_usage": False})
    silent = ModelRequest(messages=ask().messages, streaming=StreamingOptions(include_usage=False))
    assert "stream_options" not in write(silent)


@pytest.mark.parametrize("choice", list(ModelToolChoice))
@pytest.mark.requirement("VLLM-2", "TOOL-24")
def test_tools_are_offered_with_their_schema_and_the_choice(choice: ModelToolChoice) -> None:
    tool = ModelToolSpec("file.read", JsonSchemaConstraint(OPEN_SCHEMA), "Reads a file.")

    body = write(with_tools(tool, choice=choice))

    assert body["tool_choice"] == choice.value
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "file_read",
                "description": "Reads a file.",
                "parameters": OPEN_SCHEMA,
            },
        }
    ]


def test_no_tools_are_no_field_at_all() -> None:
    body = write(with_tools(), options={"parallel_tool_calls": False})

    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)


def test_strict_is_claimed_only_where_it_holds_and_is_wanted() -> None:
    """OP-B06."""
    tools = (
        ModelToolSpec("closed", JsonSchemaConstraint(CLOSED_SCHEMA)),
        ModelToolSpec("open", JsonSchemaConstraint(OPEN_SCHEMA)),
        ModelToolSpec("loose", JsonSchemaConstraint(CLOSED_SCHEMA, strict=False)),
    )

    claims = [item["function"].get("strict") for item in write(with_tools(*tools))["tools"]]
    assert claims == [True, None, None]
    silent = write(with_tools(*tools), dialect={"strict_tools": False})
    assert all("strict" not in item["function"] for item in silent["tools"])


@pytest.mark.requirement("VLLM-4")
async def test_wire_names_fit_strict_servers_and_events_show_declared_ones(
    server: ModelServer, model: VllmAgentModel
) -> None:
    """OP-A12."""
    long = "n" * 89
    declared = ["workspace.read", "workspace_read", f"{long}a", f"{long}b"]
    server.reply(Reply([finish("stop"), DONE]))
    await listen(model, ask(tools=declared))
    sent: Any = server.requests[0].json
    wire = [item["function"]["name"] for item in sent["tools"]]

    assert len(set(wire)) == 4
    assert all(len(name) <= 64 and name.replace("_", "a").isalnum() for name in wire)
    for name, wire_name in zip(declared, wire, strict=True):
        part = call_part(0, id="c", name=wire_name, arguments="{}")
        server.reply(Reply([call(part), finish("tool_calls"), DONE]))
        heard = await listen(model, ask(tools=declared))
        assert heard.calls == [(name, {}, "c")]
        assert heard.events[0].tool_call is not None
        assert heard.events[0].tool_call.name == name
    history = (
        ModelMessage(Role.ASSISTANT, "", tool_calls=(ModelToolCall("workspace.read", {}, "c"),)),
        ModelMessage(Role.TOOL, "x", tool_call_id="c"),
    )
    request = ask(tools=declared)
    replayed = ModelRequest(
        messages=(*request.messages, *history), tool_calling=request.tool_calling
    )
    assert write(replayed)["messages"][1]["tool_calls"][0]["function"]["name"] == wire[0]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            "json_schema",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "My_Type_", "schema": CLOSED_SCHEMA, "strict": True},
                }
            },
        ),
        ("json_object", {"response_format": {"type": "json_object"}}),
        ("structured_outputs", {"structured_outputs": {"json": CLOSED_SCHEMA}}),
        ("guided_json", {"guided_json": CLOSED_SCHEMA}),
        ("none", {}),
    ],
)
@pytest.mark.requirement("VLLM-3")
def test_the_schema_of_the_answer_is_told_as_the_server_takes_it(
    form: str, expected: object
) -> None:
    spec = StructuredOutputSpec(JsonSchemaConstraint(CLOSED_SCHEMA), "My.Type!")
    request = ModelRequest(messages=ask().messages, structured_output=spec)

    body = write(request, dialect={"structured_output": form})

    told = {"response_format", "structured_outputs", "guided_json"}
    assert {name: body[name] for name in told & set(body)} == expected


def test_a_schema_that_is_not_closed_is_not_sent_as_strict() -> None:
    schema = write(ask(schema=OPEN_SCHEMA))["response_format"]["json_schema"]

    assert schema == {"name": "output", "schema": OPEN_SCHEMA, "strict": False}


@pytest.mark.requirement("VLLM-2")
def test_the_request_comes_before_the_selection_and_both_before_the_profile() -> None:
    selection = ModelSelection(
        metadata={"options": {"top_p": 0.2, "seed": 2, "stop": ["x"]}, "other": 1}
    )
    request = ModelRequest(
        messages=ask().messages, sampling=SamplingOptions(0.1), model_selection=selection
    )

    body = write(
        request,
        options={
            "temperature": 0.9,
            "top_p": 0.9,
            "seed": 1,
            "max_tokens": 5,
            "reasoning_effort": "low",
        },
        extra_body={"top_k": 3, "seed": 0},
        dialect={"max_tokens_field": "max_completion_tokens"},
    )

    told = {name: body[name] for name in ("temperature", "top_p", "seed", "stop", "top_k")}
    assert told == {"temperature": 0.1, "top_p": 0.2, "seed": 2, "stop": ["x"], "top_k": 3}
    assert body["max_completion_tokens"] == 5
    assert body["reasoning_effort"] == "low"
    assert "max_tokens" not in body


@pytest.mark.parametrize("options", [{"seeed": 1}, {"top_p": 7}, [1], "x"])
@pytest.mark.requirement("VLLM-7")
async def test_a_wrong_option_of_a_selection_is_a_typed_error(
    model: VllmAgentModel, options: Any
) -> None:
    heard = await listen(model, ask(selection=ModelSelection(metadata={"options": options})))

    assert heard.code == "agent.model.selection"
    assert "reasoning_effort" in heard.errors[0].message


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert write(ask("a\ud83dz"))["messages"][0]["content"] == "a\ufffdz"


def test_read_only_mappings_are_written_as_objects() -> None:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": MappingProxyType({"a": MappingProxyType({})}),
    }
    tool = ModelToolSpec("t", JsonSchemaConstraint(schema))

    body = write(with_tools(tool))

    assert body["tools"][0]["function"]["parameters"]["properties"] == {"a": {}}


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["x"] = value
    return value


@pytest.mark.parametrize(
    "value", [object(), float("nan"), endless()], ids=["object", "nan", "endless"]
)
async def test_what_is_not_json_is_a_typed_error(model: VllmAgentModel, value: Any) -> None:
    message = ModelMessage(Role.ASSISTANT, "", tool_calls=(ModelToolCall("t", {"x": value}),))

    with pytest.raises(VllmModelError, match="cannot be written as JSON") as raised:
        await model.complete(ModelRequest(messages=(message,)))

    assert raised.value.error_code == "agent.model.invalid_request"


@pytest.mark.requirement("VLLM-7", "MODEL-5")
def test_the_model_on_the_wire_is_that_of_the_route() -> None:
    assert write(ask(), model="other")["model"] == "other"


@pytest.mark.requirement("VLLM-3")
async def test_a_structured_answer_is_decoded_and_another_is_left_as_text(
    server: ModelServer, model: VllmAgentModel
) -> None:
    def answer(content: str, reason: str = "stop") -> Reply:
        choice = {"message": {"content": content}, "finish_reason": reason}
        return Reply([json.dumps({"choices": [choice]}).encode()], headers=JSON)

    request = ask(schema=CLOSED_SCHEMA)
    server.reply(answer('{"a": "b"}'))
    assert (await model.complete(request)).structured_output == {"a": "b"}
    for other in (answer("no JSON"), answer('{"a": "b"}', "length")):
        server.reply(other)
        assert (await model.complete(request)).structured_output is None
    server.reply(answer('{"a": "b"}'))
    plain = await model.complete(ask())
    assert (plain.content, plain.structured_output) == ('{"a": "b"}', None)
