"""Decoders of single values: scalars, formatted texts and listed choices."""

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import assert_never
from uuid import UUID

from spakky.agent.declare.decode_error import misfit
from spakky.agent.declare.type_form import (
    ChoiceForm,
    FormattedForm,
    JsonType,
    LeafForm,
    ScalarForm,
    TextFormat,
)
from spakky.agent.json_value import JsonPrimitive

type Decoder = Callable[[object], object]

_DATE_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:(\.\d{1,6})\d*)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_MAX_LISTED_CHOICES = 20


def leaf_decoder(form: LeafForm) -> Decoder:
    """Give the decoder of a single value.

    Args:
        form: Its form.
    """
    match form:
        case ScalarForm(json_type=json_type):
            return _SCALAR_DECODERS[json_type]
        case FormattedForm(text_format=text_format):
            return _FORMAT_DECODERS[text_format]
        case ChoiceForm(choices=choices):
            return _choice_decoder(choices)
        case _:
            assert_never(form)


def _decode_text(value: object) -> object:
    if isinstance(value, str):
        return value
    raise misfit(value, "a string")


def _decode_integer(value: object) -> object:
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise misfit(value, "an integer")


def _decode_number(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise misfit(value, "a finite number")


def _decode_boolean(value: object) -> object:
    if isinstance(value, bool):
        return value
    raise misfit(value, "a boolean")


def _decode_null(value: object) -> object:
    if value is None:
        return value
    raise misfit(value, "null")


def _text_decoder(
    pattern: re.Pattern[str], expected: str, parse: Callable[[re.Match[str]], object]
) -> Decoder:
    def decode(value: object) -> object:
        match = pattern.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise misfit(value, expected)
        try:
            return parse(match)
        except ValueError:
            # The digits are in their places, but there is no such day or time.
            raise misfit(value, expected) from None

    return decode


def _parse_date_time(match: re.Match[str]) -> datetime:
    day, time, fraction, offset = match.groups()
    return datetime.fromisoformat(f"{day}T{time}{fraction or ''}{offset.upper()}")


_SCALAR_DECODERS: dict[JsonType, Decoder] = {
    JsonType.STRING: _decode_text,
    JsonType.INTEGER: _decode_integer,
    JsonType.NUMBER: _decode_number,
    JsonType.BOOLEAN: _decode_boolean,
    JsonType.NULL: _decode_null,
}
_FORMAT_DECODERS: dict[TextFormat, Decoder] = {
    TextFormat.DATE_TIME: _text_decoder(
        _DATE_TIME, "a date-time with an offset such as 2026-01-31T09:30:00Z", _parse_date_time
    ),
    TextFormat.DATE: _text_decoder(
        _DATE, "a date such as 2026-01-31", lambda match: date.fromisoformat(match[0])
    ),
    TextFormat.UUID: _text_decoder(_UUID, "a UUID", lambda match: UUID(match[0])),
}


def _choice_decoder(choices: tuple[tuple[JsonPrimitive, object], ...]) -> Decoder:
    values = {_choice_key(json_value): value for json_value, value in choices}
    shown = ", ".join(repr(json_value) for json_value, _ in choices[:_MAX_LISTED_CHOICES])
    hidden = len(choices) - _MAX_LISTED_CHOICES
    expected = f"one of {shown}" + (f" and {hidden} more" if hidden > 0 else "")
    missing = object()

    def decode(value: object) -> object:
        if value is None or isinstance(value, str | int | float):
            found = values.get(_choice_key(value), missing)
            if found is not missing:
                return found
        raise misfit(value, expected)

    return decode


def _choice_key(value: JsonPrimitive) -> tuple[type, object]:
    """Tell values apart as JSON does: true is not 1, but 1.0 is."""
    if isinstance(value, bool) or value is None:
        return (type(value), value)
    return (str, str(value)) if isinstance(value, str) else (float, value)
