"""The contract of ``IAgentUnitOfWork``."""
# ruff: noqa: S101  # a suite asserts

import asyncio
from dataclasses import replace

import pytest

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import (
    AgentLeaseLostError,
    AgentPersistenceError,
    AgentSignalConsumedError,
    AgentStateConflictError,
)
from spakky.agent.ports.repositories import AgentLease, AgentUnitOfWorkScope
from spakky.agent_testkit.contracts.shared import (
    EARLY,
    LONG_SECONDS,
    PAST_SHORT_SECONDS,
    SHORT_SECONDS,
    PortContract,
    PortsUnderTest,
    make_evidence,
    make_signal,
    make_state,
    random_ids,
)


class _BreakError(Exception):
    """What a test raises inside a unit of work."""


async def _write_all(scope: AgentUnitOfWorkScope, state: AgentState, mark: str) -> AgentState:
    saved = await scope.states.save(replace(state, current_activity=mark))
    await scope.evidence.append(make_evidence(f"{state.id}-{mark}", state.id))
    await scope.transcripts.append(state.id, [ModelMessage(ModelMessageRole.USER, mark)])
    await scope.signals.append(make_signal(f"{state.id}-{mark}", state.id))
    return saved


async def _marks(
    ports: PortsUnderTest, state_id: str
) -> tuple[str | None, list[str], list[str], list[str]]:
    """Give what is stored of a run: the state's mark, and the marks of evidence, transcript and queue."""
    state = await ports.states.get_or_none(state_id)
    start = len(state_id) + 1
    return (
        None if state is None else state.current_activity,
        [item.id[start:] for item in await ports.evidence.list_by_state(state_id)],
        [message.content for message in await ports.transcripts.load(state_id)],
        [signal.id[start:] for signal in await ports.signals.list_pending(state_id)],
    )


