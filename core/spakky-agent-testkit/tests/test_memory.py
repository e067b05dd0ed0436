"""What the store in memory has beyond the ports: hooks, counters, its clock, and what it refuses to keep."""

import asyncio
import math
from datetime import UTC, datetime

import pytest

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStateTransition, AgentStatus
from spakky.agent.error import (
    AgentPersistenceError,
    AgentStateConflictError,
    AgentValueError,
)
from spakky.agent.ports.repositories import IAgentEvidenceRepository
from spakky.agent.ports.task_store import ConversationTurn
from spakky.agent_testkit.clock import START_OF_TIME, ManualClock
from spakky.agent_testkit.memory import CommitInfo, MemoryPorts, MemoryStore


def new_state(**fields: object) -> AgentState:
    values = {"id": "run", "agent_type": "tests.Agent", "status": AgentStatus.ACTIVE} | fields
    # The fields are given by name in each test; the constructor checks them.
    return AgentState(**values)  # type: ignore[arg-type]


def user(text: str) -> ModelMessage:
    return ModelMessage(ModelMessageRole.USER, text)


async def test_a_unit_of_work_is_one_commit_and_each_call_outside_is_one(
    ports: MemoryPorts,
) -> None:
    async with ports.unit_of_work.begin() as scope:
        await scope.states.save(new_state())
        await scope.transcripts.append("run", [user("a"), user("b")])
    assert ports.store.commits == 1
    await ports.signals.append(AgentSignal("s", "run", AgentSignalKind.CANCEL))
    await ports.task_store.append_turns("c", [ConversationTurn(ModelMessageRole.USER, "a")])
    assert ports.store.commits == 3


async def test_a_block_without_writes_is_no_commit(ports: MemoryPorts) -> None:
    async with ports.unit_of_work.begin():
        pass
    assert ports.store.commits == 0


async def test_reads_and_calls_about_leases_are_counted_apart(ports: MemoryPorts) -> None:
    await ports.states.get_or_none("run")
    await ports.signals.list_pending("run")
    lease = await ports.states.claim("run", "one", 10)
    await ports.states.renew(lease, 10)
    await ports.states.release(lease)
    assert (ports.store.reads, ports.store.lease_calls, ports.store.commits) == (2, 3, 0)


async def test_the_hooks_are_told_what_a_commit_writes(ports: MemoryPorts) -> None:
    seen: list[CommitInfo] = []

    async def remember(info: CommitInfo) -> None:
        seen.append(info)

    ports.store.before_commit = remember
    ports.store.after_commit = remember
    lease = await ports.states.claim("run", "one", 10)
    async with ports.unit_of_work.begin(lease) as scope:
        saved = await scope.states.save(new_state())
        await scope.states.save(
            AgentState(
                "run",
                "tests.Agent",
                AgentStatus.COMPLETED,
                transition=AgentStateTransition.COMPLETED,
                version=saved.version,
            )
        )
        await scope.signals.append(AgentSignal("s", "run", AgentSignalKind.CANCEL))
        await scope.transcripts.append("run", [user("a"), user("b")])
    assert [info.number for info in seen] == [1, 1]
    assert seen[0].lease == lease
    assert seen[0].name == (
        "commit 1: state run v1 active, state run v2 completed/completed, signal cancel, 2 messages"
    )
    await ports.signals.mark_consumed("s")
    assert seen[-1].name == "commit 2: consumed s"


@pytest.mark.requirement("STATE-7")
async def test_a_fault_before_a_commit_writes_nothing(ports: MemoryPorts) -> None:
    async def fail(_: CommitInfo) -> None:
        message = "The store is gone."
        raise AgentPersistenceError(message)

    ports.store.before_commit = fail
    with pytest.raises(AgentPersistenceError):
        await ports.states.save(new_state())
    ports.store.before_commit = None
    assert await ports.states.get_or_none("run") is None
    assert ports.store.commits == 0


async def test_a_fault_after_a_commit_leaves_it_written(ports: MemoryPorts) -> None:
    async def fail(_: CommitInfo) -> None:
        message = "The answer was lost."
        raise AgentPersistenceError(message)

    ports.store.after_commit = fail
    with pytest.raises(AgentPersistenceError):
        await ports.states.save(new_state())
    ports.store.after_commit = None
    assert (await ports.states.get("run")).version == 1
    assert ports.store.commits == 1


