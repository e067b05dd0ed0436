"""What a failing database looks like to the caller."""

import asyncio
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from spakky.agent.contracts.model_message import ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentPersistenceError
from spakky.agent.ports.task_store import ConversationTurn
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.agent_testkit.postgres import PostgresqlServer
from spakky.plugins.sqlalchemy.agent.failures import describe_database, persistence_errors
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

type BuildPorts = Callable[[DatabaseEngines], PortsUnderTest]
type RunSql = Callable[..., Awaitable[list[tuple[object, ...]]]]

PASSWORD = "hunter2-secret"
RUN = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)


async def _failure(build_ports: BuildPorts, settings: SqlalchemySettings) -> str:
    with pytest.raises(AgentPersistenceError) as caught:
        await build_ports(DatabaseEngines(settings)).states.save(RUN)
    error = caught.value
    assert error.__cause__ is None, "a driver's exception holds statements and values"
    assert error.__suppress_context__
    assert PASSWORD not in str(error)
    return str(error)


async def test_a_server_that_is_not_there_is_unreachable(build_ports: BuildPorts) -> None:
    settings = SqlalchemySettings(url=f"postgresql://me:{PASSWORD}@127.0.0.1:1/agents")
    message = await _failure(build_ports, settings)
    assert message.startswith("Could not save state 'run': the PostgreSQL database 'agents' at 127")
    assert "cannot be reached; start it or correct SPAKKY_SQLALCHEMY__URL" in message


async def test_a_server_that_does_not_answer_in_time_is_told(build_ports: BuildPorts) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    settings = SqlalchemySettings(
        url=f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/agents", connect_timeout_seconds=0.05
    )
    assert "did not answer in time" in await _failure(build_ports, settings)
    silent.close()


async def test_a_refused_login_is_told(
    build_ports: BuildPorts, postgresql_server: PostgresqlServer
) -> None:
    url = make_url(postgresql_server.url).set(username="nobody", password=PASSWORD)
    settings = SqlalchemySettings(url=url.render_as_string(hide_password=False))
    assert "refused the login" in await _failure(build_ports, settings)


