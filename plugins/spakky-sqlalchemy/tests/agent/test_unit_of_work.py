"""Units of work: what they send, what they hold, what they refuse."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import (
    AgentLeaseLostError,
    AgentPersistenceError,
    AgentRecordNotFoundError,
    AgentSignalConsumedError,
    AgentStateConflictError,
)
from spakky.agent.ports.repositories import AgentUnitOfWorkScope
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

RUN = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)
SIGNAL = AgentSignal("signal", "run", AgentSignalKind.CANCEL)


async def _write(scope: AgentUnitOfWorkScope, state: AgentState, name: str) -> AgentState:
    await scope.signals.append(AgentSignal(name, "run", AgentSignalKind.USER_MESSAGE))
    await scope.evidence.append(AgentEvidence(name, "run", AgentEvidenceKind.TOOL))
    await scope.transcripts.append("run", [ModelMessage(ModelMessageRole.USER, name)])
    return await scope.states.save(state)


@pytest.mark.parametrize("dialect", ["postgresql"])
async def test_a_boundary_is_one_statement_on_postgresql(
    engines: DatabaseEngines, ports: PortsUnderTest
) -> None:
    lease = await ports.states.claim("run", "me", 600)
    await ports.signals.append(SIGNAL)
    statements: list[str] = []

    @event.listens_for(engines.engine.sync_engine, "before_cursor_execute")
    def _note(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)

    async with engines.engine.connect() as connection:
        # The driver has no types. What goes to it directly is told by it alone, in the next turn of the loop.
        driver: Any = (await connection.get_raw_connection()).driver_connection
        driver.add_query_logger(lambda record: statements.append(record.query))

    async with ports.unit_of_work.begin(lease) as scope:
        [pending] = await scope.signals.list_pending("run")
        await scope.signals.mark_consumed(pending.id)
        state = await _write(scope, RUN, "first")
        await asyncio.sleep(0)
        statements.clear()
    await asyncio.sleep(0)
    assert len(statements) == 1
    async with ports.unit_of_work.begin(lease) as scope:
        await _write(scope, state, "second")
    await asyncio.sleep(0)
    assert len(statements) == 2
    assert [item.id for item in await ports.signals.list_pending("run")] == ["first", "second"]


@pytest.mark.requirement("SQL-2")
async def test_no_connection_is_held_while_a_unit_of_work_is_open(
    settings: SqlalchemySettings, build_ports: Callable[[DatabaseEngines], PortsUnderTest]
) -> None:
    narrow = settings.model_copy(
        update={"pool_size": 1, "max_overflow": 0, "pool_timeout_seconds": 2.0}
    )
    engines = DatabaseEngines(narrow)
    ports, all_open = build_ports(engines), asyncio.Barrier(3)

    async def run(number: int) -> None:
        state = replace(RUN, id=f"run-{number}")
        for _ in range(5):
            async with ports.unit_of_work.begin() as scope:
                state = await scope.states.save(state)
                await scope.signals.list_pending(state.id)
                await all_open.wait()
                pool = engines.engine.pool
                assert isinstance(pool, QueuePool)
                assert pool.checkedout() == 0
                await all_open.wait()

    async with asyncio.timeout(30):
        await asyncio.gather(*(run(number) for number in range(3)))


@pytest.mark.requirement("SQL-2")
async def test_the_event_loop_runs_on_while_the_database_works(ports: PortsUnderTest) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticker = asyncio.create_task(tick())
    state = RUN
    for number in range(10):
        async with ports.unit_of_work.begin() as scope:
            state = await _write(scope, state, f"{number}")
        assert ticks > number
        ticks = number + 1
    ticker.cancel()


async def test_reads_inside_see_what_is_committed_and_not_its_own_writes(
    ports: PortsUnderTest,
) -> None:
    async with ports.unit_of_work.begin() as scope:
        await _write(scope, RUN, "first")
        assert await scope.states.get_or_none("run") is None
        assert await scope.transcripts.load("run") == ()
        assert not await scope.evidence.list_by_state("run")
        assert not await scope.signals.list_pending("run")


async def test_a_unit_of_work_that_has_ended_takes_no_more_writes(ports: PortsUnderTest) -> None:
    async with ports.unit_of_work.begin() as scope:
        pass
    with pytest.raises(AgentPersistenceError, match="unit of work has ended"):
        await scope.states.save(RUN)
    assert await ports.states.get_or_none("run") is None


async def test_a_second_save_must_start_from_what_the_first_one_gave(
    ports: PortsUnderTest,
) -> None:
    async with ports.unit_of_work.begin() as scope:
        first = await scope.states.save(RUN)
        with pytest.raises(AgentStateConflictError, match="saved twice"):
            await scope.states.save(RUN)
        second = await scope.states.save(replace(first, created_at=None))
    stored = await ports.states.get("run")
    assert (stored.version, stored.created_at) == (2, first.created_at)
    assert stored.updated_at == second.updated_at


async def test_a_signal_is_consumed_once_within_a_unit_of_work_too(ports: PortsUnderTest) -> None:
    await ports.signals.append(SIGNAL)
    async with ports.unit_of_work.begin() as scope:
        await scope.signals.mark_consumed("signal")
        with pytest.raises(AgentSignalConsumedError):
            await scope.signals.mark_consumed("signal")


async def test_a_listed_signal_that_somebody_else_consumes_meanwhile_is_told(
    ports: PortsUnderTest,
) -> None:
    await ports.signals.append(SIGNAL)
    with pytest.raises(AgentSignalConsumedError, match="'signal' was"):  # noqa: PT012 - as above
        async with ports.unit_of_work.begin() as scope:
            [pending] = await scope.signals.list_pending("run")
            await ports.signals.mark_consumed("signal")
            await scope.signals.mark_consumed(pending.id)


async def test_a_signal_that_was_removed_meanwhile_is_told(
    ports: PortsUnderTest, run_sql: Callable[..., Awaitable[object]]
) -> None:
    await ports.signals.append(SIGNAL)
    with pytest.raises(AgentRecordNotFoundError, match="id 'signal'"):  # noqa: PT012 - as above
        async with ports.unit_of_work.begin() as scope:
            await scope.signals.mark_consumed("signal")
            await run_sql("DELETE FROM spakky_agent_signals")


async def test_a_conflict_names_the_state_and_both_versions(ports: PortsUnderTest) -> None:
    await ports.states.save(RUN)
    with pytest.raises(AgentStateConflictError, match=r"'run'.*version 0.*has version 1"):
        await ports.states.save(RUN)
    with pytest.raises(AgentStateConflictError, match=r"'other'.*version 3.*does not exist"):
        await ports.states.save(replace(RUN, id="other", version=3))


async def test_of_several_states_the_stale_one_is_named(ports: PortsUnderTest) -> None:
    await ports.states.save(RUN)
    with pytest.raises(AgentStateConflictError) as caught:  # noqa: PT012 - as above
        async with ports.unit_of_work.begin() as scope:
            await scope.states.save(replace(RUN, id="other"))
            await scope.states.save(RUN)
    assert "'run'" in str(caught.value)
    assert "'other'" not in str(caught.value)
    assert await ports.states.get_or_none("other") is None


async def test_several_states_and_runs_are_written_together(ports: PortsUnderTest) -> None:
    known = await ports.states.save(replace(RUN, id="known"))
    async with ports.unit_of_work.begin() as scope:
        await scope.states.save(known)
        for name in ("b", "a", "c"):
            await scope.states.save(replace(RUN, id=name))
            message = ModelMessage(ModelMessageRole.USER, name)
            await scope.transcripts.append(name, [message] * 2)
    assert (await ports.states.get("known")).version == 2
    listed = await ports.states.list_by_status(AgentStatus.ACTIVE)
    assert sorted(state.id for state in listed) == ["a", "b", "c", "known"]
    for name in ("a", "b", "c"):
        assert [m.content for m in await ports.transcripts.load(name)] == [name, name]


async def test_a_lease_is_checked_even_when_there_is_nothing_to_write(
    ports: PortsUnderTest,
) -> None:
    lease = await ports.states.claim("run", "me", 600)
    async with ports.unit_of_work.begin(lease):
        pass
    with pytest.raises(AgentLeaseLostError, match="run 'run' ran out or belongs to another"):
        async with ports.unit_of_work.begin(replace(lease, owner="somebody")):
            pass


async def test_a_lease_claimed_inside_is_kept_when_the_writes_are_dropped(
    ports: PortsUnderTest,
) -> None:
    with pytest.raises(LookupError):  # noqa: PT012 - the block is what is tested
        async with ports.unit_of_work.begin() as scope:
            lease = await scope.states.claim("run", "me", 600)
            raise LookupError
    async with ports.unit_of_work.begin(lease) as scope:
        await scope.states.save(RUN)
    assert (await ports.states.get("run")).version == 1
