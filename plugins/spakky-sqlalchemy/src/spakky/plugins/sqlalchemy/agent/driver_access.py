"""The drivers without SQLAlchemy's layers, for the two things that happen at every boundary of a run.

Only the connection comes from the pool. A small statement costs ten times as much through SQLAlchemy as
on the driver alone, and a run of ten tool turns has forty of them.
"""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol, cast

from aiosqlite import Connection

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import greenlet_spawn

_GRACE_SECONDS = 0.5

type SqliteWork[T] = Callable[[sqlite3.Connection], T]


class _PostgresqlDriver(Protocol):
    """The part of an asyncpg connection that is used here."""

    async def fetchval(self, query: str, *args: object, timeout: float | None = None) -> object:  # noqa: ASYNC109 - the driver's
        """Run one statement and give the first value of its first row."""


@asynccontextmanager
async def borrow_driver(engine: AsyncEngine) -> AsyncGenerator[object]:
    """Take the driver's connection out of an engine's pool, without a transaction, and give it back.

    Raises:
        DBAPIError: PostgreSQL could not be connected to; ``orig`` is the driver's error.
        sqlite3.Error: SQLite could not.
    """
    try:
        borrowed = await engine.raw_connection()
    except (OSError, SQLAlchemyError, sqlite3.Error):
        raise
    except Exception as error:
        # The driver's errors have no common base, and its package is optional.
        raise DBAPIError(None, None, error) from error
    try:
        yield borrowed.driver_connection
    finally:
        # Called the way SQLAlchemy calls drivers, since giving back may have to await one.
        await greenlet_spawn(borrowed.close)


async def run_in_sqlite[T](driver: object, work: SqliteWork[T]) -> T:
    """Run a function with the library's own connection, in the thread that the connection belongs to.

    Args:
        driver: The borrowed connection.
        work: What to run. It leaves no transaction open.
    """
    # SQLAlchemy does not know the driver's types; the engine on SQLite is one of aiosqlite.
    connection = cast(Connection, driver)
    # Its public methods make one trip to the thread for each statement. What they all are made of is private,
    # and has been the same since its first releases. It is untyped, hence the last word.
    result: T = await connection._execute(work, connection._conn)  # type: ignore[no-untyped-call]
    return result


async def fetch_from_postgresql(driver: object, statement: str, values: Sequence[object]) -> object:
    """Run one statement, prepared once for each connection, and give the first value of its first row.

    Args:
        driver: The borrowed connection.
        statement: With ``$1`` and so on for its values.
        values: The values in their order.

    Raises:
        DBAPIError: The driver or the server refused it; ``orig`` is the driver's error.
        TimeoutError: There was no answer in time.
    """
    # As above: on PostgreSQL the engine is one of asyncpg, which has no types.
    connection = cast(_PostgresqlDriver, driver)
    try:
        return await connection.fetchval(statement, *values)
    except TimeoutError:
        # The driver asks the server to give the statement up; nothing that follows may come before it has.
        with suppress(Exception):
            await connection.fetchval("SELECT 1", timeout=_GRACE_SECONDS)
        raise
    except Exception as error:
        # As in borrow_driver.
        if isinstance(error, OSError):
            raise
        raise DBAPIError(None, None, error) from error
