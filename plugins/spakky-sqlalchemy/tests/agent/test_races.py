"""Many writers at once: order, exclusive consumption, one winner, no lost lock."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import (
    AgentPersistenceError,
    AgentRunInProgressError,
    AgentSignalConsumedError,
    AgentStateConflictError,
)
from spakky.agent.ports.repositories import AgentLease
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

type BuildPorts = Callable[[DatabaseEngines], PortsUnderTest]

RUN = AgentState("run", "tests.Agent", AgentStatus.INTERRUPTED)


def _signal(name: str, run: str = "run") -> AgentSignal:
    return AgentSignal(name, run, AgentSignalKind.APPROVAL_DECISION)


@pytest.fixture
async def runners(
    settings: SqlalchemySettings, build_ports: BuildPorts
) -> tuple[PortsUnderTest, PortsUnderTest]:
    """Two applications on one database, each with connections of its own."""
    first, second = DatabaseEngines(settings), DatabaseEngines(settings)
    return build_ports(first), build_ports(second)


@pytest.mark.requirement("SIG-9", "RECOV-9")
async def test_an_approval_given_twice_takes_effect_once(
    runners: tuple[PortsUnderTest, PortsUnderTest],
) -> None:
    state = await runners[0].states.save(RUN)
    for turn in range(20):
        both_ready = asyncio.Barrier(2)

        async def approve_and_resume(
            ports: PortsUnderTest,
            name: str,
            barrier: asyncio.Barrier = both_ready,
            read: AgentState = state,
        ) -> AgentState:
            await ports.signals.append(_signal(name))
            await barrier.wait()
            async with ports.unit_of_work.begin() as scope:
                first, *_ = await scope.signals.list_pending("run")
                await scope.signals.mark_consumed(first.id)
                await scope.evidence.append(AgentEvidence(name, "run", AgentEvidenceKind.APPROVAL))
                return await scope.states.save(replace(read, status=AgentStatus.ACTIVE))

        outcomes = await asyncio.gather(
            *(approve_and_resume(ports, f"{turn}-{n}") for n, ports in enumerate(runners)),
            return_exceptions=True,
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, AgentState)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, AgentPersistenceError)]
        assert (len(won), len(lost)) == (1, 1)
        assert isinstance(lost[0], AgentStateConflictError | AgentSignalConsumedError)
        state = won[0]
        assert len(await runners[0].evidence.list_by_state("run")) == turn + 1
        assert len(await runners[0].signals.list_pending("run")) == turn + 1


@pytest.mark.requirement("RECOV-9")
async def test_of_many_claimers_on_two_connections_one_gets_the_run(
    runners: tuple[PortsUnderTest, PortsUnderTest],
) -> None:
    fence = 0
    for _ in range(20):
        outcomes = await asyncio.gather(
            *(runners[n % 2].states.claim("run", f"owner {n}", 600) for n in range(6)),
            return_exceptions=True,
        )
        [lease] = [outcome for outcome in outcomes if isinstance(outcome, AgentLease)]
        assert sum(isinstance(outcome, AgentRunInProgressError) for outcome in outcomes) == 5
        assert lease.fence == fence + 1
        fence = lease.fence
        await runners[0].states.release(lease)


@pytest.mark.requirement("SIG-9", "SQL-4")
async def test_two_consumers_share_a_queue_without_a_signal_twice(
    runners: tuple[PortsUnderTest, PortsUnderTest],
) -> None:
    names = [f"{number}" for number in range(30)]
    for name in names:
        await runners[0].signals.append(_signal(name))

    async def consume(ports: PortsUnderTest) -> list[str]:
        taken: list[str] = []
        for signal in await ports.signals.list_pending("run"):
            try:
                async with ports.unit_of_work.begin() as scope:
                    await scope.signals.mark_consumed(signal.id)
            except AgentSignalConsumedError:
                continue
            taken.append(signal.id)
        return taken

    first, second = await asyncio.gather(*(consume(ports) for ports in runners))
    assert sorted(first + second) == sorted(names)


@pytest.mark.requirement("SIG-7", "SQL-4")
async def test_the_order_of_two_writers_is_that_of_their_commits(
    runners: tuple[PortsUnderTest, PortsUnderTest],
) -> None:
    seen: list[str] = []
    is_done = asyncio.Event()

    async def write(ports: PortsUnderTest, writer: int) -> None:
        for number in range(25):
            await ports.signals.append(_signal(f"{writer}-{number}"))

    async def watch() -> None:
        # A signal that commits late must not appear before one that was already seen.
        while not is_done.is_set():
            now = [signal.id for signal in await runners[0].signals.list_pending("run")]
            assert now[: len(seen)] == seen
            seen[:] = now

    watcher = asyncio.create_task(watch())
    await asyncio.gather(*(write(runners[n % 2], n) for n in range(4)))
    is_done.set()
    await watcher
    assert len(await runners[1].signals.list_pending("run")) == 100


async def test_concurrent_appends_to_a_transcript_leave_no_gap_and_stay_together(
    runners: tuple[PortsUnderTest, PortsUnderTest],
) -> None:
    def messages(name: str) -> list[ModelMessage]:
        return [ModelMessage(ModelMessageRole.USER, f"{name}-{n}") for n in range(3)]

    await asyncio.gather(
        *(runners[n % 2].transcripts.append("run", messages(f"{n}")) for n in range(20))
    )
    texts = [message.content for message in await runners[0].transcripts.load("run")]
    assert len(texts) == 60
    for start in range(0, 60, 3):
        writer = texts[start].partition("-")[0]
        assert texts[start : start + 3] == [f"{writer}-{n}" for n in range(3)]


async def test_writers_that_cross_each_other_all_get_through(
    runners: tuple[PortsUnderTest, PortsUnderTest],
) -> None:
    """Each holds its own run and writes to the other's: the pattern of a deadlock."""
    leases = [await ports.states.claim(f"{n}", "me", 600) for n, ports in enumerate(runners)]

    async def write(own: int) -> None:
        for number in range(25):
            async with runners[own].unit_of_work.begin(leases[own]) as scope:
                for other in (0, 1):
                    name = f"{own}-{other}-{number}"
                    await scope.signals.append(_signal(name, f"{other}"))

    async with asyncio.timeout(50):
        await asyncio.gather(write(0), write(1))
    for run in ("0", "1"):
        assert len(await runners[0].signals.list_pending(run)) == 50


