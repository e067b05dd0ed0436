"""Postponed hints: every annotation of this module is a text when the class is defined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NotRequired, TypedDict

import pytest

from spakky.agent.declare.binding import bind_agent_tool_invocation
from spakky.agent.declare.catalog import AgentToolCatalog, discover_agent_tools
from spakky.agent.declare.hints import UnresolvedHintError
from spakky.agent.declare.schema import DeferredToolSchemaHandle, schema_for_type
from spakky.agent.declare.signature import ToolReceiver, read_signature
from spakky.agent.declare.tool import agent_tool
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.sensitive import SecretField


@dataclass
class Cfg:
    n: int
    name: str = "x"


class Worker:
    @agent_tool()
    def f(self, cfg: Cfg, later: Later, note: str | None = None) -> str:
        return f"{cfg} {later} {note}"

    @agent_tool()
    def token(self, holder: Holder) -> str:
        return holder.value


EARLY_CATALOG = discover_agent_tools(Worker)
"""Made while ``Later`` does not exist, as a decorator of the class would."""


class Broken:
    @agent_tool()
    def f(self, ghost: Ghost) -> str:  # type: ignore[name-defined]  # noqa: F821  # the point of the test
        return str(ghost)


@dataclass
class Later:
    k: int


@dataclass
class Holder:
    value: Annotated[str, SecretField()]


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


class Row(TypedDict):
    a: int
    b: NotRequired[str]


def _f(catalog: AgentToolCatalog) -> dict[str, object]:
    return dict(catalog.by_schema_name("f").schema.input_schema)


EXPECTED = {
    "type": "object",
    "properties": {
        "cfg": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["n"],
            "additionalProperties": False,
        },
        "later": {
            "type": "object",
            "properties": {"k": {"type": "integer"}},
            "required": ["k"],
            "additionalProperties": False,
        },
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["cfg", "later"],
    "additionalProperties": False,
}


@pytest.mark.requirement("SCHEMA-9")
def test_a_class_defined_further_down_is_found_when_the_schema_is_looked_at() -> None:
    schema = EARLY_CATALOG.by_schema_name("f").schema

    assert isinstance(schema, DeferredToolSchemaHandle)
    assert repr(schema) == "DeferredToolSchemaHandle(name='f')"
    assert _f(EARLY_CATALOG) == EXPECTED
    assert _f(discover_agent_tools(Worker)) == EXPECTED
    assert not hasattr(schema, "no_such_field")


@pytest.mark.requirement("SCHEMA-9")
def test_validating_the_catalog_reads_what_had_to_wait() -> None:
    EARLY_CATALOG.validate()

    bound = EARLY_CATALOG.by_schema_name("f").bind_invocation({"cfg": {"n": 1}, "later": {"k": 2}})
    assert bound.args == (Cfg(1), Later(2), None)


@pytest.mark.requirement("SCHEMA-5", "SCHEMA-9")
def test_sensitive_fields_of_a_late_class_are_not_lost() -> None:
    (descriptor,) = EARLY_CATALOG.by_schema_name("token").schema.input_sensitive_fields

    assert descriptor.path == ("holder", "value")


@pytest.mark.requirement("SCHEMA-9", "SPEC-18")
def test_a_name_that_never_appears_is_an_error_that_names_the_parameter() -> None:
    catalog = discover_agent_tools(Broken)

    with pytest.raises(AgentDefinitionError, match=r"parameter 'ghost' of .*Broken\.f.*'Ghost'"):
        catalog.validate()
    with pytest.raises(UnresolvedHintError):
        _ = catalog.by_schema_name("f").schema.input_schema
    with pytest.raises(UnresolvedHintError):
        catalog.by_schema_name("f").bind_invocation({})


def test_texts_are_resolved_in_classes_that_refer_to_themselves() -> None:
    schema = schema_for_type(Node)

    assert schema["$ref"] == "#/$defs/Node"


def test_qualifiers_written_as_text_decide_what_a_typed_dict_requires() -> None:
    assert schema_for_type(Row)["required"] == ["a"]


def test_a_class_inside_a_function_may_refer_to_itself_and_to_what_the_tool_sees() -> None:
    @dataclass
    class Leaf:
        x: int

    @dataclass
    class Branch:
        leaf: Leaf
        more: list[Branch]

    class Local:
        @agent_tool()
        def f(self, branch: Branch) -> str:
            # Both names are used, so that the function closes over them.
            return f"{branch} {Leaf} {Branch}"

    catalog = discover_agent_tools(Local)
    catalog.validate()

    bound = catalog.by_schema_name("f").bind_invocation({"branch": {"leaf": {"x": 1}, "more": []}})
    assert bound.args == (Branch(Leaf(1), []),)


def test_a_variable_that_the_enclosing_function_sets_later_is_unknown_until_then() -> None:
    class Local:
        @agent_tool()
        def f(self, item: Item) -> str:
            return f"{item} {Item}"

    catalog = discover_agent_tools(Local)
    with pytest.raises(UnresolvedHintError):
        catalog.validate()

    @dataclass
    class Item:
        x: int

    catalog.validate()
    assert catalog.by_schema_name("f").bind_invocation({"item": {"x": 1}}).args == (Item(1),)


def test_a_method_named_like_a_builtin_type_does_not_hide_it() -> None:
    class Local:
        @agent_tool()
        def list(self, names: list[str]) -> list[str]:
            return names

    (descriptor,) = discover_agent_tools(Local).descriptors

    assert descriptor.bind_invocation({"names": ["a"]}).args == (["a"],)


def test_a_class_nested_in_the_owner_is_found() -> None:
    class Local:
        @dataclass
        class Args:
            x: int

        @agent_tool()
        def f(self, args: Args) -> str:
            return str(args)

    (descriptor,) = discover_agent_tools(Local).descriptors

    assert descriptor.bind_invocation({"args": {"x": 1}}).args == (Local.Args(1),)


def test_the_hints_of_a_bound_method_are_resolved_where_it_was_written() -> None:
    signature = read_signature(Worker().token, ToolReceiver.NONE)
    bound = bind_agent_tool_invocation(Worker().token, {"holder": {"value": "x"}})

    assert [parameter.name for parameter in signature.parameters] == ["holder"]
    assert bound.args == (Holder("x"),)


@pytest.mark.requirement("SCHEMA-9")
@pytest.mark.parametrize(
    ("hint", "says"),
    [("list[", "cannot be read"), ("int[str]", "cannot be read"), ("pytest.Ghost", "Ghost")],
)
def test_a_text_that_cannot_be_read_is_an_error_that_names_the_parameter(
    hint: str, says: str
) -> None:
    def f(x: int) -> str:
        return str(x)

    f.__annotations__["x"] = hint

    with pytest.raises(AgentDefinitionError, match=f"parameter 'x' of .*{says}"):
        bind_agent_tool_invocation(f, {"x": 1})


@pytest.mark.requirement("SCHEMA-4")
def test_a_text_that_is_no_type_is_an_error_that_names_the_parameter() -> None:
    def f(x: 3) -> str:  # type: ignore[valid-type]  # the point of the test
        return str(x)

    class Local:
        g = agent_tool()(staticmethod(f))

    with pytest.raises(AgentDefinitionError, match="parameter 'x'"):
        discover_agent_tools(Local)
