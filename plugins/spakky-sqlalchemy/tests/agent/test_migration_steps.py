"""What the migrations record, whoever runs them."""

import asyncio
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations

from spakky.plugins.sqlalchemy.agent import migrate
from spakky.plugins.sqlalchemy.agent.migrate import upgrade
from spakky.plugins.sqlalchemy.agent.migration_steps import downgrade_step, upgrade_step
from spakky.plugins.sqlalchemy.agent.tables import VERSION_TABLE
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines


def _recorded(connection: sa.Connection) -> list[str]:
    query = sa.text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - a constant
    return list(connection.scalars(query))


async def test_steps_of_an_applications_environment_are_recorded_and_run_once(
    blank_settings: SqlalchemySettings,
) -> None:
    ran: list[str] = []

    def steps(connection: sa.Connection) -> None:
        with Operations.context(MigrationContext.configure(connection)):
            for revision in ("a_0001", "a_0002", "a_0001", "a_0002"):
                upgrade_step(revision)(partial(ran.append, revision))()
            assert _recorded(connection) == ["a_0002"]
            downgrade_step("a_0001")(lambda: ran.append("back"))()
            assert _recorded(connection) == ["a_0001"]
            downgrade_step(None)(lambda: ran.append("gone"))()
        assert not sa.inspect(connection).has_table(VERSION_TABLE)

    engines = DatabaseEngines(blank_settings)
    async with engines.engine.begin() as connection:
        await connection.run_sync(steps)
    assert ran == ["a_0001", "a_0002", "back", "gone"]


async def test_steps_of_our_own_environment_leave_the_record_to_alembic(
    blank_settings: SqlalchemySettings,
) -> None:
    await upgrade(blank_settings)
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))

    def back(connection: sa.Connection) -> set[str]:
        config.attributes["connection"] = connection
        command.downgrade(config, "spakky_agent@base")
        assert _recorded(connection) == []
        return set(sa.inspect(connection).get_table_names())

    engines = DatabaseEngines(blank_settings)
    async with engines.engine.begin() as connection:
        assert await connection.run_sync(back) == {VERSION_TABLE}
    await asyncio.gather(upgrade(blank_settings), upgrade(blank_settings))
    async with engines.engine.connect() as connection:
        assert await connection.run_sync(_recorded) == [migrate.HEAD]
