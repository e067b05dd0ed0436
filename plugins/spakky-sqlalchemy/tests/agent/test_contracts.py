"""The contract suites of the ports, on SQLite and on PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spakky.agent_testkit.contracts import (
    EvidenceRepositoryContract,
    PortsUnderTest,
    SignalRepositoryContract,
    StateRepositoryContract,
    TaskStoreContract,
    TranscriptRepositoryContract,
    UnitOfWorkContract,
)
from spakky.agent_testkit.postgres import PostgresqlServer
from spakky.plugins.sqlalchemy.agent.migrate import upgrade_now
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlalchemySettings]:
    """One database for all tests of the suites, whose ids do not meet."""
    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("suites") / "agent.sqlite3"
        settings = SqlalchemySettings(url=f"sqlite:///{path}")
        upgrade_now(settings)
        yield settings
        return
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    settings = SqlalchemySettings(url=server.create_database("suites"))
    upgrade_now(settings)
    yield settings
    server.drop_database("suites")


@pytest.fixture
def ports(
    shared_settings: SqlalchemySettings,
    build_ports: Callable[[DatabaseEngines], PortsUnderTest],
) -> PortsUnderTest:
    """The ports on the database of the suites; their engine is closed with the test's loop."""
    return build_ports(DatabaseEngines(shared_settings))


@pytest.mark.requirement("STORE-1", "SQL-1", "SQL-2")
class TestStates(StateRepositoryContract):
    """States and leases."""


@pytest.mark.requirement("STORE-1", "SQL-2", "SQL-4", "SIG-7", "SIG-8", "SIG-9")
class TestSignals(SignalRepositoryContract):
    """Signals."""


@pytest.mark.requirement("STORE-1", "SQL-2", "EVID-5", "EVID-6")
class TestEvidence(EvidenceRepositoryContract):
    """Evidence."""


@pytest.mark.requirement("SQL-2")
class TestTranscripts(TranscriptRepositoryContract):
    """Transcripts."""


@pytest.mark.requirement("SQL-2", "RECOV-9")
class TestUnitOfWork(UnitOfWorkContract):
    """Units of work."""


@pytest.mark.requirement("STORE-3", "STORE-9", "SQL-2")
class TestTaskStore(TaskStoreContract):
    """Conversations."""
