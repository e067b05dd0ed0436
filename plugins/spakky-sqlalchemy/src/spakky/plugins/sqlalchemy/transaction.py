"""Transactions for applications: one session for a unit of work, found by the code inside it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from spakky.plugins.sqlalchemy.engine import DatabaseEngines
from spakky.plugins.sqlalchemy.error import TransactionScopeError
from sqlalchemy.ext.asyncio import AsyncSession


@dataclass(frozen=True, slots=True)
class _OpenTransaction:
    """A session and the task that may use it."""

    session: AsyncSession
    task: asyncio.Task[object] | None


class Transactions:
    """Opens transactions and hands their session to the repositories called inside.

    Args:
        engines: Where the engine of the running loop comes from.
    """

    def __init__(self, engines: DatabaseEngines) -> None:
        self._engines = engines
        self._open: ContextVar[_OpenTransaction | None] = ContextVar(
            "spakky_sqlalchemy_transaction", default=None
        )

    @asynccontextmanager
    async def begin(self, *, join: bool = True) -> AsyncGenerator[AsyncSession]:
        """Open a transaction; it is committed when the block ends and rolled back when it raises.

        Args:
            join: Whether a transaction that the same task has open is used instead. It then ends
                where it began.

        Raises:
            TransactionScopeError: With ``join``: the open transaction belongs to another task.
        """
        current = self._open.get()
        if current is not None and join:
            yield _session_of(current)
            return
        async with AsyncSession(self._engines.engine, expire_on_commit=False) as session:
            token = self._open.set(_OpenTransaction(session, asyncio.current_task()))
            try:
                async with session.begin():
                    yield session
            finally:
                self._open.reset(token)

    @property
    def session(self) -> AsyncSession:
        """The session of the open transaction.

        Raises:
            TransactionScopeError: None is open, or it belongs to another task.
        """
        current = self._open.get()
        if current is None:
            message = "No transaction is open; wrap the call in `async with transactions.begin():`."
            raise TransactionScopeError(message)
        return _session_of(current)


def _session_of(current: _OpenTransaction) -> AsyncSession:
    if current.task is not asyncio.current_task():
        # A new task inherits the context of the one that made it, a session serves one at a time.
        message = (
            "The open transaction belongs to the task that opened it; a task started inside it "
            "needs `transactions.begin(join=False)`."
        )
        raise TransactionScopeError(message)
    return current.session
