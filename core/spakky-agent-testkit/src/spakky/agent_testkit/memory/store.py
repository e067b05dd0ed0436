"""The store in memory: commits that are all or nothing, leases, hooks that break them, and counters."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from spakky.agent.error import AgentLeaseLostError, AgentRunInProgressError
from spakky.agent.ports.repositories import AgentLease
from spakky.agent_testkit.clock import ManualClock, add_seconds
from spakky.agent_testkit.memory.writes import LeaseRow, Tables, Write, apply_all


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit writes.

    Attributes:
        number: Which commit of the store it is, from 1.
        writes: A few words for each write, in order, such as ``state r1 v2 active/running``.
        lease: The lease it is made under.
    """

    number: int
    writes: tuple[str, ...]
    lease: AgentLease | None = None

    @property
    def name(self) -> str:
        """The commit in one line."""
        return f"commit {self.number}: {', '.join(self.writes)}"


type CommitHook = Callable[[CommitInfo], Awaitable[None]]
type ReadHook = Callable[[str], Awaitable[None]]


class MemoryStore:
    """Holds what the ports in memory share. Several sets of ports over one store are several processes on one database.

    Every read and every commit gives way to other tasks once, as a database does, so that races show.

    Attributes:
        clock: The store's clock.
        before_commit: Awaited before a commit; when it raises, nothing is written.
        after_commit: Awaited after a commit; when it raises, everything is written and the caller does not know.
        before_read: Awaited before a read with the name of the call; when it raises, the caller sees that.
        commits: How many commits were made; calls about leases are not among them.
        reads: How many calls read something.
        lease_calls: How many calls claimed, renewed or released a lease.
        tables: The stored rows, for tests that look underneath.

    Args:
        clock: What to read the time from; a ``ManualClock`` of its own when none is given.
    """

    def __init__(self, clock: Callable[[], datetime] | None = None) -> None:
        self.clock: Callable[[], datetime] = ManualClock() if clock is None else clock
        self.before_commit: CommitHook | None = None
        self.after_commit: CommitHook | None = None
        self.before_read: ReadHook | None = None
        self.commits = 0
        self.reads = 0
        self.lease_calls = 0
        self.tables = Tables()

    async def start_read(self, name: str) -> Tables:
        """Count a read, let others run and give the tables."""
        self.reads += 1
        await asyncio.sleep(0)
        if self.before_read is not None:
            await self.before_read(name)
        return self.tables

    async def commit(self, writes: Sequence[Write], lease: AgentLease | None = None) -> None:
        """Write all or nothing; without writes only the lease is checked.

        Raises:
            AgentLeaseLostError: The lease is not the live one of its run.
            AgentPersistenceError: A write does not fit what is stored.
        """
        await asyncio.sleep(0)
        info = CommitInfo(self.commits + 1, tuple(write.describe() for write in writes), lease)
        if writes and self.before_commit is not None:
            await self.before_commit(info)
        if lease is not None:
            self._require_live(lease)
        if not writes:
            return
        apply_all(self.tables, tuple(writes))
        self.commits += 1
        if self.after_commit is not None:
            await self.after_commit(info)

    async def claim(self, state_id: str, owner: str, ttl_seconds: float) -> AgentLease:
        """Take or renew a lease, as the port says."""
        await self._start_lease_call()
        row = self.tables.leases.get(state_id)
        if row is None:
            return self._store_lease(state_id, owner, 1, ttl_seconds)
        if not self.is_live(state_id):
            return self._store_lease(state_id, owner, row.fence + 1, ttl_seconds)
        if row.owner != owner:
            message = (
                f"Run {state_id!r} is held by another runner until {row.expires_at.isoformat()}; "
                "wait until it ends or its lease runs out."
            )
            raise AgentRunInProgressError(message)
        return self._store_lease(state_id, owner, row.fence, ttl_seconds)

    async def renew(self, lease: AgentLease, ttl_seconds: float) -> AgentLease:
        """Prolong a lease that nobody else took, as the port says."""
        await self._start_lease_call()
        if not self._is_held(lease):
            raise AgentLeaseLostError(_lost(lease))
        return self._store_lease(lease.state_id, lease.owner, lease.fence, ttl_seconds)

    async def release(self, lease: AgentLease) -> None:
        """Give a lease back, as the port says."""
        await self._start_lease_call()
        if self._is_held(lease):
            self.tables.leases[lease.state_id] = LeaseRow(None, lease.fence, self.clock())

    def is_live(self, state_id: str) -> bool:
        """Tell whether a run has a lease that has not run out."""
        row = self.tables.leases.get(state_id)
        return row is not None and row.owner is not None and row.expires_at > self.clock()

    async def _start_lease_call(self) -> None:
        self.lease_calls += 1
        await asyncio.sleep(0)

    def _is_held(self, lease: AgentLease) -> bool:
        row = self.tables.leases.get(lease.state_id)
        return row is not None and (row.owner, row.fence) == (lease.owner, lease.fence)

    def _require_live(self, lease: AgentLease) -> None:
        if not self._is_held(lease) or not self.is_live(lease.state_id):
            raise AgentLeaseLostError(_lost(lease))

    def _store_lease(self, state_id: str, owner: str, fence: int, ttl_seconds: float) -> AgentLease:
        expires_at = add_seconds(self.clock(), ttl_seconds, "ttl_seconds")
        lease = AgentLease(state_id, owner, fence, expires_at)
        self.tables.leases[state_id] = LeaseRow(owner, fence, expires_at)
        return lease


def _lost(lease: AgentLease) -> str:
    return (
        f"The lease of run {lease.state_id!r} (owner {lease.owner!r}, fence {lease.fence}) is no longer live; "
        "stop acting on the run."
    )
