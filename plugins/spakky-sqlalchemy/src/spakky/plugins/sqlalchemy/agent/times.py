"""The database's clock, in SQL, and the process's, for times that decide nothing.

A lease is measured by the database's clock, which all runners share. On SQLite, which has no
server, that is the clock of the machine as the library reads it.
"""

from datetime import UTC, datetime
from typing import Any

from spakky.plugins.sqlalchemy.column_types import UtcDateTime
from sqlalchemy import BindParameter, ColumnElement, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement


def now_utc() -> datetime:
    """Give the process's time, for ``created_at`` and ``updated_at``, which order nothing."""
    return datetime.now(UTC)


SQLITE_NOW = "strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now')"
"""SQLite's clock in the text that ``UtcDateTime`` stores, to the millisecond that it gives."""


class _DatabaseTime(FunctionElement[datetime]):
    """The database's time when the row is looked at, some seconds on."""

    type = UtcDateTime()
    inherit_cache = True
    name = "spakky_database_time"


def database_now() -> ColumnElement[datetime]:
    """Give the database's time, not that of the transaction's beginning."""
    return _DatabaseTime()


def database_in(seconds: float | BindParameter[float]) -> ColumnElement[datetime]:
    """Give the database's time in some seconds."""
    return _DatabaseTime(bindparam(None, seconds) if isinstance(seconds, int | float) else seconds)


@compiles(_DatabaseTime, "postgresql")
def _on_postgresql(
    element: _DatabaseTime,
    compiler: SQLCompiler,
    **options: Any,  # noqa: ANN401 - what the compiler passes on
) -> str:
    seconds = [compiler.process(clause, **options) for clause in element.clauses]
    if not seconds:
        return "clock_timestamp()"
    return f"clock_timestamp() + make_interval(secs => CAST({seconds[0]} AS double precision))"


@compiles(_DatabaseTime, "sqlite")
def _on_sqlite(
    element: _DatabaseTime,
    compiler: SQLCompiler,
    **options: Any,  # noqa: ANN401 - what the compiler passes on
) -> str:
    seconds = [compiler.process(clause, **options) for clause in element.clauses]
    if not seconds:
        return SQLITE_NOW
    return SQLITE_NOW.replace("'now'", f"'now', {seconds[0]} || ' seconds'")