class UnitOfWorkContract(PortContract):
    """All writes of a unit of work are stored together, or none is."""

    async def test_all_writes_are_stored_when_the_block_ends(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """And none is seen before."""
        async with ports.unit_of_work.begin() as scope:
            saved = await _write_all(scope, make_state(key), "one")
            assert await _marks(ports, key) == (None, [], [], [])
        assert await _marks(ports, key) == ("one", ["one"], ["one"], ["one"])
        stored = await ports.states.get(key)
        assert (saved.version, stored.version) == (1, 1)

    async def test_a_consumed_signal_leaves_the_queue_with_the_other_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """The call gives the signal at once."""
        signal = await ports.signals.append(make_signal(f"{key}-1", key))
        async with ports.unit_of_work.begin() as scope:
            assert await scope.signals.mark_consumed(signal.id) == signal
            await scope.states.save(make_state(key))
            assert list(await ports.signals.list_pending(key)) == [signal]
        assert not await ports.signals.list_pending(key)
        with pytest.raises(AgentSignalConsumedError):
            await ports.signals.mark_consumed(signal.id)

    @pytest.mark.parametrize("error", [_BreakError, asyncio.CancelledError])
    async def test_an_exception_inside_drops_all_writes(
        self, ports: PortsUnderTest, key: str, error: type[BaseException]
    ) -> None:
        """And passes on; a cancellation is one."""
        signal = await ports.signals.append(make_signal(f"{key}-kept", key))
        with pytest.raises(error):  # noqa: PT012  # the block is what is tested
            async with ports.unit_of_work.begin() as scope:
                await _write_all(scope, make_state(key), "one")
                await scope.signals.mark_consumed(signal.id)
                raise error
        assert await _marks(ports, key) == (None, [], [], ["kept"])
        assert (await ports.states.save(make_state(key))).version == 1

    async def test_a_stale_state_drops_all_writes(self, ports: PortsUnderTest, key: str) -> None:
        """The conflict shows when the block ends at the latest."""
        read = await ports.states.save(make_state(key))
        signal = await ports.signals.append(make_signal(f"{key}-kept", key))
        await ports.states.save(replace(read, current_activity="other"))
        with pytest.raises(AgentStateConflictError):  # noqa: PT012  # the block is what is tested
            async with ports.unit_of_work.begin() as scope:
                await scope.signals.mark_consumed(signal.id)
                await _write_all(scope, read, "one")
        assert await _marks(ports, key) == ("other", [], [], ["kept"])

    async def test_a_state_that_becomes_stale_meanwhile_drops_all_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Another writer comes between the save and the end of the block."""
        read = await ports.states.save(make_state(key))
        with pytest.raises(AgentStateConflictError):  # noqa: PT012  # the block is what is tested
            async with ports.unit_of_work.begin() as scope:
                await _write_all(scope, read, "one")
                await ports.states.save(replace(read, current_activity="other"))
        assert await _marks(ports, key) == ("other", [], [], [])

    async def test_a_signal_that_is_consumed_meanwhile_drops_all_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Another consumer comes between the call and the end of the block."""
        signal = await ports.signals.append(make_signal(f"{key}-taken", key))
        with pytest.raises(AgentSignalConsumedError):  # noqa: PT012  # the block is what is tested
            async with ports.unit_of_work.begin() as scope:
                await scope.signals.mark_consumed(signal.id)
                await _write_all(scope, make_state(key), "one")
                await ports.signals.mark_consumed(signal.id)
        assert await _marks(ports, key) == (None, [], [], [])

    @pytest.mark.parametrize("record", ["evidence", "signal"])
    async def test_a_known_record_id_drops_all_writes(
        self, ports: PortsUnderTest, key: str, record: str
    ) -> None:
        """Evidence or a signal."""
        if record == "evidence":
            await ports.evidence.append(make_evidence(f"{key}-one", f"{key}-elsewhere"))
        else:
            await ports.signals.append(make_signal(f"{key}-one", f"{key}-elsewhere"))
        with pytest.raises(AgentPersistenceError):
            async with ports.unit_of_work.begin() as scope:
                await _write_all(scope, make_state(key), "one")
        assert await _marks(ports, key) == (None, [], [], [])

    async def test_a_live_lease_lets_writes_through(self, ports: PortsUnderTest, key: str) -> None:
        """Also when it was renewed after it was handed over."""
        lease = await ports.states.claim(key, "one", LONG_SECONDS)
        async with ports.unit_of_work.begin(lease) as scope:
            saved = await _write_all(scope, make_state(key), "one")
        await ports.states.renew(lease, 2 * LONG_SECONDS)
        async with ports.unit_of_work.begin(lease) as scope:
            await _write_all(scope, saved, "two")
        marks = ["one", "two"]
        assert await _marks(ports, key) == ("two", marks, marks, marks)

    async def test_a_lease_that_ran_out_drops_all_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Even if nobody took it."""
        lease = await ports.states.claim(key, "one", SHORT_SECONDS)
        await ports.advance(PAST_SHORT_SECONDS)
        await self._require_refused(ports, key, lease)

    async def test_a_lease_that_another_runner_took_drops_all_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """The old fence is refused, the new one is not."""
        old = await ports.states.claim(key, "one", SHORT_SECONDS)
        await ports.advance(PAST_SHORT_SECONDS)
        new = await ports.states.claim(key, "two", LONG_SECONDS)
        await self._require_refused(ports, key, old)
        async with ports.unit_of_work.begin(new) as scope:
            await _write_all(scope, make_state(key), "one")
        assert (await _marks(ports, key))[0] == "one"

    async def test_a_lease_that_is_lost_inside_the_block_drops_all_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """It is checked when the writes are stored."""
        lease = await ports.states.claim(key, "one", LONG_SECONDS)
        with pytest.raises(AgentLeaseLostError):  # noqa: PT012  # the block is what is tested
            async with ports.unit_of_work.begin(lease) as scope:
                await _write_all(scope, make_state(key), "one")
                await ports.states.release(lease)
        assert await _marks(ports, key) == (None, [], [], [])

    async def test_a_lease_that_was_never_given_drops_all_writes(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """An unknown run, and a fence ahead of the stored one."""
        held = await ports.states.claim(f"{key}-held", "one", LONG_SECONDS)
        await self._require_refused(ports, key, AgentLease(key, "one", 1, held.expires_at))
        await self._require_refused(ports, key, replace(held, fence=held.fence + 1))

    async def test_a_state_can_be_saved_twice_in_one_block(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Each save counts on from the one before."""
        async with ports.unit_of_work.begin() as scope:
            first = await scope.states.save(make_state(key))
            second = await scope.states.save(replace(first, status=AgentStatus.COMPLETED))
        assert (first.version, second.version) == (1, 2)
        stored = await ports.states.get(key)
        assert (stored.version, stored.status) == (2, AgentStatus.COMPLETED)

    async def test_versions_go_on_from_block_to_block(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """What a save gave is what the next one starts from."""
        state = make_state(key)
        for number in range(20):
            async with ports.unit_of_work.begin() as scope:
                state = await _write_all(scope, state, f"{number}")
        expected = [f"{number}" for number in range(20)]
        assert await _marks(ports, key) == ("19", expected, expected, expected)
        assert (await ports.states.get(key)).version == state.version == 20

    @pytest.mark.parametrize("timed", [False, True])
    async def test_records_of_one_block_keep_their_order(
        self, ports: PortsUnderTest, key: str, *, timed: bool
    ) -> None:
        """With one time for all, given or of the store; ids are random."""
        ids = random_ids(key, 30)
        when = EARLY if timed else None
        async with ports.unit_of_work.begin() as scope:
            for record_id in ids:
                await scope.signals.append(make_signal(record_id, key, created_at=when))
                await scope.evidence.append(make_evidence(record_id, key, created_at=when))
                message = ModelMessage(ModelMessageRole.USER, record_id)
                await scope.transcripts.append(key, [message])
        assert [signal.id for signal in await ports.signals.list_pending(key)] == ids
        assert [item.id for item in await ports.evidence.list_by_state(key)] == ids
        assert [message.content for message in await ports.transcripts.load(key)] == ids

    async def test_of_two_blocks_over_one_version_exactly_one_is_stored(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """With all its writes and none of the other's."""
        read = await ports.states.save(make_state(key))
        both_wrote = asyncio.Barrier(2)

        async def write(mark: str) -> str:
            async with ports.unit_of_work.begin() as scope:
                await _write_all(scope, read, mark)
                async with asyncio.timeout(30):
                    await both_wrote.wait()
            return mark

        outcomes = await asyncio.gather(write("one"), write("two"), return_exceptions=True)
        won = [outcome for outcome in outcomes if isinstance(outcome, str)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, AgentStateConflictError)]
        assert (len(won), len(lost)) == (1, 1)
        assert await _marks(ports, key) == (won[0], won, won, won)

    async def test_a_block_without_writes_changes_nothing(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Reads inside it see what is stored."""
        saved = await ports.states.save(make_state(key))
        async with ports.unit_of_work.begin() as scope:
            assert await scope.states.get(key) == saved
        assert await ports.states.get(key) == saved

    async def _require_refused(self, ports: PortsUnderTest, key: str, lease: AgentLease) -> None:
        with pytest.raises(AgentLeaseLostError):
            async with ports.unit_of_work.begin(lease) as scope:
                await _write_all(scope, make_state(key), "one")
        assert await _marks(ports, key) == (None, [], [], [])
