"""What contract values share when they are built: checks of their fields, and collections stored read-only."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum

from spakky.agent.checks import require_text
from spakky.agent.error import AbstractSpakkyAgentError, AgentValueError
from spakky.agent.json_value import freeze_object


def store_objects(value: object, *names: str) -> None:
    """Replace the named JSON object fields of a frozen value that is being built by read-only copies.

    Raises:
        AgentValueError: A field is no mapping.
    """
    for name in names:
        # getattr: the field is named by the caller, which is the value's own __post_init__
        given = getattr(value, name)
        try:
            frozen = freeze_object(given)
        except (TypeError, ValueError):
            where = f"{type(value).__name__}.{name}"
            message = f"{where} must be a mapping with text keys, not {type(given).__name__}."
            raise AgentValueError(message) from None
        object.__setattr__(value, name, frozen)


def store_tuples(value: object, *names: str) -> None:
    """Replace the named sequence fields of a frozen value that is being built by tuples.

    Raises:
        AgentValueError: A field is a text, which would fall apart into its characters, or no collection.
    """
    for name in names:
        # getattr: the field is named by the caller, which is the value's own __post_init__
        given = getattr(value, name)
        if isinstance(given, tuple):
            continue
        if isinstance(given, str | bytes) or not isinstance(given, Sequence):
            where = f"{type(value).__name__}.{name}"
            message = f"{where} must be a tuple or list, not {type(given).__name__}."
            raise AgentValueError(message)
        object.__setattr__(value, name, tuple(given))


def store_texts(value: object, *names: str) -> None:
    """Replace the named fields of a frozen value that is being built by tuples of texts.

    Raises:
        AgentValueError: A field is no tuple or list, or an entry is no text or blank.
    """
    store_tuples(value, *names)
    for name in names:
        # getattr: as above
        for text in getattr(value, name):
            require_text(text, f"{type(value).__name__}.{name}")


def require_member(value: object, members: type[StrEnum], where: str) -> None:
    """Refuse anything but a member of that enum, a text with a member's value included.

    Raises:
        AgentValueError: The value is no member; the message lists the members.
    """
    if not isinstance(value, members):
        names = ", ".join(member.name for member in members)
        message = f"{where} must be a member of {members.__name__} ({names}), not {value!r}."
        raise AgentValueError(message)


def require_count(
    value: int | None,
    where: str,
    *,
    least: int = 0,
    error: type[AbstractSpakkyAgentError] = AgentValueError,
) -> None:
    """Refuse anything but a whole number of at least ``least``; None passes.

    Raises:
        AgentValueError: Or the class given as ``error``: another type, a truth value, or a number below ``least``.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        message = f"{where} must be a whole number of at least {least}, not {value!r}."
        raise error(message)


def require_aware(value: datetime | None, where: str) -> None:
    """Refuse a point in time without a zone, which would mean another time on another machine; None passes.

    Raises:
        AgentValueError: The value is no ``datetime``, or is a naive one.
    """
    if value is None:
        return
    if not isinstance(value, datetime) or value.utcoffset() is None:
        message = f"{where} must be a datetime with a time zone, for example datetime.now(UTC)."
        raise AgentValueError(message)


def to_utc_text(value: datetime) -> str:
    """Write an aware point in time as ISO 8601 text in UTC, for example ``2026-01-31T12:00:00Z``."""
    return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
