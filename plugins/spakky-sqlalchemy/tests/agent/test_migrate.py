"""The schema: made, upgraded, checked, and living beside an application's own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import CommandLine, Config
from alembic.migration import MigrationContext

from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentPersistenceError
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.plugins.sqlalchemy.agent import migrate
from spakky.plugins.sqlalchemy.agent.migrate import HEAD, read_revision, upgrade, upgrade_now
from spakky.plugins.sqlalchemy.agent.tables import VERSION_TABLE, metadata
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

type BuildPorts = Callable[[DatabaseEngines], PortsUnderTest]

RUN = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)


async def _revision(settings: SqlalchemySettings) -> str | None:
    engines = DatabaseEngines(settings)
    async with engines.engine.connect() as connection:
        return await read_revision(connection)


async def _set_revision(settings: SqlalchemySettings, revision: str) -> None:
    engines = DatabaseEngines(settings)
    async with engines.engine.begin() as connection:
        await connection.execute(
            sa.text(f"UPDATE {VERSION_TABLE} SET version_num = :new"),  # noqa: S608 - a constant
            {"new": revision},
        )


async def _table_names(settings: SqlalchemySettings) -> set[str]:
    engines = DatabaseEngines(settings)

    def read(connection: sa.Connection) -> set[str]:
        return set(sa.inspect(connection).get_table_names())

    async with engines.engine.connect() as connection:
        return await connection.run_sync(read)


@pytest.mark.requirement("SQL-5")
async def test_an_upgrade_makes_the_tables_once(blank_settings: SqlalchemySettings) -> None:
    assert await _revision(blank_settings) is None
    await upgrade(blank_settings)
    assert await _table_names(blank_settings) == set(metadata.tables)
    assert await _revision(blank_settings) == HEAD
    await upgrade(blank_settings)
    await upgrade(blank_settings, HEAD)
    assert await _revision(blank_settings) == HEAD


async def test_an_engine_names_the_database_as_well(blank_settings: SqlalchemySettings) -> None:
    engines = DatabaseEngines(blank_settings)
    await upgrade(engines.engine)
    assert await _revision(blank_settings) == HEAD


def test_a_command_line_upgrades_the_database_of_the_environment(
    blank_settings: SqlalchemySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__URL", blank_settings.url)
    upgrade_now()
    assert asyncio.run(_revision(blank_settings)) == HEAD


@pytest.mark.requirement("SQL-5")
async def test_the_migrations_make_what_the_tables_declare(settings: SqlalchemySettings) -> None:
    engines = DatabaseEngines(settings)

    def compare(connection: sa.Connection) -> object:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        return compare_metadata(context, metadata)

    async with engines.engine.connect() as connection:
        assert await connection.run_sync(compare) == []


async def test_upgrades_at_once_wait_for_each_other(blank_settings: SqlalchemySettings) -> None:
    program = "from spakky.plugins.sqlalchemy.agent.migrate import upgrade_now; upgrade_now()"
    environment = {**os.environ, "SPAKKY_SQLALCHEMY__URL": blank_settings.url}

    def in_another_process() -> None:
        command = [sys.executable, "-c", program]
        subprocess.run(command, env=environment, check=True, timeout=60)

    await asyncio.gather(
        *(upgrade(blank_settings) for _ in range(4)),
        asyncio.to_thread(in_another_process),
    )
    assert await _revision(blank_settings) == HEAD


async def test_an_upgrade_that_fails_leaves_nothing(
    blank_settings: SqlalchemySettings,
) -> None:
    engines = DatabaseEngines(blank_settings)
    async with engines.engine.begin() as connection:
        # In the way of the migration, and not its first table.
        await connection.execute(sa.text("CREATE TABLE spakky_agent_evidence (x INTEGER)"))
    with pytest.raises(AgentPersistenceError, match="upgrade the agent tables"):
        await upgrade(blank_settings)
    assert await _table_names(blank_settings) == {"spakky_agent_evidence"}


@pytest.mark.parametrize("auto_migrate", [None, True, False])
async def test_the_first_use_makes_the_tables_only_where_that_is_wanted(
    blank_settings: SqlalchemySettings,
    build_ports: BuildPorts,
    dialect: str,
    *,
    auto_migrate: bool | None,
) -> None:
    settings = blank_settings.model_copy(update={"auto_migrate": auto_migrate})
    engines = DatabaseEngines(settings)
    ports = build_ports(engines)
    if auto_migrate or (auto_migrate is None and dialect == "sqlite"):
        await asyncio.gather(*(ports.states.get_or_none("run") for _ in range(5)))
        assert (await ports.states.save(RUN)).version == 1
        return
    for _ in range(2):
        with pytest.raises(AgentPersistenceError, match=r"are missing in .*; run `await"):
            await ports.states.save(RUN)
    await upgrade(settings)
    assert (await ports.states.save(RUN)).version == 1


async def test_an_old_schema_is_refused_with_what_to_run(
    settings: SqlalchemySettings, build_ports: BuildPorts
) -> None:
    await _set_revision(settings, "spakky_agent_0000")
    engines = DatabaseEngines(settings.model_copy(update={"auto_migrate": False}))
    with pytest.raises(AgentPersistenceError, match=f"spakky_agent_0000, .*{HEAD}; run `await"):
        await build_ports(engines).states.save(RUN)


@pytest.mark.parametrize("auto_migrate", [True, False])
async def test_a_newer_schema_is_refused_and_left_alone(
    settings: SqlalchemySettings, build_ports: BuildPorts, *, auto_migrate: bool
) -> None:
    await _set_revision(settings, "spakky_agent_9999")
    engines = DatabaseEngines(settings.model_copy(update={"auto_migrate": auto_migrate}))
    with pytest.raises(AgentPersistenceError, match="spakky_agent_9999, which is newer"):
        await build_ports(engines).states.save(RUN)
    assert await _revision(settings) == "spakky_agent_9999"


async def test_tables_that_vanish_later_are_told_with_what_to_run(
    engines: DatabaseEngines, ports: PortsUnderTest
) -> None:
    await ports.states.save(RUN)
    async with engines.engine.begin() as connection:
        await connection.execute(sa.text("DROP TABLE spakky_agent_states"))
    with pytest.raises(AgentPersistenceError, match=r"tables are missing .*; run `await"):
        await ports.states.get("run")


async def test_a_database_in_memory_is_refused(build_ports: BuildPorts) -> None:
    engines = DatabaseEngines(SqlalchemySettings(url="sqlite://"))
    with pytest.raises(AgentPersistenceError, match="name a file"):
        await build_ports(engines).states.save(RUN)


def test_the_head_is_the_last_revision_of_the_branch() -> None:
    folder = Path(migrate.__file__).parent / "migrations" / "versions"
    assert max(path.stem for path in folder.glob("spakky_agent_*.py")) == HEAD


# ------------------------------------------- beside an application's own migrations


INI = """\
[alembic]
script_location = %(here)s
path_separator = newline
version_locations = %(here)s/versions
    {versions}
