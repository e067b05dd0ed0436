"""The contract of leases: the right to act on a run, given by ``IAgentStateRepository``."""
# ruff: noqa: S101  # a suite asserts

import asyncio

import pytest

from spakky.agent.error import AgentLeaseLostError, AgentRunInProgressError
from spakky.agent.ports.repositories import AgentLease
from spakky.agent_testkit.contracts.shared import (
    LONG_SECONDS,
    PAST_SHORT_SECONDS,
    SHORT_SECONDS,
    PortContract,
    PortsUnderTest,
    make_state,
)


class LeaseContract(PortContract):
    """One live holder for each run, and a fence that grows with each."""

    @pytest.mark.parametrize("known", [False, True])
    async def test_a_run_can_be_claimed_before_and_after_its_first_save(
        self, ports: PortsUnderTest, key: str, *, known: bool
    ) -> None:
        """The lease names its run and holder and ends at a time with a zone."""
        if known:
            await ports.states.save(make_state(key))
        lease = await ports.states.claim(key, "one", LONG_SECONDS)
        assert (lease.state_id, lease.owner) == (key, "one")
        assert lease.expires_at.tzinfo is not None

    async def test_another_owner_is_refused_while_the_lease_lives(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """And may hold another run."""
        await ports.states.claim(key, "one", LONG_SECONDS)
        with pytest.raises(AgentRunInProgressError):
            await ports.states.claim(key, "two", LONG_SECONDS)
        other = await ports.states.claim(f"{key}-other", "two", LONG_SECONDS)
        assert other.owner == "two"

    async def test_the_owner_of_a_live_lease_gets_it_again_with_the_same_fence(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """It is renewed by that."""
        first = await ports.states.claim(key, "one", LONG_SECONDS)
        again = await ports.states.claim(key, "one", 2 * LONG_SECONDS)
        assert again.fence == first.fence
        assert again.expires_at > first.expires_at

    async def test_of_many_claimers_exactly_one_wins(self, ports: PortsUnderTest, key: str) -> None:
        """The others are told that the run is in progress."""
        claims = [ports.states.claim(key, f"owner {n}", LONG_SECONDS) for n in range(6)]
        outcomes = await asyncio.gather(*claims, return_exceptions=True)
        assert sum(isinstance(outcome, AgentLease) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, AgentRunInProgressError) for outcome in outcomes) == 5

    async def test_a_lease_that_ran_out_can_be_taken_with_the_next_fence(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """The old holder has lost it."""
        old = await ports.states.claim(key, "one", SHORT_SECONDS)
        await ports.advance(PAST_SHORT_SECONDS)
        new = await ports.states.claim(key, "two", LONG_SECONDS)
        assert (new.owner, new.fence) == ("two", old.fence + 1)
        with pytest.raises(AgentLeaseLostError):
            await ports.states.renew(old, LONG_SECONDS)
        with pytest.raises(AgentRunInProgressError):
            await ports.states.claim(key, "one", LONG_SECONDS)

    async def test_renewing_prolongs_a_lease(self, ports: PortsUnderTest, key: str) -> None:
        """With its fence."""
        lease = await ports.states.claim(key, "one", SHORT_SECONDS)
        renewed = await ports.states.renew(lease, LONG_SECONDS)
        assert (renewed.owner, renewed.fence) == ("one", lease.fence)
        assert renewed.expires_at > lease.expires_at
        await ports.advance(PAST_SHORT_SECONDS)
        with pytest.raises(AgentRunInProgressError):
            await ports.states.claim(key, "two", LONG_SECONDS)

    async def test_a_lease_that_ran_out_and_was_not_taken_can_be_renewed(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A runner that was held up for a moment goes on."""
        lease = await ports.states.claim(key, "one", SHORT_SECONDS)
        await ports.advance(PAST_SHORT_SECONDS)
        renewed = await ports.states.renew(lease, LONG_SECONDS)
        assert renewed.fence == lease.fence
        with pytest.raises(AgentRunInProgressError):
            await ports.states.claim(key, "two", LONG_SECONDS)

    async def test_a_released_lease_is_free_for_the_next_fence(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """And cannot be renewed."""
        old = await ports.states.claim(key, "one", LONG_SECONDS)
        await ports.states.release(old)
        with pytest.raises(AgentLeaseLostError):
            await ports.states.renew(old, LONG_SECONDS)
        new = await ports.states.claim(key, "two", LONG_SECONDS)
        assert new.fence == old.fence + 1

    async def test_the_same_owner_gets_the_next_fence_after_a_release(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A new hold is a new holder."""
        old = await ports.states.claim(key, "one", LONG_SECONDS)
        await ports.states.release(old)
        assert (await ports.states.claim(key, "one", LONG_SECONDS)).fence == old.fence + 1

    async def test_releasing_a_lease_that_is_no_longer_held_changes_nothing(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Neither a taken one, nor one released before, nor one of an unknown run."""
        old = await ports.states.claim(key, "one", SHORT_SECONDS)
        await ports.advance(PAST_SHORT_SECONDS)
        held = await ports.states.claim(key, "two", LONG_SECONDS)
        await ports.states.release(old)
        with pytest.raises(AgentRunInProgressError):
            await ports.states.claim(key, "three", LONG_SECONDS)
        await ports.states.release(held)
        await ports.states.release(held)
        await ports.states.release(AgentLease(f"{key}-unknown", "one", 1, held.expires_at))

    async def test_a_lease_that_was_never_given_cannot_be_renewed(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """No run, or another fence."""
        held = await ports.states.claim(key, "one", LONG_SECONDS)
        for forged in (
            AgentLease(f"{key}-unknown", "one", 1, held.expires_at),
            AgentLease(key, "one", held.fence + 1, held.expires_at),
        ):
            with pytest.raises(AgentLeaseLostError):
                await ports.states.renew(forged, LONG_SECONDS)
