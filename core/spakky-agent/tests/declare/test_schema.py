"""Schemas of signatures and types: one golden for each supported form, refusals, sensitivity."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    cast,
)
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from spakky.agent.contracts.tool_metadata import AgentToolMetadata
from spakky.agent.declare.catalog import AgentToolCatalog, discover_agent_tools
from spakky.agent.declare.json_schema import SchemaWriter
from spakky.agent.declare.schema import (
    AgentToolSchemaHandle,
    extract_input_schema,
    extract_output_schema,
    schema_for_type,
)
from spakky.agent.declare.signature import ToolReceiver, read_signature
from spakky.agent.declare.tool import agent_tool
from spakky.agent.declare.type_form import ForeignForm
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.sensitive import (
    PII,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import JsonObject, JsonValue

T = TypeVar("T")
SHOWN = ContextExposurePolicy(include_sensitive_schema_metadata=True)
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


class Bits(Flag):
    A = 1


class Raw(Enum):
    A = b"a"


class Empty(Enum):
    pass


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
            closed({"a": {"type": "integer", "description": "The first."}, "b": TEXT}, ["a"]),
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


# ---------------------------------------------------------------- refusals


class Plain:
    pass


@dataclass
class WithInitVar:
    x: int
    seed: InitVar[int]


@dataclass(init=False)
class OwnInit:
    x: int

    def __init__(self, text: str) -> None:
        self.x = len(text)


@dataclass
class Inner:
    bad: set[int]


class Box(Generic[T]):
    pass


type Missing = list[Nowhere]  # type: ignore[name-defined]  # noqa: F821  # resolved never


@pytest.mark.requirement("SCHEMA-4")
@pytest.mark.parametrize(
    ("hint", "says"),
    [
        (Any, "shape"),
        (object, "shape"),
        (list, "type arguments"),
        (dict, "type arguments"),
        (Mapping, "type arguments"),
        (tuple, "type arguments"),
        (dict[str, Any], "shape"),
        (dict[int, str], "keys"),
        (Mapping[Color, str], "keys"),
        (set[int], "a list"),
        (frozenset[int], "a list"),
        (set, "a list"),
        (bytes, "JSON schema"),
        (Decimal, "JSON schema"),
        (complex, "JSON schema"),
        (Plain, "JSON schema"),
        (Callable[[], int], "generic"),
        (Box[int], "generic"),
        (T, "generic"),
        (tuple[int, set[int]], "position 1"),
        (Bits, "JSON schema"),
        (Raw, "text or numbers"),
        (Empty, "no members"),
        (Literal[b"x"], "text or numbers"),
        (WithInitVar, "seed"),
        (OwnInit, "constructor"),
        (Inner, "field 'bad' of Inner"),
        (Annotated[str, SecretField], "SecretField"),
        (Annotated[str, SensitiveField], "SensitiveField"),
        (Missing, "Nowhere"),
    ],
)
def test_a_type_that_json_cannot_express_is_refused(hint: object, says: str) -> None:
    with pytest.raises(AgentDefinitionError, match=says):
        schema_for_type(hint)


def untyped_parameter(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001  # the point
    return str(x)


def untyped_result(x: int):  # type: ignore[no-untyped-def]  # noqa: ANN201  # the point
    return x


def positional_only(x: int, /) -> int:
    return x


def any_arguments(*args: int) -> int:
    return len(args)


def any_keywords(**kwargs: int) -> int:
    return len(kwargs)


def anything(x: Any) -> int:
    return int(x)


def any_result(x: int) -> Any:
    return x


@pytest.mark.requirement("SCHEMA-4", "SPEC-18")
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (untyped_parameter, "parameter 'x'"),
        (untyped_result, "result of"),
        (positional_only, "positional-only"),
        (any_arguments, "'args'"),
        (any_keywords, "'kwargs'"),
        (anything, "parameter 'x'"),
        (any_result, "result of"),
    ],
)
def test_a_signature_that_no_schema_can_show_is_refused(
    function: Callable[..., object], says: str
) -> None:
    with pytest.raises(AgentDefinitionError, match=says):
        read_signature(function, ToolReceiver.NONE)


def test_a_callable_object_has_no_signature_to_read() -> None:
    class Tool:
        def __call__(self) -> str:
            return ""

    with pytest.raises(AgentDefinitionError, match="result of"):
        read_signature(Tool(), ToolReceiver.NONE)


# ---------------------------------------------------------------- sensitivity


@dataclass
class Contact:
    email: Annotated[str, SensitiveField(PII.EMAIL)]
    tokens: dict[str, Annotated[str, SecretField()]]


@dataclass
class Chain:
    key: Annotated[str, SecretField()]
    note: Annotated[str, SensitiveField(PII.NAME)]
    following: "Chain | None" = None
    others: "list[Chain]" = field(default_factory=list)


class Card(BaseModel):
    number: Annotated[str, SecretField()]
    price: Annotated[Decimal, SensitiveField(PII.ACCOUNT_ID)] = Decimal(1)
    tags: list[Annotated[set[int], SecretField()]] = []
    more: "list[Card]" = []


type Wrapped = dict[str, Annotated[set[str], SecretField()]]
Hidden = NewType("Hidden", Wrapped)


@dataclass(frozen=True)
class Rate:
    amount: Decimal
    n: Annotated[int, SensitiveField(PII.NAME)]


@dataclass(frozen=True)
class Seen:
    seed: InitVar[int]
    token: Annotated[str, SecretField()]
    rates: frozenset[Rate] = frozenset()


class Loose(BaseModel, arbitrary_types_allowed=True):
    hidden: Hidden | None = None
    seen: set[Seen] = set()
    aliased: Seen | None = None
    odd: dict[Annotated[int, SecretField()], Mixed | Raw | Empty] = {}
    named: Annotated[str, SecretField()] = Field(
        default="",
        serialization_alias="a",
        validation_alias=AliasChoices("b", AliasPath("c", 0), AliasPath("d")),
    )


class Customers:
    @agent_tool(schema_name="customer.lookup")
    def lookup_customer(
        self,
        email: Annotated[str, SensitiveField(PII.EMAIL)],
        api_token: Annotated[str, SecretField()],
    ) -> dict[str, str]:
        return {"email": email, "token": api_token}

    @agent_tool()
    def nested(
        self,
        contact: Contact,
        words: list[Annotated[str, SecretField()]],
        pair: tuple[int, Annotated[str, SecretField()]],
        keyed: Mapping[Annotated[str, SensitiveField(PII.NAME)], int],
        either: Annotated[str, SecretField()] | int,
    ) -> Annotated[str, SecretField()]:
        return f"{contact}{words}{pair}{keyed}{either}"

    @agent_tool()
    def chain(self, chain: Chain) -> Chain:
        return chain

    @agent_tool()
    def card(self, card: Card, loose: Loose) -> str:
        return f"{card}{loose}"


@pytest.fixture(name="customers")
def make_customers() -> AgentToolCatalog:
    return discover_agent_tools(Customers)


def paths(fields: tuple[SensitiveFieldDescriptor, ...]) -> set[tuple[tuple[str, ...], str]]:
    return {(item.path, type(item.field).__name__) for item in fields}


@pytest.mark.requirement("SCHEMA-5", "SCHEMA-6", "DEMO-5")
def test_markers_are_kept_beside_a_schema_that_says_nothing_of_them(
    customers: AgentToolCatalog,
) -> None:
    handle = customers.by_schema_name("customer.lookup").schema

    assert handle.input_sensitive_fields == (
        SensitiveFieldDescriptor(("email",), SensitiveField(PII.EMAIL)),
        SensitiveFieldDescriptor(("api_token",), SecretField()),
    )
    assert "x-spakky-sensitive" not in json.dumps([handle.input_schema, handle.output_schema])
    assert handle.input_schema_for() is handle.input_schema
    assert handle.input_schema_for(ContextExposurePolicy()) is handle.input_schema
    assert handle.output_schema_for() is handle.output_schema


@pytest.mark.requirement("SCHEMA-5", "SAFE-8")
def test_markers_are_found_at_every_depth(customers: AgentToolCatalog) -> None:
    handle = customers.by_schema_name("nested").schema

    assert paths(handle.input_sensitive_fields) == {
        (("contact", "email"), "SensitiveField"),
        (("contact", "tokens", "*"), "SecretField"),
        (("words", "*"), "SecretField"),
        (("pair", "*"), "SecretField"),
        (("keyed",), "SensitiveField"),
        (("either",), "SecretField"),
    }
    assert paths(handle.output_sensitive_fields) == {((), "SecretField")}


@pytest.mark.requirement("SCHEMA-5", "SCHEMA-8")
def test_a_class_met_again_inside_itself_is_marked_as_a_whole(
    customers: AgentToolCatalog,
) -> None:
    handle = customers.by_schema_name("chain").schema

    assert paths(handle.output_sensitive_fields) == {
        (("key",), "SecretField"),
        (("note",), "SensitiveField"),
        (("following",), "SecretField"),
        (("others", "*"), "SecretField"),
    }


@pytest.mark.requirement("SCHEMA-5")
def test_markers_of_a_self_describing_class_are_found_whatever_its_types(
    customers: AgentToolCatalog,
) -> None:
    handle = customers.by_schema_name("card").schema

    assert paths(handle.input_sensitive_fields) == {
        (("card", "number"), "SecretField"),
        (("card", "price"), "SensitiveField"),
        (("card", "tags", "*"), "SecretField"),
        (("card", "more", "*"), "SecretField"),
        (("loose", "hidden", "*"), "SecretField"),
        (("loose", "seen", "token"), "SecretField"),
        (("loose", "seen", "rates", "n"), "SensitiveField"),
        (("loose", "aliased", "token"), "SecretField"),
        (("loose", "aliased", "rates", "n"), "SensitiveField"),
        (("loose", "odd"), "SecretField"),
        (("loose", "named"), "SecretField"),
        (("loose", "a"), "SecretField"),
        (("loose", "b"), "SecretField"),
        (("loose", "c"), "SecretField"),
        (("loose", "d"), "SecretField"),
    }


@pytest.mark.requirement("SCHEMA-7")
def test_a_policy_gets_a_marked_copy_and_the_schema_stays_plain(
    customers: AgentToolCatalog,
) -> None:
    handle = customers.by_schema_name("nested").schema
    before = json.dumps(handle.input_schema)

    marked = handle.input_schema_for(SHOWN)

    places = (
        ("properties", "contact", "properties", "email"),
        ("properties", "contact", "properties", "tokens", "additionalProperties"),
        ("properties", "words", "items"),
        ("properties", "pair", "prefixItems", 1),
        ("properties", "keyed"),
        ("properties", "either"),
    )
    for place in places:
        found: JsonValue = marked
        for step in place:
            if isinstance(step, int):
                assert isinstance(found, list)
                found = found[step]
            else:
                assert isinstance(found, dict)
                found = found[step]
        assert isinstance(found, dict)
        assert "x-spakky-sensitive" in found
    assert json.dumps(handle.input_schema) == before
    assert "x-spakky-sensitive" in handle.output_schema_for(SHOWN)
    Draft202012Validator.check_schema(marked)


@pytest.mark.requirement("SCHEMA-7")
def test_a_marked_recursive_schema_is_marked_in_its_definition(
    customers: AgentToolCatalog,
) -> None:
    marked = customers.by_schema_name("chain").schema.output_schema_for(SHOWN)

    key = resolve(marked, "#/$defs/Chain/properties/key")
    assert isinstance(key, Mapping)
    extension = key["x-spakky-sensitive"]
    assert isinstance(extension, Mapping)
    assert extension["sensitivity"] == "secret"


def test_a_mark_whose_path_leads_nowhere_changes_nothing() -> None:
    fields = tuple(
        SensitiveFieldDescriptor(path, SecretField())
        for path in (("a", "b"), ("*",), ("r", "x"), ("s", "x"), ("loop", "x"))
    )
    schema: JsonObject = {
        "properties": {
            "a": True,
            "r": {"$ref": "#/$defs/none/deeper"},
            "s": {"$ref": "other.json"},
            "loop": {"$ref": "#/properties/loop"},
        },
        "anyOf": [{"properties": []}],
    }
    handle = AgentToolSchemaHandle("t", "i", "o", schema, input_sensitive_fields=fields)

    assert handle.input_schema_for(SHOWN) == schema


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_handle_needs_three_names(position: int) -> None:
    names = ["a", "b", "c"]
    names[position] = " "

    with pytest.raises(AgentDefinitionError):
        AgentToolSchemaHandle(names[0], names[1], names[2])


# ---------------------------------------------------------------- classes with their own schema


class Odd:
    """Describes itself, in a way that cannot be taken over."""

    schema: ClassVar[JsonObject] = {}

    @classmethod
    def model_json_schema(cls) -> JsonObject:
        return cls.schema

    @classmethod
    def model_validate(cls, obj: object) -> object:
        return obj


@pytest.mark.parametrize("schema", [{"$defs": []}, {"$ref": "#"}, {"$ref": "#/$defs/x"}])
def test_a_foreign_schema_that_cannot_be_moved_is_refused(schema: JsonObject) -> None:
    class Odder(Odd):
        pass

    Odder.schema = schema

    with pytest.raises(AgentDefinitionError, match="Odder"):
        schema_for_type(Odder)


def test_definitions_of_a_foreign_schema_move_to_the_root_under_free_names() -> None:
    class Mine(Odd):
        schema: ClassVar[JsonObject] = {
            "type": "object",
            "properties": {"$ref": {"$ref": "#/$defs/Node"}, "discriminator": {"type": "string"}},
            "oneOf": [{"$ref": "#/$defs/Any"}],
            "discriminator": {"propertyName": "discriminator"},
            "$defs": {"Node": {"type": "integer"}, "Any": True},
        }

    @dataclass
    class Both:
        node: Node
        mine: Mine
        again: Mine

    schema = schema_for_type(Both)
    definitions = schema["$defs"]
    properties = schema["properties"]

    assert isinstance(definitions, Mapping)
    assert isinstance(properties, Mapping)
    assert list(definitions) == ["Node", "Node_2", "Any"]
    assert definitions["Node_2"] == WHOLE
    assert definitions["Any"] is True
    assert (
        properties["mine"]
        == properties["again"]
        == {
            "type": "object",
            "properties": {"$ref": {"$ref": "#/$defs/Node_2"}, "discriminator": TEXT},
            "oneOf": [{"$ref": "#/$defs/Any"}],
        }
    )


def test_one_foreign_class_is_asked_once_for_one_document() -> None:
    asked: list[int] = []

    def write() -> JsonObject:
        asked.append(1)
        return {"type": "integer"}

    form = ForeignForm("Counted", write, lambda value: value)
    writer = SchemaWriter([form], for_output=False)

    assert writer.write(form) == writer.write(form) == WHOLE
    assert asked == [1]


def test_metadata_of_a_tool_is_no_part_of_its_schema(customers: AgentToolCatalog) -> None:
    descriptor = customers.by_schema_name("customer.lookup")

    assert descriptor.metadata == AgentToolMetadata()
    assert descriptor.description is None
