"""Strictness of schemas, and walks that tell keywords from property names."""

from dataclasses import dataclass

import pytest

from spakky.agent.declare.catalog import discover_agent_tools
from spakky.agent.declare.schema_walk import (
    MutableSchema,
    copy_json,
    is_strict_schema,
    rewrite_schema,
)
from spakky.agent.declare.tool import agent_tool
from spakky.agent.json_value import JsonObject


@dataclass
class Inner:
    x: int
    y: int = 0


@dataclass
class Full:
    x: int


class Tools:
    @agent_tool()
    def scalars(self, a: int, b: str) -> str:
        return f"{a}{b}"

    @agent_tool()
    def nothing(self) -> str:
        return ""

    @agent_tool()
    def full(self, items: list[Full], maybe: Full | None) -> str:
        return f"{items}{maybe}"

    @agent_tool()
    def optional(self, a: int = 0) -> str:
        return str(a)

    @agent_tool()
    def mapping(self, a: dict[str, int]) -> str:
        return str(a)

    @agent_tool()
    def pair(self, a: tuple[int, str]) -> str:
        return str(a)

    @agent_tool()
    def nested(self, a: Inner) -> str:
        return str(a)

    @agent_tool()
    def deep(self, a: list[Inner | None]) -> str:
        return str(a)


@pytest.mark.parametrize(
    ("name", "strict"),
    [
        ("scalars", True),
        ("nothing", True),
        ("full", True),
        ("optional", False),
        ("mapping", False),
        ("pair", False),
        ("nested", False),
        ("deep", False),
    ],
)
def test_a_schema_is_strict_only_when_every_object_is_closed_and_complete(
    name: str, *, strict: bool
) -> None:
    schema = discover_agent_tools(Tools).by_schema_name(name).schema.input_schema

    assert is_strict_schema(schema) is strict


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({}, False),
        ({"description": "anything"}, False),
        ({"const": 1}, True),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, False),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, True),
        ({"type": ["object", "null"]}, False),
        ({"type": "array", "items": True}, False),
        ({"type": "array"}, True),
        ({"oneOf": [{"type": "integer"}]}, False),
        ({"type": "object", "additionalProperties": False, "properties": []}, False),
        ({"type": "object", "additionalProperties": False, "required": "a"}, False),
    ],
)
def test_strictness_of_schemas_from_elsewhere(schema: JsonObject, *, strict: bool) -> None:
    assert is_strict_schema(schema) is strict


def test_a_rewrite_reaches_every_schema_and_no_property_name() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"type": {"type": "integer"}, "free": True},
        "items": {"type": "string"},
        "anyOf": [{"type": "null"}, True],
        "enum": [{"type": "left alone"}],
    }

    def shout(inner: MutableSchema) -> MutableSchema:
        kind = inner.get("type")
        return {**inner, "type": kind.upper()} if isinstance(kind, str) else inner

    assert rewrite_schema(schema, shout) == {
        "type": "OBJECT",
        "properties": {"type": {"type": "INTEGER"}, "free": True},
        "items": {"type": "STRING"},
        "anyOf": [{"type": "NULL"}, True],
        "enum": [{"type": "left alone"}],
    }


def test_a_copy_shares_no_container() -> None:
    inner: list[JsonObject] = [{"a": 1}]

    copied = copy_json({"items": inner})

    assert copied == {"items": [{"a": 1}]}
    assert isinstance(copied, dict)
    assert copied["items"] is not inner
