"""Turns any item of a run's streams, and any value in it, into plain JSON values."""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache

from spakky.agent.contracts.construction import to_utc_text
from spakky.agent.contracts.events import AgentEvent
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import JsonValue

MAX_DEPTH = 200
"""How deep values may be nested; what is deeper is taken for a value that contains itself."""

_PLAIN_TYPES = frozenset({str, bool, int, type(None)})


def to_json_value(value: object) -> JsonValue:
    """Give a value as dicts, lists, texts, numbers, truth values and None.

    A dataclass becomes an object by field name, an event's with its ``kind`` first; an enum member
    its value; a point in time ISO 8601 text in UTC; a mapping an object; a sequence a list.

    Raises:
        AgentValueError: Anything else, a set, a number that is not finite, a time without a zone, a
            key that is no text, or a value that contains itself. The message says where.
    """
    try:
        return _convert(value, 0)
    except _NotJsonError as refusal:
        where = "".join(reversed(refusal.path)) or "the value itself"
        message = f"{refusal.what} cannot be given as JSON (at {where}); {refusal.hint}."
        raise AgentValueError(message) from None


@dataclass(frozen=True, slots=True)
class _DataclassForm:
    """How the values of one dataclass are written: constants first, then the fields."""

    constants: Mapping[str, JsonValue]
    names: tuple[str, ...]


# Looking at a class costs more than writing a value of it, and a stream has few classes.
@lru_cache(maxsize=256)
def _form_of(kind: type) -> _DataclassForm | None:
    if not is_dataclass(kind) or issubclass(kind, Enum):
        return None
    names = tuple(field.name for field in fields(kind))
    # The kind of an event is a constant of its class, without which no client could tell it apart.
    constants = {"kind": kind.kind.value} if issubclass(kind, AgentEvent) else {}
    return _DataclassForm(constants, names)


class _NotJsonError(Exception):
    """Carries what was refused up to the root; each level on the way adds its part of the path."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.path: list[str] = []


def _convert(value: object, depth: int) -> JsonValue:
    kind: type = type(value)
    if kind in _PLAIN_TYPES:
        # The exact type was looked at, which the checker cannot follow.
        return value  # type: ignore[return-value]
    if depth > MAX_DEPTH:
        what = f"Nesting deeper than {MAX_DEPTH}"
        raise _NotJsonError(what, "a value must not contain itself")
    if isinstance(value, dict):
        return _convert_mapping(value, depth)
    form = _form_of(kind)
    if form is not None:
        return _convert_dataclass(value, form, depth)
    if isinstance(value, Enum):
        return _convert(value.value, depth + 1)
    if isinstance(value, Mapping):
        return _convert_mapping(value, depth)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return _convert_sequence(value, depth)
    return _convert_scalar(value)


def _convert_scalar(value: object) -> JsonValue:
    if isinstance(value, float):
        if not math.isfinite(value):
            what = f"The number {value!r}"
            raise _NotJsonError(what, "only finite numbers can be")
        return float(value)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            what = "A datetime without a time zone"
            raise _NotJsonError(what, "use an aware one")
        return to_utc_text(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, AbstractSet):
        what = f"A {type(value).__name__}"
        raise _NotJsonError(what, "it has no order; use a sorted list")
    what = f"An object of type {type(value).__module__}.{type(value).__qualname__}"
    raise _NotJsonError(what, "convert it first")


def _convert_mapping(value: Mapping[object, object], depth: int) -> JsonValue:
    converted: dict[str, JsonValue] = {}
    key: object = None
    try:
        for key, item in value.items():
            converted[_key_of(key)] = _convert(item, depth + 1)
    except _NotJsonError as refusal:
        refusal.path.append(f"[{key!r}]" if isinstance(key, str) else "[?]")
        raise
    return converted


def _key_of(key: object) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not isinstance(key, str):
        what = f"A key of type {type(key).__name__}"
        raise _NotJsonError(what, "keys must be texts")
    return str.__str__(key)


def _convert_dataclass(value: object, form: _DataclassForm, depth: int) -> JsonValue:
    converted: dict[str, JsonValue] = dict(form.constants)
    name = ""
    try:
        for name in form.names:
            # getattr: the names are the dataclass's own fields
            converted[name] = _convert(getattr(value, name), depth + 1)
    except _NotJsonError as refusal:
        refusal.path.append(f".{name}")
        raise
    return converted


def _convert_sequence(value: Sequence[object], depth: int) -> JsonValue:
    converted: list[JsonValue] = []
    try:
        for item in value:
            converted.append(_convert(item, depth + 1))  # noqa: PERF401  # the index is its length
    except _NotJsonError as refusal:
        refusal.path.append(f"[{len(converted)}]")
        raise
    return converted
