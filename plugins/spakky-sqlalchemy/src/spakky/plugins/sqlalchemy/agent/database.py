"""The database of durable runs: reads, single writes and commits, on either engine."""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from spakky.agent.error import (
    AgentLeaseLostError,
    AgentPersistenceError,
    AgentRecordNotFoundError,
    AgentSignalConsumedError,
    AgentStateConflictError,
)
from spakky.agent.ports.repositories import AgentLease
from spakky.plugins.sqlalchemy.agent.commit_refusal import CommitRefusedError, Refusal
from spakky.plugins.sqlalchemy.agent.driver_access import (
    borrow_driver,
    fetch_from_postgresql,
    run_in_sqlite,
)
from spakky.plugins.sqlalchemy.agent.failures import driver_error, persistence_errors
from spakky.plugins.sqlalchemy.agent.flush_postgresql import flush_to_postgresql
from spakky.plugins.sqlalchemy.agent.flush_sqlite import flush_to_sqlite
from spakky.plugins.sqlalchemy.agent.migrate import SchemaGate
from spakky.plugins.sqlalchemy.agent.tables import evidence, signals, states
from spakky.plugins.sqlalchemy.agent.write_set import WriteSet, conflict_message, consumed_message
from spakky.plugins.sqlalchemy.engine import DatabaseEngines
from spakky.plugins.sqlalchemy.json_text import clean_text
from spakky.plugins.sqlalchemy.settle import settle
from spakky.plugins.sqlalchemy.sqlite_locks import LockDeadline
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

type Work[T] = Callable[[AsyncConnection], Awaitable[T]]

# Each database has its own mark for a value.
_PENDING_ON_SQLITE = (
    "SELECT 1 FROM spakky_agent_signals WHERE state_id = ? AND consumed_at IS NULL LIMIT 1"
)
_PENDING_ON_POSTGRESQL = _PENDING_ON_SQLITE.replace("?", "$1")


