"""Where sensitive values lie: as descriptors of a form, and as an extension inside a schema.

A class that refers to itself has endless paths. There the value at which it is met again is marked
as a whole, so that nothing below it is ever shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never, cast

from spakky.agent.declare.schema_walk import MutableSchema, copy_json, freeze_schema
from spakky.agent.declare.type_form import (
    LEAF_FORMS,
    AliasForm,
    AnnotatedForm,
    ArrayForm,
    ForeignForm,
    MappingForm,
    Marker,
    RecordForm,
    TupleForm,
    TypeForm,
    UnionForm,
    children_of,
)
from spakky.agent.guards.sensitive import ANY_KEY, SecretField, SensitiveFieldDescriptor
from spakky.agent.json_value import JsonObject, JsonValue

SENSITIVE_EXTENSION = "x-spakky-sensitive"
"""The keyword that tells of a marker inside a schema."""

_ALTERNATIVES = ("anyOf", "oneOf", "allOf")

type _Named = RecordForm | AliasForm | ForeignForm


def sensitive_fields_of(
    form: TypeForm, path: tuple[str, ...] = ()
) -> tuple[SensitiveFieldDescriptor, ...]:
    """Give the descriptors of all sensitive values inside a form.

    Args:
        form: The form.
        path: The keys that lead to it.

    Returns:
        Each descriptor once, outer ones first.
    """
    return tuple(dict.fromkeys(_walk(form, path, ())))


def _walk(
    form: TypeForm, path: tuple[str, ...], inside: tuple[_Named, ...]
) -> Iterator[SensitiveFieldDescriptor]:
    if isinstance(form, LEAF_FORMS):
        return
    match form:
        case AnnotatedForm(form=inner, markers=markers):
            yield from (SensitiveFieldDescriptor(path, marker) for marker in markers)
            yield from _walk(inner, path, inside)
        case MappingForm(value=inner, key_markers=markers):
            # A key has no path of its own, so the whole mapping is marked.
            yield from (SensitiveFieldDescriptor(path, marker) for marker in markers)
            yield from _walk(inner, (*path, ANY_KEY), inside)
        case ArrayForm(item=inner):
            yield from _walk(inner, (*path, ANY_KEY), inside)
        case TupleForm(items=inners):
            for inner in inners:
                yield from _walk(inner, (*path, ANY_KEY), inside)
        case UnionForm(options=inners):
            for inner in inners:
                yield from _walk(inner, path, inside)
        case RecordForm() | AliasForm() | ForeignForm():
            yield from _walk_named(form, path, inside)
        case _:
            assert_never(form)


def _walk_named(
    form: _Named, path: tuple[str, ...], inside: tuple[_Named, ...]
) -> Iterator[SensitiveFieldDescriptor]:
    if form in inside:
        marker = _strictest(_markers_below(form, set()))
        if marker is not None:
            yield SensitiveFieldDescriptor(path, marker)
        return
    inside = (*inside, form)
    if isinstance(form, AliasForm):
        yield from _walk(form.target, path, inside)
        return
    for field in form.fields:
        yield from _walk(field.form, (*path, field.name), inside)


def _markers_below(form: TypeForm, seen: set[_Named]) -> Iterator[Marker]:
    if isinstance(form, RecordForm | AliasForm | ForeignForm):
        if form in seen:
            return
        seen.add(form)
    if isinstance(form, AnnotatedForm):
        yield from form.markers
    if isinstance(form, MappingForm):
        yield from form.key_markers
    for child in children_of(form):
        yield from _markers_below(child, seen)


def _strictest(markers: Iterable[Marker]) -> Marker | None:
    found = tuple(markers)
    secret = next((marker for marker in found if isinstance(marker, SecretField)), None)
    return secret or next(iter(found), None)


def mark_schema(schema: JsonObject, fields: Sequence[SensitiveFieldDescriptor]) -> JsonObject:
    """Give a copy of a schema that tells of its sensitive fields.

    Args:
        schema: The schema of the value that the paths start at.
        fields: Where sensitive values lie; of two at one place the first is told.

    Returns:
        The copy, with the keyword ``x-spakky-sensitive`` in each marked place.
    """
    # cast: the copy of an object is an object.
    root = cast("MutableSchema", copy_json(schema))
    for descriptor in fields:
        for place in _places(root, root, descriptor.path):
            place.setdefault(SENSITIVE_EXTENSION, copy_json(descriptor.field.to_metadata()))
    return freeze_schema(root)


def _places(
    root: MutableSchema, schema: MutableSchema, path: tuple[str, ...]
) -> Iterator[MutableSchema]:
    if not path:
        yield schema
        return
    for alternative in _alternatives(root, schema, set()):
        for inner in _step(alternative, path[0]):
            yield from _places(root, inner, path[1:])


def _alternatives(
    root: MutableSchema, schema: MutableSchema, seen: set[int]
) -> Iterator[MutableSchema]:
    if id(schema) in seen:
        return
    seen.add(id(schema))
    yield schema
    target = _resolve(root, schema.get("$ref"))
    options = [option for keyword in _ALTERNATIVES for option in _as_list(schema.get(keyword))]
    for option in (target, *options):
        if isinstance(option, dict):
            yield from _alternatives(root, option, seen)


def _resolve(root: MutableSchema, reference: JsonValue) -> JsonValue:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: JsonValue = root
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _step(schema: MutableSchema, key: str) -> Iterator[MutableSchema]:
    properties = schema.get("properties")
    if key == ANY_KEY:
        candidates = [schema.get("items"), schema.get("additionalProperties")]
        candidates.extend(_as_list(schema.get("prefixItems")))
    else:
        candidates = [properties.get(key)] if isinstance(properties, Mapping) else []
    yield from (candidate for candidate in candidates if isinstance(candidate, dict))


def _as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
