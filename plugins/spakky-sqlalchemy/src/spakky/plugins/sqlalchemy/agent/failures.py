"""Turns the exceptions of SQLAlchemy and the drivers into ``AgentPersistenceError``.

A driver's exception carries the statement and its values; so does its text. Neither is passed on:
the message has the driver's error class and, where it cannot quote a stored value, its first line.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from spakky.agent.error import AgentPersistenceError
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

UPGRADE_HINT = (
    "run `await spakky.plugins.sqlalchemy.agent.migrate.upgrade(settings)`, or `alembic upgrade "
    "heads` in an application whose Alembic environment includes the spakky_agent branch"
)
"""What to run when the schema is not the one that this version needs."""

_SCHEMA = (
    f"its agent tables are missing or belong to another version; {UPGRADE_HINT.capitalize()}"
).replace("Run", "run", 1)
_READ_ONLY = "it is read-only; give the process the right to write, or name another database"
_FULL = "its disk is full; make room and try again"
_BUSY = (
    "another writer kept its lock too long; try again, and look for a transaction that is held "
    "open while something else is awaited"
)
_UNREACHABLE = "it cannot be reached; start it or correct SPAKKY_SQLALCHEMY__URL, and try again"
_LOST = (
    "the connection was lost in the middle; read the state again to see whether the write is there"
)
_REFUSED_LOGIN = "it refused the login; correct the user and password in SPAKKY_SQLALCHEMY__URL"
_TOO_MANY = "it has no free connection; lower pool_size or raise the server's limit"
_POOL = "every connection of the pool is in use; raise SPAKKY_SQLALCHEMY__POOL_SIZE"
_SLOW = "it did not answer in time; try again, or raise SPAKKY_SQLALCHEMY__COMMAND_TIMEOUT_SECONDS"
_COLLISION = "another transaction got in the way; try again"
_RULE = "a rule of its schema refused the row"
_DAMAGED = "the file is damaged or no SQLite database; restore it from a copy"

_BY_SQLSTATE = {
    "42P01": _SCHEMA,
    "42703": _SCHEMA,
    "42883": _SCHEMA,
    "3F000": _SCHEMA,
    "3D000": _UNREACHABLE,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "53100": _FULL,
    "53300": _TOO_MANY,
    "55P03": _BUSY,
    "57014": _SLOW,
    "57P01": _LOST,
    "57P02": _LOST,
    "57P03": _UNREACHABLE,
    "40001": _COLLISION,
    "40P01": _COLLISION,
}
_BY_SQLSTATE_CLASS = {"08": _LOST, "28": _REFUSED_LOGIN, "53": _FULL}

_BY_SQLITE_TEXT = (
    ("no such table", _SCHEMA),
    ("no such column", _SCHEMA),
    ("has no column", _SCHEMA),
    ("readonly database", _READ_ONLY),
    ("is full", _FULL),
    ("is locked", _BUSY),
    ("unable to open", _UNREACHABLE),
    ("malformed", _DAMAGED),
    ("not a database", _DAMAGED),
    ("disk i/o error", _FULL),
)


def describe_database(url: URL) -> str:
    """Name a database for people, without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return f"the SQLite database {url.database or ':memory:'}"
    port = "" if url.port is None else f":{url.port}"
    return f"the PostgreSQL database {url.database!r} at {url.host or 'the local socket'}{port}"


def driver_error(error: BaseException) -> BaseException:
    """Give the driver's own exception inside one of SQLAlchemy's."""
    orig = error.orig if isinstance(error, DBAPIError) else None
    return error if orig is None else orig


def sqlstate_of(error: BaseException) -> str | None:
    """Give the SQLSTATE of a PostgreSQL error; None for others."""
    # The driver's errors have no common type; those of asyncpg have this attribute.
    state = getattr(driver_error(error), "sqlstate", None)
    return state if isinstance(state, str) else None


@contextmanager
def persistence_errors(url: URL, action: str) -> Iterator[None]:
    """Turn what goes wrong inside into ``AgentPersistenceError``.

    Args:
        url: The database.
        action: What was being done, as in ``save state 'a'``.

    Raises:
        AgentPersistenceError: Something of the database or its driver went wrong.
    """
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        message = (
            f"Could not {action}: {describe_database(url)} failed: {_advice(error)}. "
            f"({_technical(error)})"
        )
        raise AgentPersistenceError(message) from None


def _advice(error: Exception) -> str:
    if isinstance(error, PoolTimeoutError):
        return _POOL
    state = sqlstate_of(error)
    if state is not None:
        general = _BY_SQLSTATE_CLASS.get(state[:2], f"it refused the statement with {state}")
        return _BY_SQLSTATE.get(state, general)
    if isinstance(error, DBAPIError | sqlite3.Error):
        return _advice_on_driver(driver_error(error))
    if isinstance(error, TimeoutError):
        return _SLOW
    return _UNREACHABLE if isinstance(error, OSError) else "the statement could not be run"


def _advice_on_driver(error: BaseException) -> str:
    text = str(error).lower()
    for part, advice in _BY_SQLITE_TEXT:
        if part in text:
            return advice
    return _RULE if isinstance(error, sqlite3.IntegrityError) else _LOST


def _technical(error: Exception) -> str:
    cause = driver_error(error)
    name = type(cause).__name__
    state = sqlstate_of(error)
    if state is not None:
        return f"{name} {state}"
    # SQLite's texts name tables and columns, never values; an OSError's name no value either.
    has_safe_text = isinstance(cause, sqlite3.Error | OSError)
    return f"{name}: {cause}" if has_safe_text else name
