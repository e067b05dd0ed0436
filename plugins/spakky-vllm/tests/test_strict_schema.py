"""Which schemas may be sent as strict."""

from typing import Any

import pytest

from spakky.plugins.vllm.strict_schema import is_strict_schema

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


def closed(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        CLOSED,
        NO_PARAMETERS,
        {"type": "string"},
        closed(a=CLOSED, b={"type": "array", "items": CLOSED}),
        closed(a={"anyOf": [CLOSED, {"type": "null"}]}),
        {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": CLOSED}},
        closed(
            properties={"type": "string"},
            required={"type": "integer"},
            prefixItems={"type": "null"},
        ),
        closed(a={"type": "array", "items": {"enum": ["properties"]}}),
        closed(a={"type": ["integer", "null"]}),
    ],
)
def test_closed_schemas_with_all_properties_required_are_strict(schema: dict[str, Any]) -> None:
    """OP-B06."""
    assert is_strict_schema(schema)


OPEN = [
    {"type": "object"},
    {"type": "object", "properties": {}},
    {**CLOSED, "required": []},
    {**CLOSED, "additionalProperties": True},
    {**CLOSED, "additionalProperties": {"type": "integer"}},
    {"properties": {"a": {}}},
    {"type": ["object", "null"], "properties": {"a": {}}, "additionalProperties": False},
    {**CLOSED, "required": 7},
    {**CLOSED, "properties": 7},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "array", "prefixItems": [{"type": "integer"}]},
]


@pytest.mark.parametrize("part", OPEN)
@pytest.mark.parametrize(
    "place",
    [
        lambda part: part,
        lambda part: closed(a=part),
        lambda part: closed(a={"type": "array", "items": part}),
        lambda part: closed(a={"anyOf": [part, {"type": "null"}]}),
        lambda part: {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": part}},
    ],
)
def test_one_open_part_anywhere_makes_a_schema_not_strict(part: dict[str, Any], place: Any) -> None:
    """OP-B06."""
    assert not is_strict_schema(place(part))


def test_a_schema_without_end_is_not_strict() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema

    assert not is_strict_schema(schema)
