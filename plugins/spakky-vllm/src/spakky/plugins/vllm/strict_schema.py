"""Which JSON schemas may be sent as strict: a pure check.

With ``"strict": true`` a provider promises output that fits the schema, and refuses schemas for which it cannot promise that. The
claim is made only where it holds: every object in the schema is closed (``additionalProperties`` is false) and lists all its
properties as required, and no tuple form (``prefixItems``) is used. For any other schema the claim is left out; optional
parameters stay optional.
"""

from collections.abc import Iterator, Mapping, Sequence

from spakky.agent.json_value import JsonObject

# Keywords by what stands under them, so that a parameter that happens to be called "properties" is never read as a keyword.
_ONE_SCHEMA = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
)
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf")
_SCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_MAX_SCHEMAS = 10_000


def is_strict_schema(schema: JsonObject) -> bool:
    """Tell whether a schema may be sent as strict; a schema of more than 10,000 parts is not."""
    waiting: list[object] = [schema]
    seen = 0
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Mapping):
            continue
        seen += 1
        if seen > _MAX_SCHEMAS or "prefixItems" in part or not _is_closed(part):
            return False
        waiting.extend(_children(part))
    return True


def _is_closed(part: Mapping[object, object]) -> bool:
    kind = part.get("type")
    is_object = kind == "object" or (isinstance(kind, list | tuple) and "object" in kind)
    if not is_object and "properties" not in part:
        return True
    properties = part.get("properties", {})
    required = part.get("required", ())
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return False
    return part.get("additionalProperties") is False and set(properties) <= set(required)


def _children(part: Mapping[object, object]) -> Iterator[object]:
    for name in _ONE_SCHEMA:
        yield part.get(name)
    for name in _SCHEMA_LISTS:
        members = part.get(name)
        if isinstance(members, Sequence) and not isinstance(members, str):
            yield from members
    for name in _SCHEMA_MAPS:
        named = part.get(name)
        if isinstance(named, Mapping):
            yield from named.values()