"""

ENVIRONMENT = """\
import asyncio
import sqlalchemy as sa
from alembic import context
from sqlalchemy.ext.asyncio import create_async_engine
from spakky.plugins.sqlalchemy.agent.tables import metadata as agent_metadata

metadata = sa.MetaData()
sa.Table("customers", metadata, sa.Column("id", sa.Integer, primary_key=True))

def migrate(connection):
    context.configure(
        connection=connection, target_metadata=[metadata, agent_metadata]
    )
    with context.begin_transaction():
        context.run_migrations()

async def connect():
    engine = create_async_engine({url})
    async with engine.begin() as connection:
        await connection.run_sync(migrate)
    await engine.dispose()

asyncio.run(connect())
"""

FIRST_REVISION = """\
import sqlalchemy as sa
from alembic import op

revision = "first"
down_revision = None

def upgrade():
    op.create_table(
        "customers", sa.Column("id", sa.Integer, primary_key=True)
    )

def downgrade():
    op.drop_table("customers")
"""


class Application:
    """An application with an Alembic environment of its own, used by its commands."""

    def __init__(self, folder: Path, settings: SqlalchemySettings) -> None:
        self._folder = folder
        versions = folder / "versions"
        versions.mkdir(parents=True)
        (folder / "alembic.ini").write_text(INI.replace("{versions}", migrate.VERSIONS))
        (folder / "env.py").write_text(ENVIRONMENT.replace("{url}", repr(settings.url)))
        (versions / "first.py").write_text(FIRST_REVISION)

    async def alembic(self, *arguments: str) -> str:
        """Run the command as the documentation shows it, and give what it printed."""
        output, command = StringIO(), CommandLine()
        options = command.parser.parse_args(arguments)
        config = Config(self._folder / "alembic.ini", stdout=output, cmd_opts=options)
        # In a thread, since the environment runs an event loop of its own.
        await asyncio.to_thread(command.run_cmd, config, options)
        return output.getvalue()


@pytest.fixture
def application(tmp_path: Path, blank_settings: SqlalchemySettings) -> Application:
    return Application(tmp_path / "application", blank_settings)


@pytest.mark.requirement("SQL-5")
@pytest.mark.parametrize("has_own_tables", [False, True])
async def test_an_application_upgrades_both_branches_with_its_own_command(
    application: Application,
    blank_settings: SqlalchemySettings,
    build_ports: BuildPorts,
    *,
    has_own_tables: bool,
) -> None:
    if has_own_tables:
        await application.alembic("upgrade", "first")
    await application.alembic("upgrade", "heads")
    assert await _table_names(blank_settings) == {
        "alembic_version",
        "customers",
        *metadata.tables,
    }
    # What the package looks at before it works is right as well.
    engines = DatabaseEngines(blank_settings)
    assert (await build_ports(engines).states.save(RUN)).version == 1
    await upgrade(blank_settings)
    assert "No new upgrade operations detected" in await application.alembic("check")
    assert len((await application.alembic("heads")).splitlines()) == 2


async def test_an_application_can_take_over_tables_that_upgraded_themselves(
    application: Application, blank_settings: SqlalchemySettings, build_ports: BuildPorts
) -> None:
    await upgrade(blank_settings)
    engines = DatabaseEngines(blank_settings)
    saved = await build_ports(engines).states.save(RUN)
    await application.alembic("upgrade", "heads")
    assert "No new upgrade operations detected" in await application.alembic("check")
    assert await build_ports(engines).states.get("run") == saved


async def test_going_back_leaves_the_tables_of_the_application(
    application: Application, blank_settings: SqlalchemySettings
) -> None:
    await application.alembic("upgrade", "heads")
    await application.alembic("downgrade", "spakky_agent@base")
    assert await _table_names(blank_settings) == {"alembic_version", "customers"}
    assert await _revision(blank_settings) is None
    await application.alembic("upgrade", "heads")
    assert await _revision(blank_settings) == HEAD