async def test_a_read_can_be_held_up_and_broken(ports: MemoryPorts) -> None:
    names: list[str] = []
    held = asyncio.Event()

    async def hold(name: str) -> None:
        names.append(name)
        held.set()
        await asyncio.Event().wait()

    ports.store.before_read = hold
    task = asyncio.create_task(ports.evidence.list_by_state("run"))
    async with asyncio.timeout(5):
        await held.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names == ["evidence.list_by_state"]


async def test_two_sets_of_ports_over_one_store_see_the_same_rows() -> None:
    store = MemoryStore()
    first, second = MemoryPorts(store), MemoryPorts(store)
    saved = await first.states.save(new_state())
    assert await second.states.get("run") == saved


async def test_a_failing_write_takes_back_the_ones_before_it(ports: MemoryPorts) -> None:
    await ports.states.save(new_state())
    await ports.signals.append(AgentSignal("s", "run", AgentSignalKind.CANCEL))
    saved = await ports.states.get("run")
    other = new_state(id="other")
    with pytest.raises(AgentStateConflictError):  # noqa: PT012  # the block is what is tested
        async with ports.unit_of_work.begin() as scope:
            await scope.states.save(other)
            await scope.states.save(saved)
            await scope.signals.mark_consumed("s")
            await scope.transcripts.append("run", [user("a")])
            await scope.states.save(saved)
    assert await ports.states.get_or_none("other") is None
    assert await ports.states.get("run") == saved
    assert len(await ports.signals.list_pending("run")) == 1
    assert await ports.transcripts.load("run") == ()


async def test_a_closed_unit_of_work_refuses_writes(ports: MemoryPorts) -> None:
    async with ports.unit_of_work.begin() as scope:
        pass
    with pytest.raises(AgentPersistenceError, match="closed"):
        await scope.transcripts.append("run", [user("late")])


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", {1, 2}, object()])
async def test_what_json_has_no_form_for_is_refused_and_not_stored(
    ports: MemoryPorts, value: object
) -> None:
    # The value is wrong by intention.
    message = ModelMessage(ModelMessageRole.USER, "text", {"bad": value})  # type: ignore[dict-item]
    with pytest.raises(AgentPersistenceError, match="ModelMessage cannot be stored"):
        await ports.transcripts.append("run", [user("good"), message])
    assert await ports.transcripts.load("run") == ()


async def test_stored_values_are_copies(ports: MemoryPorts) -> None:
    inner = [1]
    await ports.transcripts.append(
        "run", [ModelMessage(ModelMessageRole.USER, "a", {"list": inner})]
    )
    inner.append(2)
    (message,) = await ports.transcripts.load("run")
    assert message.metadata == {"list": [1]}


async def test_times_come_from_the_clock_that_was_given() -> None:
    now = datetime(2031, 2, 3, tzinfo=UTC)
    ports = MemoryPorts(MemoryStore(lambda: now))
    assert (await ports.states.save(new_state())).created_at == now
    with pytest.raises(AgentValueError, match="ManualClock"):
        await ports.advance(1)


def test_a_manual_clock_moves_only_forward_and_has_a_zone() -> None:
    clock = ManualClock()
    assert clock() == START_OF_TIME
    clock.advance(1.5)
    assert (clock() - START_OF_TIME).total_seconds() == 1.5
    with pytest.raises(AgentValueError):
        clock.advance(-1)
    # A time without a zone is wrong by intention.
    with pytest.raises(AgentValueError, match="time zone"):
        ManualClock(datetime(2030, 1, 1))  # noqa: DTZ001  # likewise


async def test_a_lease_needs_time_to_live(ports: MemoryPorts) -> None:
    with pytest.raises(AgentValueError, match="ttl_seconds"):
        await ports.states.claim("run", "one", 0)


@pytest.mark.requirement("EVID-5")
def test_the_port_of_evidence_has_only_append_and_read_calls() -> None:
    names = {"append", "get", "list_by_state", "list_by_manifest_ref"}
    assert IAgentEvidenceRepository.__abstractmethods__ == names
