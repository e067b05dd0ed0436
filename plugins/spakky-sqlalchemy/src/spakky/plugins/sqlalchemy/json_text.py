"""One JSON encoding for every column: what one database would refuse is replaced on both.

PostgreSQL's ``text`` and ``jsonb`` refuse U+0000 and lone surrogates, and JSON has no numbers for
NaN and the infinities; SQLite would take them all. So that the same value reads back on both:

=====================  ==========================================
in                     stored and read back
=====================  ==========================================
U+0000 in a text       U+FFFD, the replacement character
a lone surrogate       U+FFFD
NaN, ±infinity         the texts ``NaN``, ``Infinity``, ``-Infinity``
=====================  ==========================================
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import assert_never, cast

type Json = str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What stands where a character could not be stored."""

# A decoder joins a pair of surrogates, so every surrogate inside a text is a lone one.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# The encoder writes U+0000 as \u0000 and a surrogate as itself.
_SUSPECT = re.compile("\\\\u0000|[\ud800-\udfff]")


def _as_builtin(value: object) -> object:
    """Give the built-in form of a mapping or sequence that the encoder does not know.

    Raises:
        TypeError: The value is not JSON.
    """
    match value:
        case Mapping():
            return dict(value)
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
        case _:
            message = f"{type(value).__name__} is not JSON"
            raise TypeError(message)


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_as_builtin
)


def clean_text(value: str) -> str:
    """Replace the characters that not every database can store."""
    return _UNSTORABLE.sub(REPLACEMENT, value)


def clean_json(value: Json) -> Json:
    """Give a JSON value in which each text and number can be stored; see the table above."""
    match value:
        case str():
            return clean_text(value)
        case float():
            return value if math.isfinite(value) else _name_of(value)
        case bool() | int() | None:
            return value
        case Mapping():
            return {clean_text(key): clean_json(item) for key, item in value.items()}
        case Sequence():
            return [clean_json(item) for item in value]
        case _:
            assert_never(value)


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


class JsonText(str):
    """A text that ``dump_json`` made; encoding it again gives it back as it is."""

    __slots__ = ()


def dump_json(value: Json) -> str:
    """Encode a value for a column; keys keep their order.

    Raises:
        TypeError: The value is not JSON.
    """
    if type(value) is JsonText:
        return value
    return encode_stored(value)[0]


def encode_stored[T: Json](value: T) -> tuple[JsonText, T]:
    """Encode a value and say what reading it back will give.

    Returns:
        The text, and the value itself where nothing in it had to be replaced.

    Raises:
        TypeError: The value is not JSON.
    """
    try:
        text = _ENCODER.encode(value)
    except ValueError:
        # Only a number that JSON does not have gets here.
        return _encode_cleaned(value)
    if _SUSPECT.search(text) is None:
        return JsonText(text), value
    return _encode_cleaned(value)


def _encode_cleaned[T: Json](value: T) -> tuple[JsonText, T]:
    cleaned = clean_json(value)
    # Cleaning keeps objects objects, arrays arrays and texts texts; the type cannot say so.
    return JsonText(_ENCODER.encode(cleaned)), cast(T, cleaned)


def load_json(text: str) -> Json:
    """Decode what ``dump_json`` wrote."""
    # The decoder is untyped; it gives exactly the members of the union.
    value: Json = json.loads(text)
    return value
