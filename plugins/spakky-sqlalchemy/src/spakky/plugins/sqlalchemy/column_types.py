"""Column types that give the same values back on SQLite and PostgreSQL."""

from datetime import UTC, datetime
from typing import Any, override

from spakky.plugins.sqlalchemy.error import UnstorableValueError
from spakky.plugins.sqlalchemy.json_text import clean_text
from sqlalchemy import JSON, DateTime, String, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

_ISO_LENGTH = 32


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time: aware in, aware and in UTC out.

    PostgreSQL stores ``timestamp with time zone``. SQLite has no such type; it stores ISO text of
    fixed width in UTC, which sorts as the times do.

    Raises:
        UnstorableValueError: A value without zone, which the drivers would read as local time or
            as UTC, each as it likes.
    """

    impl = DateTime
    cache_ok = True

    @override
    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[datetime] | TypeEngine[str]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(DateTime(timezone=True))
        return dialect.type_descriptor(String(_ISO_LENGTH))

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | str | None:
        if value is None:
            return None
        return to_utc(value) if dialect.name == "postgresql" else to_iso(value)

    @override
    def process_result_value(
        self, value: datetime | str | None, dialect: Dialect
    ) -> datetime | None:
        if isinstance(value, str):
            return datetime.fromisoformat(value).astimezone(UTC)
        return None if value is None else value.astimezone(UTC)


def to_utc(value: datetime) -> datetime:
    """Give the same point in time in UTC.

    Raises:
        UnstorableValueError: The value has no zone.
    """
    if value.tzinfo is None:
        message = (
            f"The time {value.isoformat()} has no zone; give an aware one, for example "
            "datetime.now(UTC)."
        )
        raise UnstorableValueError(message)
    return value.astimezone(UTC)


def to_iso(value: datetime) -> str:
    """Give the fixed-width UTC text of a point in time.

    Raises:
        UnstorableValueError: The value has no zone.
    """
    return to_utc(value).isoformat(timespec="microseconds")


def json_document() -> TypeEngine[Any]:
    """Give the type of a JSON value that comes back as it was: keys keep their order.

    ``json`` on PostgreSQL, text on SQLite. None is the SQL NULL. The engine's encoder, which
    ``create_engine_for`` sets to ``dump_json``, replaces what cannot be stored.
    """
    return JSON(none_as_null=True)


def json_data() -> TypeEngine[Any]:
    """Give the type of a JSON value to be queried: ``jsonb`` on PostgreSQL.

    It sorts the keys, and writes a float that JSON spells with an exponent out as an integer, which
    above 2**53 may not be equal to it any more. Otherwise like ``json_document``.
    """
    return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class StorableText(TypeDecorator[str]):
    """A text in which a character that not every database can store is replaced when written."""

    impl = Text
    cache_ok = True

    @override
    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean_text(value)
