"""``IAgentStateRepository`` on SQLAlchemy: states, and the leases of their runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, override

from spakky.agent.checks import require_positive, require_text
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import (
    AgentLeaseLostError,
    AgentRecordNotFoundError,
    AgentRunInProgressError,
)
from spakky.agent.ports.repositories import AgentLease, IAgentStateRepository
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.leases import (
    claim_lease,
    has_live_lease,
    release_lease,
    renew_lease,
)
from spakky.plugins.sqlalchemy.agent.rows import row_to_state, state_to_row
from spakky.plugins.sqlalchemy.agent.tables import runs, states
from spakky.plugins.sqlalchemy.agent.times import now_utc
from spakky.plugins.sqlalchemy.agent.write_sink import IWriteSink
from sqlalchemy import Select, not_, select
from sqlalchemy.ext.asyncio import AsyncConnection

_DIED_IN = (AgentStatus.ACTIVE.value, AgentStatus.CANCELLING.value)


class SqlAgentStateRepository(IAgentStateRepository):
    """Keeps states under compare-and-swap, and leases in the database's time.

    Leases are claimed, renewed and given back at once, also inside a unit of work.

    Args:
        database: Where the rows are.
        sink: Where saves go.
    """

    def __init__(self, database: AgentDatabase, sink: IWriteSink) -> None:
        self._database = database
        self._sink = sink

    @override
    async def get(self, state_id: str) -> AgentState:
        state = await self.get_or_none(state_id)
        if state is None:
            message = f"No run has the state id {state_id!r}."
            raise AgentRecordNotFoundError(message)
        return state

    @override
    async def get_or_none(self, state_id: str) -> AgentState | None:
        query = select(states).where(states.c.id == state_id)
        found = await self._list(f"read state {state_id!r}", query)
        return found[0] if found else None

    @override
    async def save(self, state: AgentState) -> AgentState:
        if state.version > 0 and state.created_at is None:
            # Built anew rather than read; when it was first saved is known to the store alone.
            stored = await self.get_or_none(state.id)
            state = state if stored is None else replace(state, created_at=stored.created_at)
        row, saved = state_to_row(state, now_utc())
        await self._sink.put(
            f"save state {state.id!r}", lambda writes: writes.put_state(state.version, row)
        )
        return saved

    @override
    async def list_by_status(self, status: AgentStatus) -> Sequence[AgentState]:
        query = select(states).where(states.c.status == status.value).order_by(states.c.seq)
        return await self._list(f"list the states that are {status.value}", query)

    @override
    async def list_resume_candidates(self) -> Sequence[AgentState]:
        leased = select(runs.c.state_id).where(has_live_lease())
        query = (
            select(states)
            .where(states.c.status.in_(_DIED_IN), not_(states.c.id.in_(leased)))
            .order_by(states.c.seq)
        )
        return await self._list("list the runs to resume", query)

    @override
    async def claim(self, state_id: str, owner: str, ttl_seconds: float) -> AgentLease:
        require_text(state_id, "state_id")
        require_text(owner, "owner")
        require_positive(ttl_seconds, "ttl_seconds")
        statement = claim_lease(self._database.dialect, state_id, owner, ttl_seconds)

        async def take(connection: AsyncConnection) -> AgentLease | None:
            row = (await connection.execute(statement)).one_or_none()
            if row is None or row.expires_at is None:
                return None
            return AgentLease(state_id, owner, row.fence, row.expires_at)

        lease = await self._database.write(f"claim the run {state_id!r}", take)
        if lease is None:
            message = (
                f"Run {state_id!r} is in progress: another runner holds its lease. Wait until it "
                "ends or its lease runs out."
            )
            raise AgentRunInProgressError(message)
        return lease

    @override
    async def renew(self, lease: AgentLease, ttl_seconds: float) -> AgentLease:
        require_positive(ttl_seconds, "ttl_seconds")
        statement = renew_lease(lease, ttl_seconds)
        expires_at = await self._database.write(
            f"renew the lease of run {lease.state_id!r}", lambda c: c.scalar(statement)
        )
        if expires_at is None:
            message = (
                f"The lease of run {lease.state_id!r} was given back or belongs to another runner; "
                "stop working on the run."
            )
            raise AgentLeaseLostError(message)
        return replace(lease, expires_at=expires_at)

    @override
    async def release(self, lease: AgentLease) -> None:
        statement = release_lease(lease)
        await self._database.write(
            f"give back the lease of run {lease.state_id!r}", lambda c: c.scalar(statement)
        )

    # The row type of a select over a table is not known to the type checker.
    async def _list(self, action: str, query: Select[Any]) -> tuple[AgentState, ...]:
        async def load(connection: AsyncConnection) -> tuple[AgentState, ...]:
            rows = (await connection.execute(query)).mappings()
            return tuple(map(row_to_state, rows))

        return await self._database.read(action, load)
