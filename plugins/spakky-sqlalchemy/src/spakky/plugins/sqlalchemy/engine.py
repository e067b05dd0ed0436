"""Engines: one for each event loop that asks, made when it first asks and closed when it ends.

The container runs its services in a thread with a loop of its own, while web servers, command
lines and tests have theirs; a connection belongs to the loop that opened it. So no engine is made
at start-up, and none is shared between loops.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from spakky.plugins.sqlalchemy.config import ENV_PREFIX, SqlalchemySettings
from spakky.plugins.sqlalchemy.error import DatabaseConfigurationError
from spakky.plugins.sqlalchemy.json_text import dump_json, load_json
from spakky.plugins.sqlalchemy.sqlite_locks import SLICE_SECONDS, LockDeadline
from sqlalchemy import event
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool, PoolProxiedConnection, PoolResetState
from sqlalchemy.util import await_only

BEGIN_OPTION = "spakky_sqlite_begin"
"""Execution option: the word after BEGIN on SQLite, ``IMMEDIATE`` by default.

None leaves SQLite in autocommit, in which each statement is a transaction of its own. PostgreSQL
does not read the option.
"""

_SQLITE_NEEDED = (3, 35, 0)
_PAUSE_SECONDS = 0.01


def create_engine_for(settings: SqlalchemySettings, *, pooled: bool = True) -> AsyncEngine:
    """Make an engine with this package's defaults for either database; nothing is opened yet.

    Args:
        settings: Where the database is.
        pooled: Whether connections are kept for reuse.
    """
    # The values of these mappings are of many types, which create_async_engine checks.
    options: dict[str, Any] = {
        "echo": settings.echo,
        "hide_parameters": not settings.echo,
        "json_serializer": dump_json,
        "json_deserializer": load_json,
    }
    if not pooled:
        options["poolclass"] = NullPool
    elif not settings.is_memory:
        options["pool_size"] = settings.pool_size
        options["max_overflow"] = settings.max_overflow
        options["pool_timeout"] = settings.pool_timeout_seconds
        options["pool_recycle"] = settings.pool_recycle_seconds
    if settings.is_sqlite:
        return _create_sqlite_engine(settings, options)
    return _create_postgresql_engine(settings, options)


def _create_postgresql_engine(settings: SqlalchemySettings, options: dict[str, Any]) -> AsyncEngine:
    options["connect_args"] = {
        "timeout": settings.connect_timeout_seconds,
        "command_timeout": settings.command_timeout_seconds,
    }
    engine = create_async_engine(settings.database_url, **options)

    @event.listens_for(engine.sync_engine, "checkout")
    def _refuse_closed(
        connection: DBAPIConnection, _: ConnectionPoolEntry, __: PoolProxiedConnection
    ) -> None:
        # The driver knows without a round trip that the server went away, for example to restart.
        # It has no types; is_closed is of its public interface.
        driver: Any = getattr(connection, "driver_connection")  # noqa: B009 - not in the interface
        if driver.is_closed():
            raise DisconnectionError

    return engine


def _create_sqlite_engine(settings: SqlalchemySettings, options: dict[str, Any]) -> AsyncEngine:
    _require_sqlite_version()
    options["connect_args"] = {"timeout": min(SLICE_SECONDS, settings.busy_timeout_seconds)}
    # Done by _roll_back below.
    options["pool_reset_on_return"] = None
    url = settings.database_url
    engine = create_async_engine(url, **options)

    @event.listens_for(engine.sync_engine, "do_connect")
    def _create_folder(*_: object) -> None:
        if url.database and not settings.is_memory and not url.query.get("uri"):
            # Agents store conversations here; other users of the machine have no business in it.
            Path(url.database).parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    @event.listens_for(engine.sync_engine, "connect")
    def _set_up(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # The driver's own handling begins transactions late and deferred; ours is in _begin below.
        setattr(connection, "isolation_level", None)  # noqa: B010 - SQLite only, not in the interface
        cursor = connection.cursor()
        deadline = LockDeadline(settings.busy_timeout_seconds)
        _insist(partial(cursor.execute, "PRAGMA journal_mode=WAL"), deadline)
        # FULL keeps acknowledged commits over a power cut; the WAL makes it one fsync for each.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @event.listens_for(engine.sync_engine, "reset")
    def _roll_back(
        connection: DBAPIConnection, _: ConnectionPoolEntry, state: PoolResetState
    ) -> None:
        # A rollback is a trip to the driver's thread, and there is nearly never anything to roll back.
        # The driver has no types; in_transaction is of its public interface.
        driver: Any = getattr(connection, "driver_connection")  # noqa: B009 - not in the interface
        if not state.terminate_only and driver.in_transaction:
            connection.rollback()

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Connection) -> None:
        # IMMEDIATE takes the write lock at once and waits for it. A transaction that reads first
        # and then asks for the lock is refused without a wait when another one has written.
        word = connection.get_execution_options().get(BEGIN_OPTION, "IMMEDIATE")
        if word is not None:
            deadline = LockDeadline(settings.busy_timeout_seconds)
            _insist(partial(connection.exec_driver_sql, f"BEGIN {word}"), deadline)

    return engine


def _require_sqlite_version() -> None:
    if sqlite3.sqlite_version_info < _SQLITE_NEEDED:
        needed = ".".join(map(str, _SQLITE_NEEDED))
        message = (
            f"This Python has SQLite {sqlite3.sqlite_version}, and {needed} or newer is needed; "
            f"use another build of Python, or PostgreSQL in {ENV_PREFIX}URL."
        )
        raise DatabaseConfigurationError(message)


def _insist(action: Callable[[], object], deadline: LockDeadline) -> None:
    """Repeat an action that the lock of another connection refuses."""
    while True:
        try:
            action()
        except (sqlite3.OperationalError, OperationalError) as error:
            if not deadline.allows_retry(error):
                raise
            # The switch to WAL is refused without any wait while another connection is open.
            await_only(asyncio.sleep(_PAUSE_SECONDS))
        else:
            return


@dataclass(slots=True)
class _LoopEngine:
    """The engine of one loop, and what closes it."""

    engine: AsyncEngine
    autocommit: AsyncEngine
    write_lock: asyncio.Lock
    keeper: AsyncGenerator[None]

    def use(self, engine: AsyncEngine) -> None:
        """Take another engine."""
        self.engine = engine
        self.autocommit = _autocommitting(engine)


def _autocommitting(engine: AsyncEngine) -> AsyncEngine:
    """Give a view of an engine, with the same pool, in which each statement is a transaction."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="AUTOCOMMIT")
    return engine.execution_options(**{BEGIN_OPTION: None})


