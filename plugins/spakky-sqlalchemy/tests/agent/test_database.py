"""The access to the database that the repositories share."""

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from spakky.agent.error import AgentPersistenceError
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.write_set import WriteSet
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines


@pytest.mark.parametrize("refusals", [0, 1, 3])
async def test_a_read_that_meets_a_lock_is_repeated(
    engines: DatabaseEngines, refusals: int
) -> None:
    calls = 0

    async def work(connection: AsyncConnection) -> object:
        nonlocal calls
        calls += 1
        if calls <= refusals:
            statement = "SELECT 1"
            raise OperationalError(statement, None, Exception("database is locked"))
        return (await connection.exec_driver_sql("SELECT 7")).scalar_one()

    assert await AgentDatabase(engines).read("look", work) == 7
    assert calls == refusals + 1


async def test_a_read_that_fails_otherwise_is_not_repeated(engines: DatabaseEngines) -> None:
    calls = 0

    async def work(connection: AsyncConnection) -> object:
        nonlocal calls
        calls += 1
        return await connection.exec_driver_sql("SELECT nothing")

    with pytest.raises(AgentPersistenceError, match="Could not look"):
        await AgentDatabase(engines).read("look", work)
    assert calls == 1


async def test_a_commit_of_nothing_asks_the_database_nothing() -> None:
    # No database is behind the settings, and none is missed.
    settings = SqlalchemySettings(url="postgresql://127.0.0.1:1/none")
    await AgentDatabase(DatabaseEngines(settings)).commit("commit", WriteSet())
