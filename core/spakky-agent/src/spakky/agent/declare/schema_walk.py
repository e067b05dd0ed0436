"""Walks JSON schemas by their structure, so that a property's name is never taken for a keyword."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard

from spakky.agent.json_value import FrozenObject, JsonObject, JsonValue

_SCHEMA_KEYWORDS = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP_KEYWORDS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
_BEYOND_STRICT = frozenset(
    {
        "allOf",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "not",
        "oneOf",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)

type MutableSchema = dict[str, JsonValue]


def rewrite_schema(
    schema: JsonObject, change: Callable[[MutableSchema], MutableSchema]
) -> MutableSchema:
    """Copy a schema and change each schema in it, the inner ones first.

    Args:
        schema: Any JSON schema.
        change: Gets a copy of one schema, whose inner schemas were changed, and gives what stands
            in its place.
    """
    copied: MutableSchema = {}
    for keyword, value in schema.items():
        if keyword in _SCHEMA_KEYWORDS and isinstance(value, Mapping):
            copied[keyword] = rewrite_schema(value, change)
        elif keyword in _LIST_KEYWORDS and _is_list(value):
            copied[keyword] = [
                rewrite_schema(item, change) if isinstance(item, Mapping) else item
                for item in value
            ]
        elif keyword in _MAP_KEYWORDS and isinstance(value, Mapping):
            copied[keyword] = {
                name: rewrite_schema(item, change) if isinstance(item, Mapping) else item
                for name, item in value.items()
            }
        else:
            copied[keyword] = copy_json(value)
    return change(copied)


def freeze_schema(schema: JsonObject) -> JsonObject:
    """Give a copy of a schema in which no object, at any depth, can be changed.

    Args:
        schema: Any JSON schema.
    """
    return FrozenObject({keyword: _freeze(value) for keyword, value in schema.items()})


def _freeze(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return FrozenObject({key: _freeze(item) for key, item in value.items()})
    # Arrays stay lists: validators of schemas ask for that very type.
    return [_freeze(item) for item in value] if _is_list(value) else value


def copy_json(value: JsonValue) -> JsonValue:
    """Give a deep copy of a JSON value made of plain dicts and lists.

    Args:
        value: Any JSON value.
    """
    if isinstance(value, Mapping):
        return {key: copy_json(item) for key, item in value.items()}
    return [copy_json(item) for item in value] if _is_list(value) else value


def inner_schemas(schema: JsonObject) -> Iterator[JsonValue]:
    """Give the schemas directly inside a schema; a schema may also be true or false.

    Args:
        schema: Any JSON schema.
    """
    for keyword, value in schema.items():
        if keyword in _SCHEMA_KEYWORDS:
            yield value
        elif keyword in _LIST_KEYWORDS and _is_list(value):
            yield from value
        elif keyword in _MAP_KEYWORDS and isinstance(value, Mapping):
            yield from value.values()


def is_strict_schema(schema: JsonObject) -> bool:
    """Tell whether a provider's strict mode can hold a model to a schema.

    That is so when every object in it is closed and requires all of its properties, and no keyword
    is used that strict modes do not take.

    Args:
        schema: Any JSON schema.
    """
    if not _BEYOND_STRICT.isdisjoint(schema):
        return False
    if not _shapes_a_value(schema):
        return False
    if _is_object_schema(schema) and not _is_closed(schema):
        return False
    return all(
        isinstance(inner, Mapping) and is_strict_schema(inner)
        for keyword, value in schema.items()
        if keyword != "additionalProperties"
        for inner in inner_schemas({keyword: value})
    )


def _shapes_a_value(schema: JsonObject) -> bool:
    return any(keyword in schema for keyword in ("type", "enum", "const", "anyOf", "$ref"))


def _is_object_schema(schema: JsonObject) -> bool:
    declared = schema.get("type")
    return declared == "object" or (_is_list(declared) and "object" in declared)


def _is_closed(schema: JsonObject) -> bool:
    if schema.get("additionalProperties") is not False:
        return False
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, Mapping) or not _is_list(required):
        return False
    return set(properties) == set(required)


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
