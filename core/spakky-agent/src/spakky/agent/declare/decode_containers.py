"""Decoders of values that hold others: arrays, objects, unions and classes."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from spakky.agent.declare.decode_error import DecodeMismatch, misfit, show_key
from spakky.agent.declare.decode_leaves import Decoder

_MAX_TOLD_ERRORS = 5


def array_decoder(decode_item: Decoder, *, as_tuple: bool) -> Decoder:
    """Give the decoder of an array of any length.

    Args:
        decode_item: Decodes an item.
        as_tuple: Whether a tuple is made; else a list.
    """

    def decode(value: object) -> object:
        decoded: list[object] = []
        for item in _require_array(value):
            try:
                decoded.append(decode_item(item))
            except DecodeMismatch as mismatch:
                raise mismatch.under(len(decoded)) from None
        return tuple(decoded) if as_tuple else decoded

    return decode


def tuple_decoder(decoders: tuple[Decoder, ...]) -> Decoder:
    """Give the decoder of an array of fixed length.

    Args:
        decoders: One for each position.
    """

    def decode(value: object) -> object:
        items = _require_array(value)
        if len(items) != len(decoders):
            problem = f"expected an array of {len(decoders)} items, got {len(items)}."
            raise DecodeMismatch(problem)
        decoded: list[object] = []
        for decode_item, item in zip(decoders, items, strict=True):
            try:
                decoded.append(decode_item(item))
            except DecodeMismatch as mismatch:
                raise mismatch.under(len(decoded)) from None
        return tuple(decoded)

    return decode


def _require_array(value: object) -> Sequence[object]:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return value
    raise misfit(value, "an array")


def mapping_decoder(decode_item: Decoder) -> Decoder:
    """Give the decoder of an object with any keys.

    Args:
        decode_item: Decodes a value.
    """

    def decode(value: object) -> object:
        decoded: dict[str, object] = {}
        given: Mapping[str, object] = require_object(value)
        for key, item in given.items():
            try:
                decoded[key] = decode_item(item)
            except DecodeMismatch as mismatch:
                raise mismatch.under(key) from None
        return decoded

    return decode


def require_object[ValueT](value: Mapping[str, ValueT] | object) -> Mapping[str, ValueT]:
    """Refuse anything but an object with text keys.

    Args:
        value: The value.

    Returns:
        The value itself.

    Raises:
        DecodeMismatch: It is something else.
    """
    if not isinstance(value, Mapping):
        raise misfit(value, "an object")
    if not all(isinstance(key, str) for key in value):
        problem = "expected an object whose keys are all strings."
        raise DecodeMismatch(problem)
    return value


def record_decoder(
    name: str,
    construct: Callable[..., object],
    decoders: Mapping[str, Decoder],
    required: Sequence[str],
) -> Decoder:
    """Give the decoder of a closed object that arrives as an instance of a class.

    Args:
        name: The class's name, for messages.
        construct: Makes the instance from keyword arguments.
        decoders: One for each key.
        required: The keys that must be given.
    """

    def decode(value: object) -> object:
        given: Mapping[str, object] = require_object(value)
        # Keys first: between classes in a union they decide at once, without looking at the values.
        require_keys(given, decoders, required)
        decoded: dict[str, object] = {}
        for key, item in given.items():
            try:
                decoded[key] = decoders[key](item)
            except DecodeMismatch as mismatch:
                raise mismatch.under(key) from None
        try:
            return construct(**decoded)
        except Exception as error:  # noqa: BLE001  # whatever a class raises, the values are refused
            # The class's own message may quote a value, so only its kind is told.
            problem = f"{name} refused these values ({type(error).__name__})."
            raise DecodeMismatch(problem) from None

    return decode


def require_keys(
    given: Mapping[str, object], known: Mapping[str, object], required: Sequence[str]
) -> None:
    """Refuse keys that are unknown, and required keys that are missing.

    Args:
        given: The object.
        known: Has every key that is allowed.
        required: The keys that must be given.

    Raises:
        DecodeMismatch: The message lists all such keys, and the keys that are allowed.
    """
    problems: list[str] = []
    missing = [key for key in required if key not in given]
    if missing:
        problems.append(f"missing {_show_keys(missing)}")
    unknown = [key for key in given if key not in known]
    if unknown:
        problems.append(f"unknown {_show_keys(unknown)}")
    if problems:
        allowed = f"allowed: {_show_keys(known)}" if known else "no keys are allowed"
        problem = f"{'; '.join(problems)} ({allowed})."
        raise DecodeMismatch(problem)


def _show_keys(keys: Iterator[str] | Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(map(show_key, keys))


def foreign_decoder(name: str, validate: Callable[[object], object]) -> Decoder:
    """Give the decoder of a class that validates by itself; how strictly is the class's choice.

    Args:
        name: The class's name, for messages.
        validate: Makes the instance or raises.
    """

    def decode(value: object) -> object:
        try:
            return validate(value)
        except Exception as error:  # noqa: BLE001  # whatever a class raises, the value is refused
            problem = f"{name} refused the value ({_tell_refusal(error)})."
            raise DecodeMismatch(problem) from None

    return decode


def _tell_refusal(error: Exception) -> str:
    """Tell places and error types where the error lists them; its message may quote the value."""
    # getattr: pydantic's errors have the method; other libraries may have none or another one.
    list_errors = getattr(error, "errors", None)
    listed: object = list_errors() if callable(list_errors) else None
    told: list[str] = []
    for item in listed[:_MAX_TOLD_ERRORS] if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("type"), str):
            place = ".".join(map(str, item.get("loc", ())))
            told.append(f"{place}: {item['type']}" if place else item["type"])
    return "; ".join(told) or type(error).__name__


def optional_decoder(decode_other: Decoder) -> Decoder:
    """Give the decoder of null or one other form.

    Args:
        decode_other: Decodes what is not null.
    """

    def decode(value: object) -> object:
        if value is None:
            return None
        try:
            return decode_other(value)
        except DecodeMismatch as mismatch:
            if mismatch.path or mismatch.expected is None:
                raise
            expected = f"{mismatch.expected} or null"
            raise misfit(value, expected) from None

    return decode


def union_decoder(decoders: Sequence[Decoder], exact: Mapping[type, Decoder]) -> Decoder:
    """Give the decoder of a union: the first option that takes the value decides.

    Args:
        decoders: Of the options, in their order.
        exact: Decoders that are asked first for values of exactly that class, so that ``3`` stays
            an integer in ``float | int``.
    """

    def decode(value: object) -> object:
        first = exact.get(type(value))
        if first is not None:
            try:
                return first(value)
            except DecodeMismatch:
                # Another option may still take it.
                pass
        mismatches: list[DecodeMismatch] = []
        for decode_option in decoders:
            try:
                return decode_option(value)
            except DecodeMismatch as mismatch:
                mismatches.append(mismatch)
        raise _most_telling(mismatches, value)

    return decode


def _most_telling(mismatches: Sequence[DecodeMismatch], value: object) -> DecodeMismatch:
    """Choose the option that came furthest; when all refused the kind, name all kinds."""
    furthest = max(mismatches, key=lambda item: (len(item.path), item.expected is None))
    kinds = [item.expected for item in mismatches if item.expected is not None]
    if furthest.path or furthest.expected is None:
        return furthest
    return misfit(value, " or ".join(dict.fromkeys(kinds)))
