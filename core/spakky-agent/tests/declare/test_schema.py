"""Schemas of signatures and types: one golden for each supported form, refusals, sensitivity."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum, IntEnum, StrEnum
from typing import (
    Annotated,
    ClassVar,
    Final,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    cast,
)
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from spakky.agent.declare.catalog import discover_agent_tools
from spakky.agent.declare.schema import (
    extract_input_schema,
    extract_output_schema,
    schema_for_type,
)
from spakky.agent.declare.signature import ToolReceiver, read_signature
from spakky.agent.declare.tool import agent_tool
from spakky.agent.json_value import JsonObject, JsonValue

TEXT: JsonObject = {"type": "string"}
WHOLE: JsonObject = {"type": "integer"}


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TWO = "two"


@dataclass
class Pt:
    x: int
    y: int = 0


@dataclass
class Documented:
    """A thing.

    Attributes:
        size: How large it is.
    """

    size: int
    label: Annotated[str, "What it is called."] = ""
    total: int = field(init=False, default=0)
    KIND: ClassVar[str] = "thing"


@dataclass
class Node:
    name: str
    children: "list[Node]" = field(default_factory=list)


@dataclass
class A:
    b: "B | None" = None


@dataclass
class B:
    a: A


class Row(TypedDict, total=False):
    a: Required[Annotated[int, "The first."]]
    b: str
    c: Annotated[Required[int], "Always."]


class Strict(TypedDict):
    a: int
    b: NotRequired[str]


UserId = NewType("UserId", str)
type Pair = tuple[str, int]
type Tree = dict[str, Tree] | int
type Key = Annotated[str, "A key."]


class Item(BaseModel):
    sku: str
    parts: "list[Item]" = []


class Order(BaseModel):
    item: Item


def closed(properties: JsonObject, required: Sequence[str]) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


PT = closed({"x": WHOLE, "y": WHOLE}, ["x"])


@pytest.mark.requirement("SCHEMA-3")
@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, TEXT),
        (int, WHOLE),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (type(None), {"type": "null"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (UUID, {"type": "string", "format": "uuid"}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Mixed, {"enum": [1, "two"]}),
        (Literal["a", Color.RED], {"type": "string", "enum": ["a", "red"]}),
        (Literal[1, True], {"enum": [1, True]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (
            Literal["a", None],  # noqa: PYI061  # the spelling is the point
            {"enum": ["a", None]},
        ),
        (list[int], {"type": "array", "items": WHOLE}),
        (Sequence[int], {"type": "array", "items": WHOLE}),
        (tuple[int, ...], {"type": "array", "items": WHOLE}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [WHOLE, TEXT],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (tuple[()], {"type": "array", "items": False, "minItems": 0, "maxItems": 0}),
        (dict[str, int], {"type": "object", "additionalProperties": WHOLE}),
        (Mapping[Key, int], {"type": "object", "additionalProperties": WHOLE}),
        (str | None, {"anyOf": [TEXT, {"type": "null"}]}),
        (int | str | None, {"anyOf": [WHOLE, TEXT, {"type": "null"}]}),
        (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
        (Annotated[int, 3, []], WHOLE),
        (UserId, TEXT),
        (Final[int], WHOLE),
        (Pt, PT),
        (list[Pt], {"type": "array", "items": PT}),
        (
            Documented,
            closed(
                {
                    "size": {"type": "integer", "description": "How large it is."},
                    "label": {"type": "string", "description": "What it is called."},
                },
                ["size"],
            ),
        ),
        (
            Row,
            closed(
                {
                    "a": {"type": "integer", "description": "The first."},
                    "b": TEXT,
                    "c": {"type": "integer", "description": "Always."},
                },
                ["a", "c"],
            ),
        ),
        (Strict, closed({"a": WHOLE, "b": TEXT}, ["a"])),
        (
            Pair,
            {
                "type": "array",
                "prefixItems": [TEXT, WHOLE],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (
            Tree,
            {
                "$ref": "#/$defs/Tree",
                "$defs": {
                    "Tree": {
                        "anyOf": [
                            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Tree"}},
                            WHOLE,
                        ]
                    }
                },
            },
        ),
    ],
)
def test_each_supported_type_has_its_schema(hint: object, schema: JsonObject) -> None:
    written = schema_for_type(hint)

    assert written == schema
    Draft202012Validator.check_schema(written)


@pytest.mark.requirement("SCHEMA-3")
def test_any_json_value_can_be_expressed() -> None:
    schema = schema_for_type(JsonValue)

    validator = Draft202012Validator(schema)
    assert validator.is_valid({"a": [1, None, {"b": "c"}]})
    assert not validator.is_valid(cast("JsonValue", {"a": object()}))


def references_in(value: JsonValue) -> list[str]:
    if isinstance(value, Mapping):
        own = [str(value["$ref"])] if "$ref" in value else []
        return own + [found for item in value.values() for found in references_in(item)]
    if isinstance(value, list):
        return [found for item in value for found in references_in(item)]
    return []


def resolve(root: JsonObject, reference: str) -> JsonValue:
    found: JsonValue = root
    for part in reference.removeprefix("#/").split("/"):
        assert isinstance(found, Mapping)
        found = found[part]
    return found


class Recursive:
    @agent_tool()
    def plan(self, root: Node, other: Annotated[Node, "Another."], a: A, b: B) -> Node:
        return root if a.b == b else other

    @agent_tool()
    def order(self, order: Order, item: Item, again: Item) -> Order:
        return order if item is again else Order(item=item)


@pytest.mark.requirement("SCHEMA-8")
@pytest.mark.parametrize("name", ["plan", "order"])
def test_every_reference_of_a_recursive_schema_resolves_inside_the_parameters(name: str) -> None:
    handle = discover_agent_tools(Recursive).by_schema_name(name).schema

    for schema in (handle.input_schema, handle.output_schema):
        references = references_in(schema)
        assert references
        assert all(isinstance(resolve(schema, item), Mapping) for item in references)
        Draft202012Validator.check_schema(schema)


@pytest.mark.requirement("SCHEMA-8")
def test_a_recursive_schema_takes_nested_values_and_no_others() -> None:
    schema = discover_agent_tools(Recursive).by_schema_name("plan").schema.input_schema
    validator = Draft202012Validator(schema)
    node = {"name": "a", "children": [{"name": "b"}]}
    bad = {"name": "a", "children": [{"title": "b"}]}
    rest = {"other": node, "a": {"b": {"a": {}}}, "b": {"a": {}}}

    assert validator.is_valid({"root": node, **rest})
    assert not validator.is_valid({"root": bad, **rest})


def test_a_description_stands_beside_a_reference_and_not_in_it() -> None:
    schema = discover_agent_tools(Recursive).by_schema_name("plan").schema.input_schema
    properties = schema["properties"]

    assert isinstance(properties, Mapping)
    assert properties["other"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}],
        "description": "Another.",
    }


def test_two_recursive_classes_of_one_name_get_two_definitions() -> None:
    @dataclass
    class Outer:
        mine: int
        theirs: Node

    @dataclass
    class Other:
        more: "list[Other]"

    Other.__name__ = "Node"
    Outer.__annotations__["mine"] = Other | None
    Other.__annotations__["more"] = list[Other]
    schema = schema_for_type(Outer)

    definitions = schema["$defs"]
    assert isinstance(definitions, Mapping)
    assert sorted(definitions) == ["Node", "Node_2"]


class Kinds:
    @agent_tool()
    def odd(
        self,
        title: str,
        properties: dict[str, int],
        *,
        type: str = "a",  # noqa: A002  # the point of the test
        default: int | None = None,
    ) -> str:
        """Do something.

        Args:
            title: The title.
            type: Not a
                keyword here.
        """
        return f"{title}{properties}{type}{default}"

    @agent_tool()
    def nothing(self) -> None:
        return None


@pytest.mark.requirement("SCHEMA-1", "SCHEMA-2")
def test_the_signature_without_self_is_the_schema() -> None:
    handle = discover_agent_tools(Kinds).by_schema_name("odd").schema

    assert handle.input_schema == closed(
        {
            "title": {"type": "string", "description": "The title."},
            "properties": {"type": "object", "additionalProperties": WHOLE},
            "type": {"type": "string", "description": "Not a keyword here."},
            "default": {"anyOf": [WHOLE, {"type": "null"}]},
        },
        ["title", "properties"],
    )
    assert handle.output_schema == TEXT
    assert (handle.name, handle.input_schema_name, handle.output_schema_name) == (
        "odd",
        "odd.input",
        "odd.output",
    )


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    handle = discover_agent_tools(Kinds).by_schema_name("nothing").schema

    assert handle.input_schema == closed({}, [])
    assert handle.output_schema == {"type": "null"}


def test_a_field_that_no_constructor_takes_is_output_only() -> None:
    def f(value: Documented) -> Documented:
        return value

    signature = read_signature(f, ToolReceiver.NONE)
    inputs = extract_input_schema(signature)["properties"]
    outputs = extract_output_schema(signature)["properties"]

    assert isinstance(inputs, Mapping)
    assert isinstance(outputs, Mapping)
    assert "total" not in json.dumps(inputs)
    assert outputs["total"] == WHOLE


def test_schemas_are_read_only_at_every_depth() -> None:
    schema = schema_for_type(list[Pt])
    items = schema["items"]

    assert isinstance(items, dict)
    with pytest.raises(TypeError):
        items["type"] = "string"