async def test_a_missing_database_is_unreachable(
    build_ports: BuildPorts, postgresql_server: PostgresqlServer
) -> None:
    settings = SqlalchemySettings(url=postgresql_server.url_of("no_such_database"))
    message = await _failure(build_ports, settings)
    assert "'no_such_database'" in message
    assert "cannot be reached" in message


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_read_only_server_is_told(
    settings: SqlalchemySettings, build_ports: BuildPorts, run_sql: RunSql
) -> None:
    name = settings.database_url.database
    await run_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert "it is read-only" in await _failure(build_ports, settings)


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_read_only_file_is_told(
    settings: SqlalchemySettings, build_ports: BuildPorts, tmp_path: Path
) -> None:
    path = settings.database_url.database
    with sqlite3.connect(str(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    read_only = SqlalchemySettings(url=f"sqlite:///file:{path}?mode=ro&uri=true")
    message = await _failure(build_ports, read_only)
    assert "it is read-only; give the process the right to write" in message
    assert str(tmp_path) in message


async def test_a_file_that_is_no_database_is_told(build_ports: BuildPorts, tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    path.write_text("This is no database, but it is long enough to be looked at. " * 20)
    message = await _failure(build_ports, SqlalchemySettings(url=f"sqlite:///{path}"))
    assert "damaged or no SQLite database" in message


async def test_a_folder_that_cannot_be_made_is_told(
    build_ports: BuildPorts, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    settings = SqlalchemySettings(url=f"sqlite:///{tmp_path / 'file' / 'agent.db'}")
    assert "cannot be reached" in await _failure(build_ports, settings)


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_lock_that_is_held_too_long_is_told(
    settings: SqlalchemySettings, build_ports: BuildPorts
) -> None:
    with sqlite3.connect(str(settings.database_url.database)) as holder:
        holder.isolation_level = None
        holder.execute("PRAGMA journal_mode=WAL")
        holder.execute("BEGIN IMMEDIATE")
        impatient = settings.model_copy(update={"busy_timeout_seconds": 0.3})
        ports = build_ports(DatabaseEngines(impatient))
        with pytest.raises(AgentPersistenceError, match="another writer kept its lock too long"):
            await ports.states.save(RUN)
        with pytest.raises(AgentPersistenceError, match="another writer kept its lock too long"):
            await ports.states.claim("run", "me", 60)
        # Readers are not in the way.
        assert await ports.states.get_or_none("run") is None
        holder.execute("ROLLBACK")
    holder.close()
    assert (await ports.states.save(RUN)).version == 1


async def test_a_pool_without_a_free_connection_is_told(
    settings: SqlalchemySettings, build_ports: BuildPorts
) -> None:
    narrow = settings.model_copy(
        update={"pool_size": 1, "max_overflow": 0, "pool_timeout_seconds": 0.01}
    )
    engines = DatabaseEngines(narrow)
    ports = build_ports(engines)
    await ports.states.save(RUN)
    async with engines.engine.connect():
        with pytest.raises(AgentPersistenceError, match="raise SPAKKY_SQLALCHEMY__POOL_SIZE"):
            await ports.states.get("run")


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_connection_cut_in_the_middle_of_a_commit_is_told(
    engines: DatabaseEngines, ports: PortsUnderTest, postgresql_server: PostgresqlServer
) -> None:
    state = await ports.states.save(RUN)
    async with engines.engine.connect() as blocker:
        await blocker.exec_driver_sql("SELECT 1 FROM spakky_agent_states FOR UPDATE")
        commit = asyncio.create_task(ports.states.save(state))
        find = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE wait_event = 'transactionid'"
        )
        async with engines.engine.connect() as watcher, asyncio.timeout(20):
            while not (await watcher.exec_driver_sql(find)).all():
                await watcher.rollback()
        with pytest.raises(AgentPersistenceError, match="connection was lost in the middle"):
            await commit
    assert postgresql_server.url
    assert await ports.states.get("run") == state
    assert (await ports.states.save(state)).version == 2


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_statement_that_takes_too_long_is_told(
    settings: SqlalchemySettings, engines: DatabaseEngines, build_ports: BuildPorts
) -> None:
    hurried = settings.model_copy(update={"command_timeout_seconds": 0.2})
    ports = build_ports(DatabaseEngines(hurried))
    state = await ports.states.save(RUN)
    async with engines.engine.connect() as blocker:
        await blocker.exec_driver_sql("SELECT 1 FROM spakky_agent_states FOR UPDATE")
        with pytest.raises(AgentPersistenceError, match="did not answer in time"):
            await ports.states.save(state)
    assert (await ports.states.save(state)).version == 2


async def test_every_port_tells_what_it_could_not_do(
    settings: SqlalchemySettings, build_ports: BuildPorts, run_sql: RunSql
) -> None:
    ports = build_ports(DatabaseEngines(settings))
    await ports.states.get_or_none("run")
    for table in ("states", "signals", "evidence", "transcript", "conversation_turns", "runs"):
        await run_sql(f"ALTER TABLE spakky_agent_{table} RENAME TO gone_{table}")
    signal = AgentSignal("signal", "run", AgentSignalKind.CANCEL)
    turns = [ConversationTurn(ModelMessageRole.USER, "x")]
    calls: dict[str, Awaitable[object]] = {
        "read state 'run'": ports.states.get("run"),
        "list the states that are active": ports.states.list_by_status(AgentStatus.ACTIVE),
        "list the runs to resume": ports.states.list_resume_candidates(),
        "claim the run 'run'": ports.states.claim("run", "me", 60),
        "append signal 'signal'": ports.signals.append(signal),
        "list the signals of run 'run'": ports.signals.list_pending("run"),
        "read signal 'signal'": ports.signals.mark_consumed("signal"),
        "read evidence 'one'": ports.evidence.get("one"),
        "list the evidence of run 'run'": ports.evidence.list_by_state("run"),
        "list the evidence of manifest 'm'": ports.evidence.list_by_manifest_ref("m"),
        "load the transcript of run 'run'": ports.transcripts.load("run"),
        "load conversation 'c'": ports.task_store.load_history("c"),
        "append to conversation 'c'": ports.task_store.append_turns("c", turns),
    }
    for action, call in calls.items():
        with pytest.raises(AgentPersistenceError, match=f"Could not {action}: .*are missing"):
            await call


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite+aiosqlite:////data/x.db", "the SQLite database /data/x.db"),
        ("sqlite+aiosqlite://", "the SQLite database :memory:"),
        (f"postgresql://me:{PASSWORD}@h:5/d?x={PASSWORD}", "the PostgreSQL database 'd' at h:5"),
        ("postgresql:///d", "the PostgreSQL database 'd' at the local socket"),
    ],
)
def test_a_database_is_named_without_user_and_password(url: str, name: str) -> None:
    assert describe_database(make_url(url)) == name


def test_an_error_without_a_driver_is_wrapped_without_its_text() -> None:
    url = make_url("postgresql://h/d")
    with (
        pytest.raises(AgentPersistenceError, match="could not be run") as caught,
        persistence_errors(url, "try"),
    ):
        raise SQLAlchemyError(PASSWORD)
    assert PASSWORD not in str(caught.value)


def test_a_broken_rule_of_the_schema_is_told() -> None:
    url = make_url("sqlite:////x.db")
    with (
        pytest.raises(AgentPersistenceError, match="a rule of its schema refused the row"),
        persistence_errors(url, "try"),
    ):
        raise sqlite3.IntegrityError