_keepers: set[AsyncGenerator[None]] = set()
"""Holds on to what closes engines, so that they are closed in order also when nobody else does."""


class DatabaseEngines:
    """Gives each event loop an engine of its own.

    Args:
        settings: Where the database is.
    """

    def __init__(self, settings: SqlalchemySettings) -> None:
        self.settings = settings
        self._by_loop: dict[asyncio.AbstractEventLoop, _LoopEngine] = {}

    @property
    def engine(self) -> AsyncEngine:
        """The engine of the running loop.

        Raises:
            RuntimeError: No event loop runs in this thread.
        """
        return self._current().engine

    @property
    def autocommit_engine(self) -> AsyncEngine:
        """A view of ``engine``, with the same pool, in which each statement is a transaction."""
        return self._current().autocommit

    @property
    def write_lock(self) -> asyncio.Lock:
        """A lock that writers of the running loop may take before they ask SQLite for its lock.

        Waiting here is fair and wakes up at once, where SQLite's own wait polls.
        """
        return self._current().write_lock

    async def dispose(self) -> None:
        """Close the engine of the running loop; the next use makes a new one.

        A loop that ``asyncio.run`` or a server ends does this by itself.
        """
        entry = self._by_loop.pop(asyncio.get_running_loop(), None)
        if entry is not None:
            await entry.keeper.aclose()

    def _current(self) -> _LoopEngine:
        loop = asyncio.get_running_loop()
        entry = self._by_loop.get(loop)
        return self._open(loop) if entry is None else entry

    def _open(self, loop: asyncio.AbstractEventLoop) -> _LoopEngine:
        self._forget_closed_loops()
        engine = create_engine_for(self.settings)
        keeper = self._keep_until_loop_ends(loop)
        entry = _LoopEngine(engine, _autocommitting(engine), asyncio.Lock(), keeper)
        self._by_loop[loop] = entry
        _keepers.add(keeper)
        # Started by hand, as this is no coroutine: the loop notes a generator when it starts.
        with suppress(StopIteration):
            entry.keeper.__anext__().send(None)
        return entry

    async def _keep_until_loop_ends(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None]:
        """Wait until the loop closes its generators, as it does in the end; then close the engine."""
        entry = self._by_loop[loop]
        try:
            yield
        finally:
            _keepers.discard(entry.keeper)
            old = entry.engine
            # Whatever else is still being cleaned up in this loop gets connections that it closes
            # itself, since nobody would close a pool any more.
            entry.use(create_engine_for(self.settings, pooled=False))
            await old.dispose()

    def _forget_closed_loops(self) -> None:
        """Drop the engines of loops that ended without shutting their generators down.

        Their connections cannot be closed in order any more; the collector closes the sockets.
        """
        for loop in [loop for loop in list(self._by_loop) if loop.is_closed()]:
            entry = self._by_loop.pop(loop)
            _keepers.discard(entry.keeper)
            entry.engine.sync_engine.dispose(close=False)
