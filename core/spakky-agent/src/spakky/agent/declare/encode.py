"""Encodes what a tool or an agent returns as JSON."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from uuid import UUID

from spakky.agent.error import AgentValueError
from spakky.agent.json_value import JsonValue


def encode_value(value: object, where: str = "result") -> JsonValue:
    """Give the JSON form of a Python value.

    Dataclasses become objects by field name, enums their values, date-times, dates and UUIDs text,
    and classes with ``model_dump`` what that method gives.

    Args:
        value: The value.
        where: What it is, for the message.

    Returns:
        Plain dicts, lists and scalars.

    Raises:
        AgentValueError: Something inside has no JSON form: a set, bytes, a number that is not
            finite, a key that is no text, another class, or a cycle. The message names its path
            and type, never the value.
    """
    try:
        return _encode(value, where)
    except RecursionError:
        message = f"{where}: the value is nested too deeply, or refers to itself."
        raise AgentValueError(message) from None


def _encode(value: object, where: str) -> JsonValue:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _encode(value.value, where)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float):
        return _encode_number(value, where)
    if isinstance(value, Mapping):
        return _encode_mapping(value, where)
    if isinstance(value, list | tuple):
        return [_encode(item, f"{where}[{index}]") for index, item in enumerate(value)]
    return _encode_object(value, where)


def _encode_number(value: float, where: str) -> JsonValue:
    if isinstance(value, int):
        return int(value)
    if math.isfinite(value):
        return float(value)
    message = f"{where}: a number that is not finite has no JSON form; return None or text."
    raise AgentValueError(message)


def _encode_mapping(value: Mapping[object, object], where: str) -> JsonValue:
    encoded: dict[str, JsonValue] = {}
    for key, item in value.items():
        plain = key.value if isinstance(key, Enum) else key
        if not isinstance(plain, str):
            message = f"{where}: a key of type {type(key).__name__} has no JSON form; use text."
            raise AgentValueError(message)
        encoded[str(plain)] = _encode(item, f"{where}.{plain}")
    return encoded


def _encode_object(value: object, where: str) -> JsonValue:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    # getattr: the class is recognised by the method's name, so that no library has to be imported.
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _encode(dump(mode="json"), where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            # getattr: the name comes from the class's own list of fields.
            field.name: _encode(getattr(value, field.name), f"{where}.{field.name}")
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_encode(item, f"{where}[{index}]") for index, item in enumerate(value)]
    message = (
        f"{where}: {type(value).__name__} has no JSON form; return a dataclass, a dict, a list,"
        " text, numbers, true, false or None."
    )
    raise AgentValueError(message)
