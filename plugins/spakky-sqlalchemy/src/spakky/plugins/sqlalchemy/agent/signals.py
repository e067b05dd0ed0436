"""``IAgentSignalRepository`` on SQLAlchemy: queues whose signals are consumed once."""

from collections.abc import Sequence
from typing import override

from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.error import AgentRecordNotFoundError, AgentSignalConsumedError
from spakky.agent.ports.repositories import IAgentSignalRepository
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.rows import row_to_signal, signal_to_row
from spakky.plugins.sqlalchemy.agent.tables import signals
from spakky.plugins.sqlalchemy.agent.times import now_utc
from spakky.plugins.sqlalchemy.agent.write_set import consumed_message
from spakky.plugins.sqlalchemy.agent.write_sink import IWriteSink
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection


class SqlAgentSignalRepository(IAgentSignalRepository):
    """Keeps the signals of each run in the order of their commits.

    Args:
        database: Where the rows are.
        sink: Where writes go.
    """

    def __init__(self, database: AgentDatabase, sink: IWriteSink) -> None:
        self._database = database
        self._sink = sink

    @override
    async def append(self, signal: AgentSignal) -> AgentSignal:
        row, stored = signal_to_row(signal, now_utc())
        await self._sink.put(
            f"append signal {signal.id!r}", lambda writes: writes.signals.append(row)
        )
        return stored

    @override
    async def list_pending(self, state_id: str) -> Sequence[AgentSignal]:
        action = f"list the signals of run {state_id!r}"
        # Asked at every boundary of a run, and nearly always in vain.
        if not await self._database.has_pending_signals(action, state_id):
            return ()
        query = (
            select(signals)
            .where(signals.c.state_id == state_id, signals.c.consumed_at.is_(None))
            .order_by(signals.c.seq)
        )

        async def load(connection: AsyncConnection) -> tuple[AgentSignal, ...]:
            return tuple(map(row_to_signal, (await connection.execute(query)).mappings()))

        return await self._database.read(action, load)

    @override
    async def mark_consumed(self, signal_id: str) -> AgentSignal:
        signal = await self._find_pending(signal_id)
        await self._sink.put(
            f"consume signal {signal_id!r}", lambda writes: writes.consume(signal.id)
        )
        return signal

    async def _find_pending(self, signal_id: str) -> AgentSignal:
        query = select(signals).where(signals.c.id == signal_id)

        async def load(connection: AsyncConnection) -> tuple[AgentSignal, bool] | None:
            row = (await connection.execute(query)).mappings().one_or_none()
            return None if row is None else (row_to_signal(row), row["consumed_at"] is not None)

        found = await self._database.read(f"read signal {signal_id!r}", load)
        if found is None:
            message = f"No signal has the id {signal_id!r}."
            raise AgentRecordNotFoundError(message)
        signal, is_consumed = found
        if is_consumed:
            raise AgentSignalConsumedError(consumed_message(signal_id))
        return signal


class ScopedAgentSignalRepository(SqlAgentSignalRepository):
    """The signals inside one unit of work: those that it listed need not be read again.

    Args:
        database: Where the rows are.
        sink: The unit of work's.
    """

    def __init__(self, database: AgentDatabase, sink: IWriteSink) -> None:
        super().__init__(database, sink)
        self._listed: dict[str, AgentSignal] = {}

    @override
    async def list_pending(self, state_id: str) -> Sequence[AgentSignal]:
        pending = await super().list_pending(state_id)
        self._listed.update((signal.id, signal) for signal in pending)
        return pending

    @override
    async def _find_pending(self, signal_id: str) -> AgentSignal:
        listed = self._listed.get(signal_id)
        return await super()._find_pending(signal_id) if listed is None else listed
