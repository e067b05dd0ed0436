"""Payloads become calls by the rules of the signature, or nothing is called."""

import gc
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, cast

import pytest

from spakky.agent.declare.binding import (
    AgentToolBoundInvocation,
    ForeignBinder,
    SignatureBinder,
    bind_agent_tool_invocation,
    guess_receiver,
)
from spakky.agent.declare.runtime_context import AgentToolRuntimeContext
from spakky.agent.declare.signature import SignatureSource, ToolReceiver
from spakky.agent.error import AgentDefinitionError, AgentToolBindingError
from spakky.agent.guards.sensitive import SecretField
from spakky.agent.json_value import JsonObject, JsonValue


@dataclass
class Pt:
    x: int
    y: int = 0


def search(query: str, limit: int = 10, *, exact: bool = False) -> str:
    return f"{query}{limit}{exact}"


def move(p: Pt, ps: list[Pt], o: Pt | None = None) -> str:
    return f"{p}{ps}{o}"


def odd(
    title: str,
    properties: dict[str, int],
    *,
    type: str = "a",  # noqa: A002  # the point of the test
    default: int | None = None,
) -> str:
    return f"{title}{properties}{type}{default}"


def scalars(flag: bool = False, n: int = 0, x: float = 0.0) -> str:
    return f"{flag}{n}{x}"


def wants_args(args: list[str], kwargs: dict[str, str]) -> str:
    return f"{args}{kwargs}"


def injected(a: int, context: AgentToolRuntimeContext, b: int = 2) -> str:
    return f"{a}{context}{b}"


@pytest.mark.requirement("TOOL-13", "TOOL-14")
@pytest.mark.parametrize(
    "payload",
    [
        {"query": "agent", "limit": 5},
        {"args": ["agent"], "kwargs": {"limit": 5}},
        {"args": ["agent", 5]},
        {"kwargs": {"query": "agent", "limit": 5}},
    ],
)
def test_both_payload_forms_bind_to_the_same_call(payload: JsonObject) -> None:
    bound = bind_agent_tool_invocation(search, payload)

    assert bound == AgentToolBoundInvocation(("agent", 5), {"exact": False})
    # cast: the arguments are those of any function, which the checker cannot know.
    call = cast("Callable[..., str]", search)
    assert call(*bound.args, **bound.kwargs) == "agent5False"


@pytest.mark.requirement("TOOL-15")
def test_defaults_are_filled_in() -> None:
    bound = bind_agent_tool_invocation(search, {"query": "a"})

    assert bound.args == ("a", 10)
    assert bound.kwargs == {"exact": False}


BAD_PAYLOADS: list[tuple[Callable[..., object], object, str]] = [
    (search, {}, 'missing "query"'),
    (search, {"query": "a", "lim": 1}, 'unknown "lim" (allowed: "query", "limit", "exact")'),
    (search, {"args": ["a"], "kwargs": {"query": "b"}}, "both by position and by name: query"),
    (search, {"args": ["a", 1, True]}, "at most 2 arguments by position, got 3"),
    (search, {"args": "a"}, 'missing "query"; unknown "args"'),
    (search, {"kwargs": []}, 'unknown "kwargs"'),
    (search, {"args": [1]}, "arguments.query: expected a string, got an integer"),
    (search, {"query": "a", "args": []}, 'unknown "args"'),
    (search, {"query": "a", "limit": "secret"}, "arguments.limit: expected an integer, got a str"),
    (search, ["a"], "expected an object, got an array"),
    (search, {1: 2}, "keys are all strings"),
    (move, {"p": {"x": 1, "z": 9}, "ps": []}, 'arguments.p: unknown "z"'),
    (move, {"p": {"x": "one"}, "ps": []}, "arguments.p.x: expected an integer, got a string"),
    (move, {"p": {"x": 1}, "ps": [{"y": 1}]}, 'arguments.ps[0]: missing "x"'),
    (scalars, {"flag": "false"}, "arguments.flag: expected a boolean, got a string"),
    (scalars, {"n": True}, "expected an integer, got a boolean"),
    (scalars, {"n": 3.5}, "expected an integer, got a number"),
    (scalars, {"n": "abc"}, "expected an integer, got a string"),
    (scalars, {"n": "1e1000000000"}, "expected an integer, got a string"),
    (wants_args, {"args": ["a"], "kwargs": {"k": 1}}, "arguments.kwargs.k: expected a string"),
    (injected, {"a": 1, "context": {}}, 'unknown "context" (allowed: "a", "b")'),
]


@pytest.mark.requirement("TOOL-15", "TOOL-16", "TOOL-17")
@pytest.mark.parametrize(("function", "payload", "says"), BAD_PAYLOADS)
def test_a_payload_that_does_not_fit_is_refused_without_telling_its_values(
    function: Callable[..., object], payload: JsonObject, says: str
) -> None:
    with pytest.raises(AgentToolBindingError) as caught:
        bind_agent_tool_invocation(function, payload)

    assert says in str(caught.value)
    assert function.__name__ in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.requirement("TOOL-17")
def test_dataclasses_arrive_as_dataclasses() -> None:
    bound = bind_agent_tool_invocation(move, {"p": {"x": 1}, "ps": [{"x": 2, "y": 3}]})

    assert bound.args == (Pt(1, 0), [Pt(2, 3)], None)


@pytest.mark.requirement("TOOL-17")
@pytest.mark.parametrize(
    ("payload", "values"),
    [
        ({}, (False, 0, 0.0)),
        ({"n": 3.0, "x": 3}, (False, 3, 3.0)),
        ({"flag": True, "x": 1.5}, (True, 0, 1.5)),
    ],
)
def test_scalars_keep_their_types(payload: JsonObject, values: tuple[object, ...]) -> None:
    bound = bind_agent_tool_invocation(scalars, payload)

    assert bound.args == values
    assert [type(value) for value in bound.args] == [bool, int, float]


