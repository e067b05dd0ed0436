"""Makes, upgrades and checks the schema of the agent tables.

The migrations are an Alembic branch with the label ``spakky_agent`` and a place of its own. They
run in two ways, on the same database if need be: from here, or in an application's own Alembic
environment that names ``spakky.plugins.sqlalchemy.agent:migrations/versions`` among its
``version_locations``. Both leave the revision in ``spakky_agent_schema_version``.
"""

import asyncio
import threading
from pathlib import Path

from alembic import command
from alembic.config import Config

from spakky.agent.error import AgentPersistenceError
from spakky.plugins.sqlalchemy.agent.failures import (
    UPGRADE_HINT,
    describe_database,
    persistence_errors,
)
from spakky.plugins.sqlalchemy.agent.tables import VERSION_TABLE, schema_version
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import create_engine_for
from sqlalchemy import inspect, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

BRANCH = "spakky_agent"
"""The label of the branch, as in ``alembic upgrade spakky_agent@head``."""

HEAD = "spakky_agent_0001"
"""The revision that this version of the package needs. Revisions sort in their order."""

VERSIONS = "spakky.plugins.sqlalchemy.agent:migrations/versions"
"""The entry for ``version_locations`` of an application's Alembic configuration."""

_ADVISORY_LOCK = 0x7370616B6B79
"""Names the lock under which PostgreSQL serialises upgrades: the letters ``spakky``."""

# Alembic keeps the running environment in module globals, so a process runs one at a time.
_one_upgrade = threading.Lock()


async def upgrade(database: SqlalchemySettings | AsyncEngine, revision: str = "head") -> None:
    """Bring the agent tables to a revision; on a database that has it, nothing happens.

    Upgrades of several processes wait for each other, and each one is a single transaction.

    Args:
        database: The settings of the database, or an engine on it, of which only the URL is used.
        revision: A revision of the branch.

    Raises:
        AgentPersistenceError: The database failed; nothing was changed.
    """
    settings = _settings_of(database)
    # In a thread with a loop of its own: Alembic is synchronous and waits for the lock.
    await asyncio.to_thread(upgrade_now, settings, revision)


def upgrade_now(settings: SqlalchemySettings | None = None, revision: str = "head") -> None:
    """Do what ``upgrade`` does where no event loop runs, for example from a command line.

    Args:
        settings: The settings of the database; None reads them from the environment.
        revision: A revision of the branch.

    Raises:
        AgentPersistenceError: The database failed; nothing was changed.
    """
    chosen = SqlalchemySettings.from_environment() if settings is None else settings
    with _one_upgrade:
        asyncio.run(_upgrade(chosen, revision))


def _settings_of(database: SqlalchemySettings | AsyncEngine) -> SqlalchemySettings:
    if isinstance(database, SqlalchemySettings):
        return database
    return SqlalchemySettings(url=database.url.render_as_string(hide_password=False))


async def _upgrade(settings: SqlalchemySettings, revision: str) -> None:
    engine = create_engine_for(settings, pooled=False)
    try:
        with persistence_errors(settings.database_url, "upgrade the agent tables"):
            # SQLite begins IMMEDIATE, which is the same lock as that of other upgrades.
            async with engine.begin() as connection:
                if not settings.is_sqlite:
                    lock = text("SELECT pg_advisory_xact_lock(:key)")
                    await connection.execute(lock, {"key": _ADVISORY_LOCK})
                if revision != "head" or await read_revision(connection) != HEAD:
                    await connection.run_sync(_run_alembic, f"{BRANCH}@{revision}")
    finally:
        await engine.dispose()


def _run_alembic(connection: Connection, revision: str) -> None:
    config = Config()
    # The ini parser would read a percent sign of the path as an interpolation.
    location = str(Path(__file__).parent / "migrations").replace("%", "%%")
    config.set_main_option("script_location", location)
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


async def read_revision(connection: AsyncConnection) -> str | None:
    """Give the revision of the agent tables; None when there are none."""
    return await connection.run_sync(_recorded)


def _recorded(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(schema_version.c.version_num))


class SchemaGate:
    """Lets nobody to the tables before their schema is the one that this version needs.

    Args:
        settings: The settings of the database.
    """

    def __init__(self, settings: SqlalchemySettings) -> None:
        self._settings = settings
        self.is_open = False
        """Whether the schema was found right; looked at once in the life of a process."""

    async def open(self, engine: AsyncEngine) -> None:
        """Check the schema, and upgrade it where the settings say so.

        Args:
            engine: An engine of the running loop whose statements are transactions.

        Raises:
            AgentPersistenceError: The schema is missing, old or newer; the message says what to
                run. Or the database failed.
        """
        if self._settings.is_memory:
            message = (
                "Agents cannot keep their runs in a SQLite database in memory, which ends with its "
                "connection; name a file in SPAKKY_SQLALCHEMY__URL."
            )
            raise AgentPersistenceError(message)
        found = await self._read(engine)
        if (found is None or found < HEAD) and self._settings.upgrades_itself:
            await upgrade(self._settings)
            found = await self._read(engine)
        if found != HEAD:
            raise AgentPersistenceError(self._refusal(found))
        self.is_open = True

    async def _read(self, engine: AsyncEngine) -> str | None:
        async with engine.connect() as connection:
            return await read_revision(connection)

    def _refusal(self, found: str | None) -> str:
        where = describe_database(self._settings.database_url)
        if found is None:
            return f"The agent tables are missing in {where}; {UPGRADE_HINT}."
        if found < HEAD:
            return (
                f"The agent tables in {where} are at revision {found}, and this version needs "
                f"{HEAD}; {UPGRADE_HINT}."
            )
        return (
            f"The agent tables in {where} are at revision {found}, which is newer than {HEAD}, the "
            "one of this version; install the version of spakky-sqlalchemy that made them, or a "
            "later one."
        )
