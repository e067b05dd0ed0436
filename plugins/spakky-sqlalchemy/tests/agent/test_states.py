"""States and leases, beyond the contract of the port."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import (
    AgentLeaseLostError,
    AgentRecordNotFoundError,
    AgentRunInProgressError,
    AgentValueError,
)
from spakky.agent_testkit.contracts import PortsUnderTest
from spakky.plugins.sqlalchemy.agent import states as states_module

type RunSql = Callable[..., Awaitable[list[tuple[object, ...]]]]

RUN = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)


async def test_a_state_that_was_built_anew_keeps_the_time_of_its_first_save(
    ports: PortsUnderTest,
) -> None:
    first = await ports.states.save(RUN)
    second = await ports.states.save(replace(RUN, version=1, status=AgentStatus.COMPLETED))
    assert second.created_at == first.created_at
    assert await ports.states.get("run") == second


@pytest.mark.requirement("RECOV-9")
async def test_a_jump_of_the_process_clock_does_not_move_a_lease(
    ports: PortsUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await ports.states.claim("run", "me", 60)
    far = datetime.now(UTC) + timedelta(days=365)
    monkeypatch.setattr(states_module, "now_utc", lambda: far)
    with pytest.raises(AgentRunInProgressError, match="'run' is in progress"):
        await ports.states.claim("run", "you", 60)
    async with ports.unit_of_work.begin(lease) as scope:
        saved = await scope.states.save(RUN)
    assert saved.updated_at == far
    renewed = await ports.states.renew(lease, 60)
    assert renewed.expires_at < far


async def test_a_fraction_of_a_second_is_a_lease_too(ports: PortsUnderTest) -> None:
    lease = await ports.states.claim("run", "me", 0.001)
    async with asyncio.timeout(5):
        while True:
            try:
                taken = await ports.states.claim("run", "you", 60)
            except AgentRunInProgressError:
                continue
            break
    assert taken.fence == lease.fence + 1
    with pytest.raises(AgentLeaseLostError, match="belongs to another runner"):
        await ports.states.renew(lease, 60)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
async def test_a_lease_without_a_length_is_refused(ports: PortsUnderTest, seconds: float) -> None:
    with pytest.raises(AgentValueError):
        await ports.states.claim("run", "me", seconds)
    lease = await ports.states.claim("run", "me", 60)
    with pytest.raises(AgentValueError):
        await ports.states.renew(lease, seconds)


async def test_blank_ids_are_refused(ports: PortsUnderTest) -> None:
    with pytest.raises(AgentValueError):
        await ports.states.claim(" ", "me", 60)
    with pytest.raises(AgentValueError):
        await ports.states.claim("run", "", 60)
    with pytest.raises(AgentValueError):
        await ports.transcripts.append("", [])


async def test_an_unknown_run_is_named(ports: PortsUnderTest) -> None:
    with pytest.raises(AgentRecordNotFoundError, match="'run'"):
        await ports.states.get("run")


@pytest.mark.requirement("SQL-5")
async def test_a_run_of_many_steps_writes_only_what_is_new(
    ports: PortsUnderTest, run_sql: RunSql
) -> None:
    state = RUN
    for _ in range(30):
        async with ports.unit_of_work.begin() as scope:
            state = await scope.states.save(state)
    assert await run_sql("SELECT count(*), max(version) FROM spakky_agent_states") == [(1, 30)]
