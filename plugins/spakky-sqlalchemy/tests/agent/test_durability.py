"""What is committed stays, as a whole, whatever happens to the process."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentPersistenceError
from spakky.agent.ports.repositories import AgentUnitOfWorkScope
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

type RunSql = Callable[..., Awaitable[list[tuple[object, ...]]]]

CHILD = Path(__file__).with_name("committing_child.py")
RUN = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)


async def _write(scope: AgentUnitOfWorkScope, state: AgentState, name: str) -> AgentState:
    await scope.signals.append(AgentSignal(name, state.id, AgentSignalKind.USER_MESSAGE))
    await scope.evidence.append(AgentEvidence(name, state.id, AgentEvidenceKind.TOOL))
    await scope.transcripts.append(state.id, [ModelMessage(ModelMessageRole.USER, name)])
    return await scope.states.save(replace(state, current_activity=name))


async def _counts(run_sql: RunSql) -> dict[str, object]:
    tables = ("states", "signals", "evidence", "transcript")
    return {
        table: (await run_sql(f"SELECT count(*) FROM spakky_agent_{table}"))[0][0]  # noqa: S608
        for table in tables
    }


def _run_and_kill(url: str, commits: int) -> int:
    """Kill the child once it told some commits, and give the last one that it told."""
    command = [sys.executable, str(CHILD), url, "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [child.stdout.readline() for _ in range(commits)]
        child.send_signal(signal.SIGKILL)
        # What came between the last line that was read and the kill was told as well.
        return int([*told, *child.stdout.read().splitlines()][-1])


@pytest.mark.requirement("SQL-3", "RECOV-9")
@pytest.mark.parametrize("commits", [1, 12])
async def test_a_killed_process_leaves_every_commit_it_told_and_no_half_one(
    settings: SqlalchemySettings, ports: PortsUnderTest, run_sql: RunSql, commits: int
) -> None:
    told = await asyncio.to_thread(_run_and_kill, settings.url, commits)
    version = (await ports.states.get("run")).version
    assert told <= version <= told + 1
    transcript = await ports.transcripts.load("run")
    numbers = [number for number in range(1, version + 1) for _ in range(2)]
    assert [message.content for message in transcript] == [f"run-{number}" for number in numbers]
    evidence = await ports.evidence.list_by_state("run")
    assert [item.id for item in evidence] == [f"run-{number}" for number in range(1, version + 1)]
    assert [item.id for item in await ports.signals.list_pending("run")] == [f"run-{version}"]
    assert await run_sql("SELECT fence FROM spakky_agent_runs") == [(1,)]


@pytest.mark.requirement("SQL-3")
async def test_a_second_connection_sees_a_commit_at_once(
    settings: SqlalchemySettings, ports: PortsUnderTest, build_ports: Callable[..., PortsUnderTest]
) -> None:
    other_engines = DatabaseEngines(settings)
    other = build_ports(other_engines)
    state = RUN
    for number in range(5):
        async with ports.unit_of_work.begin() as scope:
            state = await _write(scope, state, f"{number}")
        assert await other.states.get("run") == state
        assert len(await other.evidence.list_by_state("run")) == number + 1
    signal_ids = [item.id for item in await other.signals.list_pending("run")]
    assert signal_ids == ["0", "1", "2", "3", "4"]


@pytest.mark.requirement("RECOV-9")
@pytest.mark.parametrize("table", ["states", "signals", "evidence", "transcript", "runs"])
async def test_a_fault_at_any_of_the_writes_undoes_all_of_them(
    dialect: str, ports: PortsUnderTest, run_sql: RunSql, table: str
) -> None:
    async with ports.unit_of_work.begin() as scope:
        state = await _write(scope, RUN, "first")
    before = await _counts(run_sql)
    for statement in _fault_in(f"spakky_agent_{table}", dialect):
        await run_sql(statement)
    with pytest.raises(AgentPersistenceError, match="commit a unit of work"):
        async with ports.unit_of_work.begin() as scope:
            await _write(scope, state, "second")
    assert await _counts(run_sql) == before
    assert await ports.states.get("run") == state


def _fault_in(table: str, dialect: str) -> list[str]:
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER fault_{verb} BEFORE {verb} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'fault'); END"
            for verb in ("INSERT", "UPDATE")
        ]
    return [
        "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'fault'; END $$",
        f"CREATE TRIGGER fault BEFORE INSERT OR UPDATE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION fault()",
    ]


@pytest.mark.requirement("RECOV-9")
async def test_a_cancelled_commit_is_done_or_not_but_settled_when_the_caller_hears_of_it(
    settings: SqlalchemySettings, ports: PortsUnderTest, run_sql: RunSql
) -> None:
    state, committed = RUN, 0

    async def commit(name: str) -> None:
        async with ports.unit_of_work.begin() as scope:
            await _write(scope, state, name)

    for turns in range(40):
        task = asyncio.create_task(commit(f"{turns}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        counts = await _counts(run_sql)
        committed += counts["signals"] != committed
        # Nothing arrives later, and what arrived is whole.
        assert counts == {
            "states": min(committed, 1),
            "signals": committed,
            "evidence": committed,
            "transcript": committed,
        }
        if committed:
            state = await ports.states.get("run")
            assert state.version == committed
    assert settings.url


@pytest.mark.parametrize("dialect", ["sqlite"])
async def test_a_full_disk_undoes_the_commit_and_says_so(
    engines: DatabaseEngines, ports: PortsUnderTest, run_sql: RunSql
) -> None:
    state = await ports.states.save(RUN)
    await engines.dispose()

    @event.listens_for(engines.engine.sync_engine, "connect")
    def _limit(connection: sqlite3.Connection, _: object) -> None:
        # SQLite takes this limit for a full disk.
        cursor = connection.cursor()
        cursor.execute("PRAGMA max_page_count=1")
        cursor.close()

    with pytest.raises(AgentPersistenceError, match="disk is full; make room"):
        async with ports.unit_of_work.begin() as scope:
            await scope.states.save(replace(state, current_activity="x" * 500_000))
    assert await ports.states.get("run") == state
    assert (await _counts(run_sql))["transcript"] == 0
