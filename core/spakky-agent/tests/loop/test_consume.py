"""The public helper that consumes the beginning of a queue."""

from collections.abc import Sequence

import pytest

from spakky.agent.contracts.signals import (
    AgentSignal,
    AgentSignalConsumptionBatch,
    AgentSignalKind,
    AgentSignalPollPoint,
)
from spakky.agent.loop.consume import consume_pending_agent_signals
from spakky.agent_testkit.memory import MemoryPorts, MemorySignalRepository

KIND = AgentSignalKind
QUEUE = [KIND.USER_MESSAGE, KIND.CANCEL, KIND.PAUSE, KIND.USER_MESSAGE]


@pytest.fixture
async def queue(ports: MemoryPorts) -> MemoryPorts:
    for number, kind in enumerate(QUEUE, 1):
        await ports.signals.append(AgentSignal(f"s{number}", "r", kind))
        await ports.signals.append(AgentSignal(f"other{number}", "other", kind))
    return ports


def ids(batch: AgentSignalConsumptionBatch) -> list[str]:
    return [signal.id for signal in batch.signals]


@pytest.mark.requirement("SIG-3", "SIG-5", "SIG-7")
async def test_the_queue_is_consumed_as_it_is_in_order(queue: MemoryPorts) -> None:
    batch = await consume_pending_agent_signals(queue.signals, "r")
    assert ids(batch) == ["s1", "s2", "s3", "s4"]
    assert (batch.state_id, batch.poll_point) == ("r", AgentSignalPollPoint.SAFE_BOUNDARY)
    assert await queue.signals.list_pending("r") == ()
    again = await consume_pending_agent_signals(queue.signals, "r")
    assert again.consumed_count == 0
    assert len(await queue.signals.list_pending("other")) == 4


@pytest.mark.requirement("SIG-4")
@pytest.mark.parametrize("point", list(AgentSignalPollPoint))
async def test_the_batch_tells_where_the_caller_stood(
    queue: MemoryPorts, point: AgentSignalPollPoint
) -> None:
    batch = await consume_pending_agent_signals(queue.signals, "r", poll_point=point)
    assert batch.poll_point is point


@pytest.mark.requirement("SIG-6")
async def test_an_earlier_signal_is_not_skipped_for_a_later_one(queue: MemoryPorts) -> None:
    accepted = [KIND.USER_MESSAGE, KIND.PAUSE]
    batch = await consume_pending_agent_signals(queue.signals, "r", accepted_signals=accepted)
    assert ids(batch) == ["s1"]
    pending = await queue.signals.list_pending("r")
    assert [signal.id for signal in pending] == ["s2", "s3", "s4"]
    stuck = await consume_pending_agent_signals(queue.signals, "r", accepted_signals=accepted)
    assert ids(stuck) == []


async def test_no_more_than_asked_for_is_consumed(queue: MemoryPorts) -> None:
    batch = await consume_pending_agent_signals(queue.signals, "r", max_signals=2)
    assert ids(batch) == ["s1", "s2"]


@pytest.mark.requirement("SIG-9")
async def test_a_signal_that_another_consumer_takes_ends_the_batch(queue: MemoryPorts) -> None:
    class SlowReader(MemorySignalRepository):
        async def list_pending(self, state_id: str) -> Sequence[AgentSignal]:
            pending = await super().list_pending(state_id)
            await self.mark_consumed("s2")
            return pending

    batch = await consume_pending_agent_signals(SlowReader(queue.store), "r")
    assert ids(batch) == ["s1"]
    left = await queue.signals.list_pending("r")
    assert [signal.id for signal in left] == ["s3", "s4"]