def test_parameters_may_have_the_names_of_schema_keywords() -> None:
    bound = bind_agent_tool_invocation(odd, {"title": "t", "properties": {"k": 1}})

    assert bound == AgentToolBoundInvocation(("t", {"k": 1}), {"type": "a", "default": None})


@pytest.mark.requirement("TOOL-14")
def test_a_tool_with_parameters_named_args_takes_them_by_name() -> None:
    bound = bind_agent_tool_invocation(wants_args, {"args": ["a"], "kwargs": {"k": "v"}})

    assert bound.args == (["a"], {"k": "v"})


def test_parameters_behind_an_injected_one_go_by_name() -> None:
    bound = bind_agent_tool_invocation(injected, {"args": [1, 3]})

    assert bound == AgentToolBoundInvocation((1,), {"b": 3})


def test_a_nested_value_without_end_is_refused() -> None:
    def takes_any(value: JsonValue) -> str:
        return str(value)

    endless: dict[str, JsonValue] = {}
    endless["a"] = endless

    with pytest.raises(AgentToolBindingError, match="nested too deeply"):
        bind_agent_tool_invocation(takes_any, {"value": endless})


def test_bound_arguments_are_not_shown() -> None:
    bound = bind_agent_tool_invocation(search, {"query": "secret"})

    assert repr(bound) == "AgentToolBoundInvocation()"


class Owner:
    def method(self, a: int) -> int:
        return a

    @classmethod
    def by_class(cls, a: int) -> int:
        return a

    @staticmethod
    def static(a: int) -> int:
        return a


@pytest.mark.parametrize(
    ("function", "receiver"),
    [
        (Owner.method, ToolReceiver.INSTANCE),
        (Owner().method, ToolReceiver.NONE),
        (Owner.by_class, ToolReceiver.NONE),
        (vars(Owner)["by_class"].__func__, ToolReceiver.CLASS),
        (Owner.static, ToolReceiver.NONE),
        (lambda: None, ToolReceiver.NONE),
    ],
)
def test_the_receiver_is_told_from_the_first_name(
    function: Callable[..., object], receiver: ToolReceiver
) -> None:
    assert guess_receiver(function) is receiver


@pytest.mark.parametrize("function", [Owner.method, Owner().method, Owner.by_class, Owner.static])
def test_methods_bind_without_their_receiver(function: Callable[..., object]) -> None:
    assert bind_agent_tool_invocation(function, {"a": 1}).args == (1,)


def test_a_binder_does_not_keep_its_function_alive() -> None:
    def temporary(a: int) -> int:
        return a

    bind_agent_tool_invocation(temporary, {"a": 1})
    watch = weakref.ref(temporary)
    del temporary
    gc.collect()

    assert watch() is None


def test_a_signature_that_cannot_be_shown_is_refused_each_time() -> None:
    def bad(a: set[int]) -> int:
        return len(a)

    for _ in range(2):
        with pytest.raises(AgentDefinitionError):
            bind_agent_tool_invocation(bad, {"a": []})


def test_flattening_names_positions_and_refuses_strangers() -> None:
    def tool(a: Annotated[str, SecretField()], b: int = 0) -> str:
        return f"{a}{b}"

    binder = SignatureBinder(SignatureSource(tool, ToolReceiver.NONE), "tool")

    assert binder.flatten({"args": ["x"]}) == {"a": "x"}
    with pytest.raises(AgentToolBindingError, match='unknown "z"'):
        binder.flatten({"z": 1})


FOREIGN: JsonObject = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "args": {"type": "array"}},
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (FOREIGN, {"path": 3}),
        (FOREIGN, {"path": "a", "args": ["x"]}),
        ({**FOREIGN, "additionalProperties": True}, {"path": "a", "more": 1}),
        ({**FOREIGN, "additionalProperties": {"type": "string"}}, {"path": "a", "more": 1}),
        ({**FOREIGN, "patternProperties": {"^x-": {}}}, {"path": "a", "x-more": 1}),
        ({"type": "object"}, {"anything": 1}),
        ({}, {}),
    ],
)
def test_a_foreign_tool_takes_its_arguments_by_name(
    schema: JsonObject, payload: Mapping[str, JsonValue]
) -> None:
    binder = ForeignBinder(schema, "read")
    binder.resolve()

    assert binder.bind(payload) == AgentToolBoundInvocation((), payload)
    assert binder.injected() == ()


@pytest.mark.parametrize(
    ("schema", "payload", "says"),
    [
        (FOREIGN, {}, 'missing "path"'),
        (FOREIGN, {"path": "a", "more": 1}, 'unknown "more" (allowed: "path", "args")'),
        ({"properties": {}}, {"a": 1}, "no keys are allowed"),
        ({**FOREIGN, "additionalProperties": True}, {"more": 1}, 'missing "path"'),
        (FOREIGN, ["a"], "expected an object, got an array"),
    ],
)
def test_a_foreign_tool_refuses_missing_and_unknown_names(
    schema: JsonObject, payload: JsonObject, says: str
) -> None:
    with pytest.raises(AgentToolBindingError) as caught:
        ForeignBinder(schema, "read").bind(payload)

    assert says in str(caught.value)


def test_flattening_a_foreign_call_asks_for_no_required_name() -> None:
    assert ForeignBinder(FOREIGN, "read").flatten({}) == {}
