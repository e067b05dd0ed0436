"""A migrated database of its own for each test, on SQLite and on PostgreSQL, and the ports on it."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import select, text, update

from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.ports.task_store import ITaskStore
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.agent_testkit.postgres import (  # noqa: F401 - fixtures
    PostgresqlServer,
    postgresql_server,
    postgresql_url,
)
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.evidence import SqlAgentEvidenceRepository
from spakky.plugins.sqlalchemy.agent.migrate import upgrade_now
from spakky.plugins.sqlalchemy.agent.signals import SqlAgentSignalRepository
from spakky.plugins.sqlalchemy.agent.states import SqlAgentStateRepository
from spakky.plugins.sqlalchemy.agent.tables import runs
from spakky.plugins.sqlalchemy.agent.task_store import SqlTaskStore
from spakky.plugins.sqlalchemy.agent.transcripts import SqlAgentTranscriptRepository
from spakky.plugins.sqlalchemy.agent.unit_of_work import SqlAgentUnitOfWork
from spakky.plugins.sqlalchemy.agent.write_sink import ImmediateSink
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

TEMPLATE = "spakky_template"


@dataclass(slots=True)
class SqlPorts:
    """The ports on one database, as an application wires them."""

    engines: DatabaseEngines
    states: IAgentStateRepository
    signals: IAgentSignalRepository
    evidence: IAgentEvidenceRepository
    transcripts: IAgentTranscriptRepository
    unit_of_work: IAgentUnitOfWork
    task_store: ITaskStore

    async def advance(self, seconds: float) -> None:
        """Let time pass for the leases: instead of waiting, each is made to end earlier."""
        async with self.engines.engine.begin() as connection:
            for run in (await connection.execute(select(runs))).all():
                if run.expires_at is not None:
                    earlier = run.expires_at - timedelta(seconds=seconds)
                    where = runs.c.state_id == run.state_id
                    await connection.execute(update(runs).where(where).values(expires_at=earlier))


def _build_ports(engines: DatabaseEngines) -> SqlPorts:
    database = AgentDatabase(engines)
    sink = ImmediateSink(database)
    return SqlPorts(
        engines,
        SqlAgentStateRepository(database, sink),
        SqlAgentSignalRepository(database, sink),
        SqlAgentEvidenceRepository(database, sink),
        SqlAgentTranscriptRepository(database, sink),
        SqlAgentUnitOfWork(database),
        SqlTaskStore(database),
    )


@pytest.fixture
def build_ports() -> Callable[[DatabaseEngines], PortsUnderTest]:
    """Build the ports on a database, as another application would."""
    return _build_ports


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the agent tables, to be copied."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite3"
    upgrade_now(SqlalchemySettings(url=f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: PostgresqlServer) -> Iterator[str]:  # noqa: F811 - a fixture
    """A PostgreSQL database with the agent tables, to be copied."""
    postgresql_server.drop_database(TEMPLATE)
    upgrade_now(SqlalchemySettings(url=postgresql_server.create_database(TEMPLATE)))
    yield TEMPLATE
    postgresql_server.drop_database(TEMPLATE)


@pytest.fixture(params=["sqlite", "postgresql"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The database that the test runs on."""
    return str(request.param)


@pytest.fixture
def blank_settings(
    request: pytest.FixtureRequest, tmp_path: Path, dialect: str
) -> Iterator[SqlalchemySettings]:
    """The settings of an empty database."""
    if dialect == "sqlite":
        yield SqlalchemySettings(url=f"sqlite:///{tmp_path / 'agent.sqlite3'}")
        return
    yield SqlalchemySettings(url=request.getfixturevalue("postgresql_url"))


@pytest.fixture
def settings(
    request: pytest.FixtureRequest, tmp_path: Path, dialect: str
) -> Iterator[SqlalchemySettings]:
    """The settings of a database with the agent tables and nothing in them."""
    if dialect == "sqlite":
        path = tmp_path / "agent.sqlite3"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield SqlalchemySettings(url=f"sqlite:///{path}")
        return
    template: str = request.getfixturevalue("postgresql_template")
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    name = f"t_{uuid4().hex}"
    yield SqlalchemySettings(url=server.create_database(name, template=template))
    server.drop_database(name)


@pytest.fixture
async def engines(settings: SqlalchemySettings) -> AsyncIterator[DatabaseEngines]:
    """Engines on a database of the test's own."""
    engines = DatabaseEngines(settings)
    yield engines
    await engines.dispose()


@pytest.fixture
def ports(engines: DatabaseEngines) -> PortsUnderTest:
    """The ports on a database of the test's own."""
    return _build_ports(engines)


@pytest.fixture
def run_sql(engines: DatabaseEngines) -> Callable[..., Awaitable[list[tuple[object, ...]]]]:
    """Run raw SQL, with its values by name, in a transaction of its own, and give its rows."""

    async def run(statement: str, **values: object) -> list[tuple[object, ...]]:
        async with engines.engine.begin() as connection:
            result = await connection.execute(text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    return run
