"""Markers on types become paths, and a marked copy of the schema for those who may see it."""

import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from enum import Enum
from typing import (
    Annotated,
    NewType,
)

import pytest
from jsonschema import Draft202012Validator
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from spakky.agent.declare.catalog import AgentToolCatalog, discover_agent_tools
from spakky.agent.declare.schema import (
    AgentToolSchemaHandle,
)
from spakky.agent.declare.tool import agent_tool
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.sensitive import (
    PII,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import JsonObject, JsonValue

SHOWN = ContextExposurePolicy(include_sensitive_schema_metadata=True)


class Mixed(Enum):
    ONE = 1


class Raw(Enum):
    A = b"a"


class Empty(Enum):
    pass


def resolve(root: JsonObject, reference: str) -> JsonValue:
    found: JsonValue = root
    for part in reference.removeprefix("#/").split("/"):
        assert isinstance(found, Mapping)
        found = found[part]
    return found


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