class AgentDatabase:
    """Runs the work of the repositories, each piece in a transaction of its own.

    No connection is held between two calls. A cancelled call ends once its transaction has.

    Args:
        engines: Where the engine of the running loop comes from.
    """

    def __init__(self, engines: DatabaseEngines) -> None:
        self._engines = engines
        self._url = engines.settings.database_url
        self._is_sqlite = engines.settings.is_sqlite
        self._busy_seconds = engines.settings.busy_timeout_seconds
        self._gate = SchemaGate(engines.settings)

    @property
    def dialect(self) -> str:
        """``postgresql`` or ``sqlite``."""
        return self._url.get_backend_name()

    async def read[T](self, action: str, work: Work[T]) -> T:
        """Run a query.

        Args:
            action: What it does, for the message of a failure.
            work: Runs one statement that only reads; on SQLite it may be run again.

        Raises:
            AgentPersistenceError: The database failed.
        """
        return await settle(self._read(action, work))

    async def has_pending_signals(self, action: str, state_id: str) -> bool:
        """Tell whether a run has a signal that was not consumed. As ``read`` otherwise."""
        # Reading through a column would replace what cannot be stored; here it is done by hand.
        return await settle(self._look(action, clean_text(state_id)))

    async def write[T](self, action: str, work: Work[T]) -> T:
        """Run statements that write, in one transaction. As ``read`` otherwise."""
        return await settle(self._write(action, work))

    async def commit(self, action: str, writes: WriteSet, lease: AgentLease | None = None) -> None:
        """Write a whole set, or nothing of it.

        Raises:
            AgentStateConflictError: A stored state has another version.
            AgentSignalConsumedError: A signal was consumed by somebody else.
            AgentRecordNotFoundError: A signal to consume does not exist.
            AgentLeaseLostError: The lease is not the live one of its run.
            AgentPersistenceError: The database failed, or an id is in use.
        """
        if writes.is_empty and lease is None:
            return
        try:
            await settle(self._commit(action, writes, lease))
        except CommitRefusedError as error:
            refusal = error.refusal
        else:
            return
        raise await self._explain(refusal, writes, lease)

    async def _read[T](self, action: str, work: Work[T]) -> T:
        async def read() -> T:
            async with self._engines.autocommit_engine.connect() as connection:
                return await work(connection)

        return await self._insist(action, read)

    async def _look(self, action: str, state_id: str) -> bool:
        async def look() -> bool:
            async with borrow_driver(self._engines.engine) as driver:
                return await self._find_pending(driver, state_id) is not None

        return await self._insist(action, look)

    async def _insist[T](self, action: str, read: Callable[[], Awaitable[T]]) -> T:
        """Read, and read again while SQLite refuses it: readers wait only for a recovery after a crash."""
        with persistence_errors(self._url, action):
            await self._open()
            deadline = LockDeadline(self._busy_seconds)
            while True:
                try:
                    return await read()
                except (OperationalError, sqlite3.OperationalError) as error:
                    if not deadline.allows_retry(error):
                        raise

    async def _find_pending(self, driver: object, state_id: str) -> object:
        if self._is_sqlite:
            return await run_in_sqlite(
                driver,
                lambda database: database.execute(_PENDING_ON_SQLITE, (state_id,)).fetchone(),
            )
        return await fetch_from_postgresql(driver, _PENDING_ON_POSTGRESQL, (state_id,))

    async def _write[T](self, action: str, work: Work[T]) -> T:
        with persistence_errors(self._url, action):
            await self._open()
            async with self._writing(), self._engines.engine.begin() as connection:
                return await work(connection)

    def _writing(self) -> AbstractAsyncContextManager[None]:
        """Wait for the other writers of this loop on SQLite, which has one writer at a time."""
        return self._engines.write_lock if self._is_sqlite else nullcontext()

    async def _commit(self, action: str, writes: WriteSet, lease: AgentLease | None) -> None:
        with persistence_errors(self._url, action):
            await self._open()
            try:
                await self._flush(writes, lease)
            except (DBAPIError, sqlite3.Error) as error:
                taken = _taken_id(error)
                if taken is None:
                    raise
                message = f"Could not {action}: {taken} with that id exists; give it another id."
                raise AgentPersistenceError(message) from None

    async def _flush(self, writes: WriteSet, lease: AgentLease | None) -> None:
        async with self._writing(), borrow_driver(self._engines.engine) as driver:
            if self._is_sqlite:
                await flush_to_sqlite(driver, writes, lease, self._busy_seconds)
            else:
                await flush_to_postgresql(driver, writes, lease)

    async def _open(self) -> None:
        if not self._gate.is_open:
            await self._gate.open(self._engines.autocommit_engine)

    async def _explain(
        self, refusal: Refusal, writes: WriteSet, lease: AgentLease | None
    ) -> AgentPersistenceError:
        """Find out which record a refused commit failed on, for the message."""
        if refusal is Refusal.LEASE:
            # The lease check is sent only with a lease.
            state_id = "" if lease is None else lease.state_id
            message = (
                f"The lease of run {state_id!r} ran out or belongs to another runner; stop working "
                "on the run. Nothing was written."
            )
            return AgentLeaseLostError(message)
        if refusal is Refusal.STATE:
            return await self.read("look for a conflict", lambda c: _find_conflict(c, writes))
        return await self.read("look for a signal", lambda c: _find_unconsumable(c, writes))


async def _find_conflict(connection: AsyncConnection, writes: WriteSet) -> AgentPersistenceError:
    query = select(states.c.id, states.c.version).where(states.c.id.in_(writes.states))
    stored = {row.id: row.version for row in await connection.execute(query)}
    conflicts = [
        conflict_message(state_id, write.expected_version, stored.get(state_id, 0))
        for state_id, write in writes.states.items()
        if stored.get(state_id, 0) != write.expected_version
    ]
    return AgentStateConflictError(" ".join(conflicts))


async def _find_unconsumable(
    connection: AsyncConnection, writes: WriteSet
) -> AgentPersistenceError:
    query = select(signals.c.id).where(signals.c.id.in_(writes.consumed))
    stored = set(await connection.scalars(query))
    missing = [signal_id for signal_id in writes.consumed if signal_id not in stored]
    if missing:
        message = f"No signal has the id {missing[0]!r}. Nothing was written."
        return AgentRecordNotFoundError(message)
    query = query.where(signals.c.consumed_at.is_not(None))
    messages = [consumed_message(signal_id) for signal_id in await connection.scalars(query)]
    return AgentSignalConsumedError(" ".join((*messages, "Nothing was written.")))


def _taken_id(error: Exception) -> str | None:
    """Tell what a violated unique constraint is about; both databases name it in their text."""
    text = str(driver_error(error))
    for table, what in ((signals.name, "a signal"), (evidence.name, "evidence")):
        if f"{table}.id" in text or f"uq_{table}_id" in text:
            return what
    return None
