"""The contract of ``IAgentStateRepository``; its tests of leases come from ``LeaseContract``."""
# ruff: noqa: S101  # a suite asserts

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentRecordNotFoundError, AgentStateConflictError
from spakky.agent_testkit.contracts.leases import LeaseContract
from spakky.agent_testkit.contracts.shared import (
    AWKWARD_TEXT,
    LONG_SECONDS,
    PAST_SHORT_SECONDS,
    SHORT_SECONDS,
    PortsUnderTest,
    deep_object,
    make_state,
    random_ids,
)

_DIED_ON = (AgentStatus.ACTIVE, AgentStatus.CANCELLING)


def _ids(states: Sequence[AgentState], key: str) -> list[str]:
    return [state.id for state in states if state.id.startswith(key)]


class StateRepositoryContract(LeaseContract):
    """Saving is compare-and-swap; lists keep the order of the first save."""

    async def test_an_unknown_state_is_an_error_or_none(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Both ways to ask."""
        with pytest.raises(AgentRecordNotFoundError):
            await ports.states.get(key)
        assert await ports.states.get_or_none(key) is None

    async def test_a_state_comes_back_as_it_was_saved(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Every field, with the texts that stores damage."""
        state = AgentState(
            key,
            "tests.Agent",
            AgentStatus.INTERRUPTED,
            transition=AgentStateTransition.WAITING_APPROVAL,
            reason=AgentStateReason.APPROVAL_REQUIRED,
            current_activity=AWKWARD_TEXT,
            input_ref="input",
            output_ref="output",
            pending_signal_count=3,
            last_event_cursor="cursor",
            recovery_marker="marker",
            metadata=deep_object(),
            checkpoint={"phase": "polling", "steps": [1, 2]},
        )
        saved = await ports.states.save(state)
        assert await ports.states.get(key) == saved
        assert await ports.states.get_or_none(key) == saved
        assert saved == replace(
            state, version=1, created_at=saved.created_at, updated_at=saved.updated_at
        )

    @pytest.mark.parametrize("status", list(AgentStatus))
    async def test_every_status_can_be_stored(
        self, ports: PortsUnderTest, key: str, status: AgentStatus
    ) -> None:
        """No status is lost in a column's constraint."""
        await ports.states.save(make_state(key, status))
        assert (await ports.states.get(key)).status is status

    async def test_a_save_gives_the_next_version_and_times(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """``created_at`` stays, ``updated_at`` goes on, both have a zone."""
        first = await ports.states.save(make_state(key))
        second = await ports.states.save(replace(first, status=AgentStatus.COMPLETED))
        assert (first.version, second.version) == (1, 2)
        assert first.created_at is not None
        assert first.created_at.tzinfo is not None
        assert second.created_at == first.created_at
        assert first.updated_at is not None
        assert second.updated_at is not None
        assert second.updated_at.tzinfo is not None
        assert second.updated_at >= first.updated_at
        assert await ports.states.get(key) == second

    @pytest.mark.parametrize("version", [0, 1, 3])
    async def test_a_stale_save_is_refused_and_writes_nothing(
        self, ports: PortsUnderTest, key: str, version: int
    ) -> None:
        """Older versions, and one that was never given."""
        first = await ports.states.save(make_state(key))
        second = await ports.states.save(first)
        with pytest.raises(AgentStateConflictError):
            await ports.states.save(replace(second, version=version, current_activity="lost"))
        assert await ports.states.get(key) == second

    async def test_a_new_state_must_have_version_zero(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A run that is not stored was not read."""
        with pytest.raises(AgentStateConflictError):
            await ports.states.save(replace(make_state(key), version=2))
        assert await ports.states.get_or_none(key) is None

    @pytest.mark.parametrize("known", [False, True])
    async def test_of_many_writers_exactly_one_wins(
        self, ports: PortsUnderTest, key: str, *, known: bool
    ) -> None:
        """All read the same version, of a new run or a stored one."""
        read = await ports.states.save(make_state(key)) if known else make_state(key)
        attempts = [
            ports.states.save(replace(read, current_activity=f"writer {number}"))
            for number in range(6)
        ]
        outcomes = await asyncio.gather(*attempts, return_exceptions=True)
        won = [outcome for outcome in outcomes if isinstance(outcome, AgentState)]
        lost = [outcome for outcome in outcomes if isinstance(outcome, AgentStateConflictError)]
        assert (len(won), len(lost)) == (1, 5)
        assert await ports.states.get(key) == won[0]

    async def test_states_of_a_status_come_in_the_order_of_their_first_save(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Later saves do not move them; other statuses are not among them."""
        ids = random_ids(key, 30)
        saved = [await ports.states.save(make_state(state_id)) for state_id in ids]
        await ports.states.save(saved[7])
        await ports.states.save(replace(saved[9], status=AgentStatus.COMPLETED))
        await ports.states.save(make_state(f"{key}-other", AgentStatus.FAILED))
        expected = [state_id for state_id in ids if state_id != ids[9]]
        assert _ids(await ports.states.list_by_status(AgentStatus.ACTIVE), key) == expected
        assert _ids(await ports.states.list_by_status(AgentStatus.COMPLETED), key) == [ids[9]]

    async def test_runs_that_a_runner_died_on_are_resume_candidates(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """ACTIVE and CANCELLING only, oldest first."""
        ids = random_ids(key, 2 * len(AgentStatus))
        statuses = [*AgentStatus, *AgentStatus]
        for state_id, status in zip(ids, statuses, strict=True):
            await ports.states.save(make_state(state_id, status))
        expected = [
            state_id for state_id, status in zip(ids, statuses, strict=True) if status in _DIED_ON
        ]
        assert _ids(await ports.states.list_resume_candidates(), key) == expected

    async def test_a_live_lease_keeps_a_run_from_being_a_candidate(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Until it runs out or is released."""
        for name in ("live", "dying", "released"):
            await ports.states.save(make_state(f"{key}-{name}"))
        await ports.states.claim(f"{key}-live", "one", LONG_SECONDS)
        await ports.states.claim(f"{key}-dying", "one", SHORT_SECONDS)
        held = await ports.states.claim(f"{key}-released", "one", LONG_SECONDS)
        assert f"{key}-live" not in _ids(await ports.states.list_resume_candidates(), key)
        assert f"{key}-released" not in _ids(await ports.states.list_resume_candidates(), key)
        await ports.states.release(held)
        await ports.advance(PAST_SHORT_SECONDS)
        candidates = _ids(await ports.states.list_resume_candidates(), key)
        assert candidates == [f"{key}-dying", f"{key}-released"]
