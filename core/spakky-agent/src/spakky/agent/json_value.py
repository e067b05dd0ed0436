"""JSON as Python values: the types, an object that cannot be changed, and the two encodings that the loop needs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Never, Self, override

type JsonPrimitive = str | int | float | bool | None
type JsonValue = JsonPrimitive | Sequence[JsonValue] | Mapping[str, JsonValue]
type JsonObject = Mapping[str, JsonValue]


class FrozenObject(dict[str, JsonValue]):
    """A JSON object that refuses changes; still a ``dict`` for every encoder, copier and comparison.

    It is hashable by identity of content only where its values are, so it can be a dataclass default.
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> Never:
        message = "This JSON object is read-only; build a new one instead."
        raise TypeError(message)

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    @override
    def __hash__(self) -> int:  # type: ignore[override]  # dict declares itself unhashable; this one does not change
        return hash(tuple(sorted(self)))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    @override
    def __reduce__(self) -> tuple[type["FrozenObject"], tuple[dict[str, JsonValue]]]:
        return (type(self), (dict(self),))


EMPTY_OBJECT: JsonObject = FrozenObject()
"""The empty JSON object, shared by every default."""


def freeze_object(value: Mapping[str, JsonValue] | Iterable[tuple[str, JsonValue]]) -> JsonObject:
    """Give a read-only copy of a JSON object; a frozen one is returned as it is."""
    if isinstance(value, FrozenObject):
        return value
    return FrozenObject(value) if value else EMPTY_OBJECT


def dump_canonical(value: JsonValue) -> str:
    """Encode a JSON value so that equal values give equal text: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: A number is not finite.
        TypeError: The value is not JSON.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest_value(value: JsonValue) -> str:
    """Give the SHA-256 of the canonical encoding, as ``sha256:`` and 64 hexadecimal digits."""
    text = dump_canonical(value).encode("utf-8", "surrogatepass")
    return f"sha256:{sha256(text).hexdigest()}"


def clean_text(text: str) -> str:
    """Replace what no database and few models take, NUL and lone surrogates, by U+FFFD."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "�").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_value(value: JsonValue) -> JsonValue:
    """Clean every text and key of a JSON value as ``clean_text`` does; NaN and infinities become their names."""
    match value:
        case str():
            return clean_text(value)
        case float() if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124 - NaN is unequal to itself
            return str(value)
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {clean_text(key): clean_value(item) for key, item in value.items()}
        case _:
            return [clean_value(item) for item in value]
