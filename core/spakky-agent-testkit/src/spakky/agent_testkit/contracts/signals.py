"""The contract of ``IAgentSignalRepository``."""
# ruff: noqa: S101  # a suite asserts

import asyncio

import pytest

from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.error import (
    AgentPersistenceError,
    AgentRecordNotFoundError,
    AgentSignalConsumedError,
)
from spakky.agent_testkit.contracts.shared import (
    EARLY,
    PortContract,
    PortsUnderTest,
    deep_object,
    make_signal,
    make_state,
    random_ids,
)


class SignalRepositoryContract(PortContract):
    """The queue keeps the order of appends, and a signal has one consumer."""

    async def test_a_run_without_signals_has_an_empty_queue(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Known or unknown."""
        await ports.states.save(make_state(key))
        assert not await ports.signals.list_pending(key)
        assert not await ports.signals.list_pending(f"{key}-unknown")

    @pytest.mark.parametrize("kind", list(AgentSignalKind))
    async def test_a_signal_comes_back_as_it_was_appended(
        self, ports: PortsUnderTest, key: str, kind: AgentSignalKind
    ) -> None:
        """Whether or not its run exists yet."""
        signal = AgentSignal(f"{key}-1", key, kind, payload=deep_object(), created_at=EARLY)
        assert await ports.signals.append(signal) == signal
        assert list(await ports.signals.list_pending(key)) == [signal]

    async def test_a_signal_without_a_time_gets_the_stores(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """With a zone; what is returned is what is stored."""
        stored = await ports.signals.append(make_signal(f"{key}-1", key))
        assert stored.created_at is not None
        assert stored.created_at.tzinfo is not None
        assert list(await ports.signals.list_pending(key)) == [stored]

    async def test_a_nul_character_does_not_stop_a_signal(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A store may replace it; then the returned value shows it, and the rest of the text is kept."""
        signal = make_signal(f"{key}-1", key, payload={"k": "a\x00b", "nul\x00key": [1]})
        stored = await ports.signals.append(signal)
        assert list(await ports.signals.list_pending(key)) == [stored]
        text = stored.payload["k"]
        assert isinstance(text, str)
        assert text.startswith("a")
        assert text.endswith("b")

    async def test_signals_are_listed_in_append_order(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A hundred with equal times and random ids."""
        ids = random_ids(key, 100)
        for signal_id in ids:
            await ports.signals.append(make_signal(signal_id, key, created_at=EARLY))
        assert [signal.id for signal in await ports.signals.list_pending(key)] == ids

    async def test_signals_without_times_are_listed_in_append_order(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """The store's own times decide nothing either."""
        ids = random_ids(key, 30)
        for signal_id in ids:
            await ports.signals.append(make_signal(signal_id, key))
        assert [signal.id for signal in await ports.signals.list_pending(key)] == ids

    async def test_each_run_has_a_queue_of_its_own(self, ports: PortsUnderTest, key: str) -> None:
        """Appends to one run do not show in another."""
        for number in range(4):
            await ports.signals.append(make_signal(f"{key}-{number}", f"{key}-run-{number % 2}"))
        first = await ports.signals.list_pending(f"{key}-run-0")
        second = await ports.signals.list_pending(f"{key}-run-1")
        assert [signal.id for signal in first] == [f"{key}-0", f"{key}-2"]
        assert [signal.id for signal in second] == [f"{key}-1", f"{key}-3"]

    async def test_a_second_signal_with_an_id_is_refused(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Also for another run, and after it was consumed; the first stays as it is."""
        first = await ports.signals.append(make_signal(f"{key}-1", key, payload={"n": 1}))
        with pytest.raises(AgentPersistenceError):
            await ports.signals.append(make_signal(f"{key}-1", key, payload={"n": 2}))
        with pytest.raises(AgentPersistenceError):
            await ports.signals.append(make_signal(f"{key}-1", f"{key}-other"))
        assert list(await ports.signals.list_pending(key)) == [first]
        await ports.signals.mark_consumed(f"{key}-1")
        with pytest.raises(AgentPersistenceError):
            await ports.signals.append(make_signal(f"{key}-1", key))

    async def test_a_consumed_signal_leaves_the_queue(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """The others keep their order."""
        stored = [await ports.signals.append(make_signal(f"{key}-{n}", key)) for n in range(4)]
        assert await ports.signals.mark_consumed(f"{key}-1") == stored[1]
        assert list(await ports.signals.list_pending(key)) == [stored[0], stored[2], stored[3]]

    async def test_a_signal_is_consumed_once(self, ports: PortsUnderTest, key: str) -> None:
        """A second time and an unknown id are errors of their own."""
        await ports.signals.append(make_signal(f"{key}-1", key))
        await ports.signals.mark_consumed(f"{key}-1")
        with pytest.raises(AgentSignalConsumedError):
            await ports.signals.mark_consumed(f"{key}-1")
        with pytest.raises(AgentRecordNotFoundError):
            await ports.signals.mark_consumed(f"{key}-unknown")

    async def test_two_consumers_never_get_the_same_signal(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Both see the whole queue and take what they can."""
        ids = [f"{key}-{number}" for number in range(20)]
        for signal_id in ids:
            await ports.signals.append(make_signal(signal_id, key))

        async def consume() -> list[str]:
            taken: list[str] = []
            for signal in await ports.signals.list_pending(key):
                try:
                    taken.append((await ports.signals.mark_consumed(signal.id)).id)
                except AgentSignalConsumedError:
                    continue
            return taken

        first, second = await asyncio.gather(consume(), consume())
        assert sorted(first + second) == sorted(ids)
        assert not await ports.signals.list_pending(key)

    async def test_appends_of_several_tasks_are_all_kept(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Each task's own order too."""

        async def append(writer: int) -> None:
            for number in range(10):
                await ports.signals.append(make_signal(f"{key}-{writer}-{number}", key))

        await asyncio.gather(*(append(writer) for writer in range(4)))
        ids = [signal.id for signal in await ports.signals.list_pending(key)]
        assert len(ids) == 40
        for writer in range(4):
            own = [signal_id for signal_id in ids if signal_id.startswith(f"{key}-{writer}-")]
            assert own == [f"{key}-{writer}-{number}" for number in range(10)]
