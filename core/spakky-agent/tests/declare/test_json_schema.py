"""Schemas that classes bring themselves are moved into the document that uses them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import (
    ClassVar,
)

import pytest

from spakky.agent.declare.json_schema import SchemaWriter
from spakky.agent.declare.schema import (
    schema_for_type,
)
from spakky.agent.declare.type_form import ForeignForm
from spakky.agent.error import AgentDefinitionError
from spakky.agent.json_value import JsonObject

TEXT: JsonObject = {"type": "string"}
WHOLE: JsonObject = {"type": "integer"}


@dataclass
class Node:
    name: str
    children: "list[Node]" = field(default_factory=list)


class Odd:
    """Describes itself, in a way that cannot be taken over."""

    schema: ClassVar[JsonObject] = {}

    @classmethod
    def model_json_schema(cls) -> JsonObject:
        return cls.schema

    @classmethod
    def model_validate(cls, obj: object) -> object:
        return obj


def test_a_listed_field_without_a_hint_is_refused() -> None:
    class Listing(Odd):
        model_fields: ClassVar[Mapping[str, object]] = {"secret": None}

    with pytest.raises(AgentDefinitionError, match=r"field 'secret' of .*Listing"):
        schema_for_type(Listing)


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