@pytest.mark.requirement("SQL-2")
@pytest.mark.parametrize("repetition", range(10))
async def test_eight_runs_from_an_empty_sqlite_file_meet_no_lock(
    tmp_path: Path, build_ports: BuildPorts, repetition: int
) -> None:
    settings = SqlalchemySettings(url=f"sqlite:///{tmp_path / f'{repetition}.db'}")
    # Half of the runs share an application; the others are like processes of their own.
    engines = [DatabaseEngines(settings) for _ in range(5)]
    ports = [build_ports(each) for each in (*engines, *([engines[0]] * 3))]

    async def run(number: int) -> int:
        own, run_id = ports[number], f"run-{number}"
        lease = await own.states.claim(run_id, "me", 600)
        state, consumed = replace(RUN, id=run_id), 0
        for turn in range(10):
            await own.signals.append(_signal(f"{run_id}-{turn}", run_id))
            async with own.unit_of_work.begin(lease) as scope:
                for signal in await scope.signals.list_pending(run_id):
                    await scope.signals.mark_consumed(signal.id)
                    consumed += 1
                state = await scope.states.save(state)
        return consumed

    async with asyncio.timeout(50):
        assert await asyncio.gather(*(run(number) for number in range(8))) == [10] * 8


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_commit_that_postgresql_undid_to_end_a_deadlock_is_sent_again(
    engines: DatabaseEngines, ports: PortsUnderTest
) -> None:
    for name in ("a", "b"):
        await ports.signals.append(_signal(name))

    async def consume_both() -> None:
        async with ports.unit_of_work.begin() as scope:
            for name in ("a", "b"):
                await scope.signals.mark_consumed(name)
            await scope.states.save(RUN)

    lock = text("SELECT 1 FROM spakky_agent_signals WHERE id = :name FOR UPDATE")
    waits = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid'")
    async with engines.engine.connect() as connection, engines.engine.connect() as watcher:
        # The other side notices the deadlock first, because this one does not look for it.
        await connection.execute(text("SET LOCAL deadlock_timeout = '60s'"))
        await connection.execute(lock, {"name": "b"})
        commit = asyncio.create_task(consume_both())
        async with asyncio.timeout(20):
            while await watcher.scalar(waits) == 0:
                await watcher.rollback()
            await connection.execute(lock, {"name": "a"})
        await connection.rollback()
        async with asyncio.timeout(20):
            await commit
    assert not await ports.signals.list_pending("run")
    assert (await ports.states.get("run")).version == 1
