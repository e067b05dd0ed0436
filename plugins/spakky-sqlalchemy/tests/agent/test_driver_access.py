"""The drivers' own connections: borrowed from the pool, given back in order, their errors told as SQLAlchemy's."""

import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError

from spakky.plugins.sqlalchemy.agent.driver_access import (
    borrow_driver,
    fetch_from_postgresql,
    run_in_sqlite,
)
from spakky.plugins.sqlalchemy.agent.failures import sqlstate_of
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_transaction_that_was_left_open_is_undone_when_the_connection_is_given_back(
    engines: DatabaseEngines,
) -> None:
    def leave_open(database: sqlite3.Connection) -> None:
        database.execute("CREATE TABLE probe (x)")
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO probe VALUES (1)")

    def look(database: sqlite3.Connection) -> tuple[bool, list[object]]:
        return database.in_transaction, database.execute("SELECT x FROM probe").fetchall()

    async with borrow_driver(engines.engine) as driver:
        await run_in_sqlite(driver, leave_open)
    async with borrow_driver(engines.engine) as driver:
        assert await run_in_sqlite(driver, look) == (False, [])


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_database_that_is_not_there_is_an_error_of_sqlalchemy_with_the_drivers_inside(
    settings: SqlalchemySettings,
) -> None:
    elsewhere = DatabaseEngines(settings.model_copy(update={"url": f"{settings.url}_gone"}))

    with pytest.raises(DBAPIError) as caught:
        async with borrow_driver(elsewhere.engine):
            pass

    assert sqlstate_of(caught.value) == "3D000"


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_statement_that_is_refused_is_an_error_of_sqlalchemy_with_the_drivers_inside(
    engines: DatabaseEngines,
) -> None:
    async with borrow_driver(engines.engine) as driver:
        with pytest.raises(DBAPIError) as caught:
            await fetch_from_postgresql(driver, "SELECT 1 / $1::int", (0,))
        assert await fetch_from_postgresql(driver, "SELECT $1::int + 1", (1,)) == 2

    assert sqlstate_of(caught.value) == "22012"


async def test_a_server_that_nobody_runs_is_the_error_of_the_system() -> None:
    engines = DatabaseEngines(SqlalchemySettings(url="postgresql://me@127.0.0.1:1/none"))

    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        async with borrow_driver(engines.engine):
            pass


async def test_a_connection_that_breaks_under_a_statement_is_the_error_of_the_system() -> None:
    class Broken:
        async def fetchval(self, *_: object) -> object:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await fetch_from_postgresql(Broken(), "SELECT 1", ())
