"""Writes a write set to SQLite in one IMMEDIATE transaction.

The statements go to the driver as they are, each in one call: a boundary is written between any two
steps of a run, and SQLAlchemy's own layers would take most of its time.
"""

# Statements are put together from constants of this module; every value is a parameter.
# ruff: noqa: S608

from collections.abc import Iterable, Sequence
from typing import cast

from aiosqlite import Connection, OperationalError

from spakky.agent.ports.repositories import AgentLease
from spakky.plugins.sqlalchemy.agent.commit_refusal import CommitRefusedError, Refusal
from spakky.plugins.sqlalchemy.agent.rows import Row, RowValue
from spakky.plugins.sqlalchemy.agent.tables import evidence, signals, states
from spakky.plugins.sqlalchemy.agent.times import SQLITE_NOW
from spakky.plugins.sqlalchemy.agent.write_set import StateWrite, WriteSet
from spakky.plugins.sqlalchemy.column_types import to_iso
from spakky.plugins.sqlalchemy.sqlite_locks import LockDeadline
from sqlalchemy.ext.asyncio import AsyncConnection

_STATE_COLUMNS = tuple(column.name for column in states.columns if column.name != "seq")
_SIGNAL_COLUMNS = tuple(column.name for column in signals.columns if column.name != "seq")
_EVIDENCE_COLUMNS = tuple(column.name for column in evidence.columns if column.name != "seq")
_CHANGED_COLUMNS = tuple(name for name in _STATE_COLUMNS if name not in {"id", "created_at"})


def _insert(table: str, columns: Sequence[str]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"


_CHECK_LEASE = (
    "SELECT fence FROM spakky_agent_runs "
    f"WHERE state_id = ? AND owner = ? AND fence = ? AND expires_at > {SQLITE_NOW}"
)
_CREATE_STATE = (
    f"{_insert(states.name, _STATE_COLUMNS)} ON CONFLICT (id) DO NOTHING RETURNING version"
)
_UPDATE_STATE = (
    f"UPDATE {states.name} SET {', '.join(f'{name} = ?' for name in _CHANGED_COLUMNS)} "
    "WHERE id = ? AND version = ? RETURNING version"
)
_COUNT_MESSAGES = (
    "INSERT INTO spakky_agent_runs (state_id, messages_appended) VALUES (?, ?) "
    "ON CONFLICT (state_id) DO UPDATE "
    "SET messages_appended = messages_appended + excluded.messages_appended "
    "RETURNING messages_appended"
)
_ADD_MESSAGE = _insert("spakky_agent_transcript", ("state_id", "position", "message"))
_ADD_SIGNAL = _insert(signals.name, _SIGNAL_COLUMNS)
_ADD_EVIDENCE = _insert(evidence.name, _EVIDENCE_COLUMNS)

type _Value = str | int | None


async def flush_to_sqlite(
    connection: AsyncConnection,
    writes: WriteSet,
    lease: AgentLease | None,
    busy_timeout_seconds: float,
) -> None:
    """Write everything in a transaction of its own.

    Args:
        connection: A connection in autocommit.
        writes: What to write.
        lease: The lease under which the writer acts.
        busy_timeout_seconds: How long to wait for another writer.

    Raises:
        CommitRefusedError: A condition failed; nothing was written.
    """
    raw = await connection.get_raw_connection()
    # SQLAlchemy does not know the driver's types; the engine on SQLite is one of aiosqlite.
    driver = cast(Connection, raw.driver_connection)
    try:
        await _begin(driver, LockDeadline(busy_timeout_seconds))
        await _write(driver, writes, lease)
        await driver.execute_fetchall("COMMIT")
    except BaseException:
        # Also after a COMMIT that failed, for example on a full disk; without effect otherwise.
        await driver.rollback()
        raise


async def _begin(driver: Connection, deadline: LockDeadline) -> None:
    while True:
        try:
            await driver.execute_fetchall("BEGIN IMMEDIATE")
        except OperationalError as error:
            if not deadline.allows_retry(error):
                raise
        else:
            return


async def _write(driver: Connection, writes: WriteSet, lease: AgentLease | None) -> None:
    if lease is not None:
        identity = (lease.state_id, lease.owner, lease.fence)
        if not await driver.execute_fetchall(_CHECK_LEASE, identity):
            raise CommitRefusedError(Refusal.LEASE)
    for write in writes.states.values():
        await _save_state(driver, write)
    await _consume(driver, writes.consumed)
    for state_id, messages in writes.messages.items():
        await _append_messages(driver, state_id, messages)
    await _insert_rows(driver, _ADD_SIGNAL, _SIGNAL_COLUMNS, writes.signals)
    await _insert_rows(driver, _ADD_EVIDENCE, _EVIDENCE_COLUMNS, writes.evidence)


async def _save_state(driver: Connection, write: StateWrite) -> None:
    if write.expected_version == 0:
        saved = await driver.execute_fetchall(_CREATE_STATE, _values(write.row, _STATE_COLUMNS))
    else:
        known = (_scalar(write.row["id"]), write.expected_version)
        values = (*_values(write.row, _CHANGED_COLUMNS), *known)
        saved = await driver.execute_fetchall(_UPDATE_STATE, values)
    if not saved:
        raise CommitRefusedError(Refusal.STATE)


async def _consume(driver: Connection, signal_ids: Sequence[str]) -> None:
    if not signal_ids:
        return
    marks = ", ".join("?" * len(signal_ids))
    consumed = await driver.execute_fetchall(
        f"UPDATE {signals.name} SET consumed_at = {SQLITE_NOW} "
        f"WHERE id IN ({marks}) AND consumed_at IS NULL RETURNING id",
        signal_ids,
    )
    if len(list(consumed)) != len(signal_ids):
        raise CommitRefusedError(Refusal.SIGNAL)


async def _append_messages(driver: Connection, state_id: str, messages: Sequence[str]) -> None:
    [(total,)] = await driver.execute_fetchall(_COUNT_MESSAGES, (state_id, len(messages)))
    first = total - len(messages)
    rows = [(state_id, first + offset, str(message)) for offset, message in enumerate(messages)]
    await _execute_many(driver, _ADD_MESSAGE, rows)


async def _insert_rows(
    driver: Connection, statement: str, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    if rows:
        await _execute_many(driver, statement, [_values(row, columns) for row in rows])


async def _execute_many(
    driver: Connection, statement: str, rows: Iterable[tuple[_Value, ...]]
) -> None:
    async with driver.executemany(statement, rows):
        # Leaving the block closes the cursor in the connection's own thread.
        return


def _values(row: Row, columns: Sequence[str]) -> tuple[_Value, ...]:
    return tuple(_scalar(row[name]) for name in columns)


def _scalar(value: RowValue) -> _Value:
    if value is None or isinstance(value, int):
        return value
    # The driver takes the exact type without asking for an adapter first.
    return str(value) if isinstance(value, str) else to_iso(value)
