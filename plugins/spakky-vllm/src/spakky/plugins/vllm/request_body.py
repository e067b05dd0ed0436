"""A request as the body that is sent: pure, from our values to bytes.

What the body holds comes, from weak to strong, from the profile's ``extra_body``, the profile's ``options``, the options of the
run's selection (``ModelSelection.metadata["options"]``, the same names as in the profile), and the request itself.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import assert_never

import msgspec
from pydantic import ValidationError

from spakky.agent.contracts.model_request import (
    ModelRequest,
    ModelSelection,
    ModelToolSpec,
    StructuredOutputSpec,
)
from spakky.agent.json_value import JsonObject
from spakky.plugins.vllm.endpoint_profile import (
    StructuredOutputForm,
    VllmDialect,
    VllmOptions,
)
from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError
from spakky.plugins.vllm.messages import (
    WireObject,
    dump_json,
    find_call_names,
    to_plain,
    to_wire_messages,
)
from spakky.plugins.vllm.router import Route
from spakky.plugins.vllm.strict_schema import is_strict_schema
from spakky.plugins.vllm.tool_names import MAX_WIRE_NAME, ToolNameMap

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_ENCODER = msgspec.json.Encoder(enc_hook=to_plain)
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """What is sent, and what reading the answer needs to know.

    Attributes:
        body: The JSON text in UTF-8.
        names: The tool names of this request.
        structured: Whether the answer's text is to be one JSON value.
    """

    body: bytes
    names: ToolNameMap
    structured: bool


def prepare_request(request: ModelRequest, route: Route, *, streamed: bool) -> PreparedRequest:
    """Write the body of a chat completion.

    Args:
        request: What is asked.
        route: Whom.
        streamed: Whether the answer is to come as a stream.

    Raises:
        VllmModelError: An option of the selection is unknown or wrong, or a value cannot be written as JSON.
    """
    structured = request.structured_output is not None
    with _json_faults(route):
        names = _map_names(request)
        body = _write_body(request, route, names)
        body["stream"] = streamed
        if streamed and route.profile.dialect.stream_usage and request.streaming.include_usage:
            body["stream_options"] = {"include_usage": True}
        return PreparedRequest(_encode(body), names, structured)


def prepare_token_count(request: ModelRequest, route: Route) -> bytes:
    """Write the body that asks a vLLM server how many tokens a request has.

    Raises:
        VllmModelError: A value cannot be written as JSON.
    """
    with _json_faults(route):
        names = _map_names(request)
        return _encode({"model": route.model, **_write_dialogue(request, route, names)})


@contextmanager
def _json_faults(route: Route) -> Iterator[None]:
    """Turn what the encoders raise into the typed error."""
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        raise route.to_target().fault(
            ModelErrorCode.INVALID_REQUEST,
            f"The request cannot be written as JSON ({type(error).__name__})",
            "Give only JSON values in messages, schemas and arguments.",
        ) from None


def _map_names(request: ModelRequest) -> ToolNameMap:
    tools = request.tool_calling.tools if request.tool_calling is not None else ()
    return ToolNameMap((tool.name for tool in tools), find_call_names(request.messages))


def _write_body(request: ModelRequest, route: Route, names: ToolNameMap) -> WireObject:
    body: WireObject = dict(route.profile.extra_body)
    body |= _write_options(request, route)
    body["model"] = route.model
    body |= _write_dialogue(request, route, names)
    if request.tool_calling is not None and "tools" in body:
        body["tool_choice"] = request.tool_calling.choice.value
    else:
        body.pop("parallel_tool_calls", None)
    if request.structured_output is not None:
        body |= _write_structured_output(request.structured_output, route.profile.dialect)
    return body


def _write_dialogue(request: ModelRequest, route: Route, names: ToolNameMap) -> WireObject:
    """Give the messages, and the tools where there are any: servers refuse an empty list of tools."""
    dialect = route.profile.dialect
    messages = to_wire_messages(request.assemble_messages(), names, dialect.system_role.value)
    written: WireObject = {"messages": messages}
    tools = request.tool_calling.tools if request.tool_calling is not None else ()
    if tools:
        written["tools"] = [_write_tool(tool, names, dialect) for tool in tools]
    return written


def _write_options(request: ModelRequest, route: Route) -> WireObject:
    profile = route.profile
    sampling = request.sampling
    layers = (
        profile.options,
        read_selected_options(request.model_selection),
        VllmOptions(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
        ),
    )
    options: WireObject = {}
    for layer in layers:
        options |= layer.model_dump(mode="json", exclude_none=True)
    if "max_tokens" in options:
        options[profile.dialect.max_tokens_field.value] = options.pop("max_tokens")
    return options


def read_selected_options(selection: ModelSelection | None) -> VllmOptions:
    """Give the options that a run's selection asks for.

    Raises:
        VllmModelError: ``metadata["options"]`` is no object, or an option is unknown or outside its range.
    """
    asked = selection.metadata.get("options") if selection is not None else None
    if asked is None:
        return VllmOptions()
    known = ", ".join(VllmOptions.model_fields)
    if not isinstance(asked, Mapping):
        message = f'ModelSelection.metadata["options"] must be an object with any of: {known}.'
        raise VllmModelError(message, code=ModelErrorCode.SELECTION)
    try:
        return VllmOptions.model_validate(dict(asked))
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
            for detail in error.errors(
                include_url=False, include_context=False, include_input=False
            )
        )
        message = f'ModelSelection.metadata["options"] is wrong: {wrong}. Known are: {known}.'
        raise VllmModelError(message, code=ModelErrorCode.SELECTION) from None


def _write_tool(tool: ModelToolSpec, names: ToolNameMap, dialect: VllmDialect) -> WireObject:
    function: WireObject = {"name": names.to_wire(tool.name)}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.parameters.schema
    if dialect.strict_tools and tool.parameters.strict and is_strict_schema(tool.parameters.schema):
        function["strict"] = True
    return {"type": "function", "function": function}


def _write_structured_output(spec: StructuredOutputSpec, dialect: VllmDialect) -> WireObject:
    schema = spec.constraint.schema
    match dialect.structured_output:
        case StructuredOutputForm.JSON_SCHEMA:
            return {"response_format": {"type": "json_schema", "json_schema": _write_schema(spec)}}
        case StructuredOutputForm.JSON_OBJECT:
            return {"response_format": {"type": "json_object"}}
        case StructuredOutputForm.STRUCTURED_OUTPUTS:
            return {"structured_outputs": {"json": schema}}
        case StructuredOutputForm.GUIDED_JSON:
            return {"guided_json": schema}
        case StructuredOutputForm.NONE:
            return {}
        case _:
            assert_never(dialect.structured_output)


def _write_schema(spec: StructuredOutputSpec) -> JsonObject:
    name = _FOREIGN.sub("_", spec.output_type_name or "output")[:MAX_WIRE_NAME]
    strict = spec.constraint.strict and is_strict_schema(spec.constraint.schema)
    return {"name": name, "schema": spec.constraint.schema, "strict": strict}


def _encode(body: WireObject) -> bytes:
    try:
        return _ENCODER.encode(body)
    except UnicodeEncodeError:
        # Half of a surrogate pair is no text in UTF-8; what a tool read from a file may hold one.
        return _SURROGATES.sub("\ufffd", dump_json(body)).encode()
