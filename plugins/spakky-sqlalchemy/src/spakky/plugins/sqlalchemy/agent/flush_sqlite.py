"""Writes a write set to SQLite in one IMMEDIATE transaction.

A boundary is written between any two steps of a run. SQLAlchemy's own layers would take most of its
time, and so would a trip to the driver's thread for each statement; so the statements go to the
library as they are, all in one trip.
"""

# Statements are put together from constants of this module; every value is a parameter.
# ruff: noqa: S608

import sqlite3
from collections.abc import Sequence

from spakky.agent.ports.repositories import AgentLease
from spakky.plugins.sqlalchemy.agent.commit_refusal import CommitRefusedError, Refusal
from spakky.plugins.sqlalchemy.agent.driver_access import run_in_sqlite
from spakky.plugins.sqlalchemy.agent.rows import Row, RowValue
from spakky.plugins.sqlalchemy.agent.tables import evidence, signals, states
from spakky.plugins.sqlalchemy.agent.times import SQLITE_NOW
from spakky.plugins.sqlalchemy.agent.write_set import StateWrite, WriteSet
from spakky.plugins.sqlalchemy.column_types import to_iso
from spakky.plugins.sqlalchemy.sqlite_locks import LockDeadline

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
    driver: object,
    writes: WriteSet,
    lease: AgentLease | None,
    busy_timeout_seconds: float,
) -> None:
    """Write everything in a transaction of its own.

    Args:
        driver: A borrowed connection.
        writes: What to write.
        lease: The lease under which the writer acts.
        busy_timeout_seconds: How long to wait for another writer.

    Raises:
        CommitRefusedError: A condition failed; nothing was written.
    """
    deadline = LockDeadline(busy_timeout_seconds)
    while True:
        try:
            await run_in_sqlite(driver, lambda database: _transact(database, writes, lease))
        except sqlite3.OperationalError as error:
            # Nothing of a transaction that was refused is left, so it can simply be begun again.
            if not deadline.allows_retry(error):
                raise
        else:
            return


def _transact(database: sqlite3.Connection, writes: WriteSet, lease: AgentLease | None) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        _write(database, writes, lease)
        database.execute("COMMIT")
    except BaseException:
        # Also after a COMMIT that failed, for example on a full disk; without effect otherwise.
        database.rollback()
        raise


def _write(database: sqlite3.Connection, writes: WriteSet, lease: AgentLease | None) -> None:
    if lease is not None:
        identity = (lease.state_id, lease.owner, lease.fence)
        if not database.execute(_CHECK_LEASE, identity).fetchall():
            raise CommitRefusedError(Refusal.LEASE)
    for write in writes.states.values():
        _save_state(database, write)
    _consume(database, writes.consumed)
    for state_id, messages in writes.messages.items():
        _append_messages(database, state_id, messages)
    _insert_rows(database, _ADD_SIGNAL, _SIGNAL_COLUMNS, writes.signals)
    _insert_rows(database, _ADD_EVIDENCE, _EVIDENCE_COLUMNS, writes.evidence)


def _save_state(database: sqlite3.Connection, write: StateWrite) -> None:
    if write.expected_version == 0:
        saved = database.execute(_CREATE_STATE, _values(write.row, _STATE_COLUMNS)).fetchall()
    else:
        known = (_scalar(write.row["id"]), write.expected_version)
        values = (*_values(write.row, _CHANGED_COLUMNS), *known)
        saved = database.execute(_UPDATE_STATE, values).fetchall()
    if not saved:
        raise CommitRefusedError(Refusal.STATE)


def _consume(database: sqlite3.Connection, signal_ids: Sequence[str]) -> None:
    if not signal_ids:
        return
    marks = ", ".join("?" * len(signal_ids))
    consumed = database.execute(
        f"UPDATE {signals.name} SET consumed_at = {SQLITE_NOW} "
        f"WHERE id IN ({marks}) AND consumed_at IS NULL RETURNING id",
        signal_ids,
    ).fetchall()
    if len(consumed) != len(signal_ids):
        raise CommitRefusedError(Refusal.SIGNAL)


def _append_messages(database: sqlite3.Connection, state_id: str, messages: Sequence[str]) -> None:
    [(total,)] = database.execute(_COUNT_MESSAGES, (state_id, len(messages))).fetchall()
    first = total - len(messages)
    rows = [(state_id, first + offset, str(message)) for offset, message in enumerate(messages)]
    database.executemany(_ADD_MESSAGE, rows)


def _insert_rows(
    database: sqlite3.Connection, statement: str, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    if rows:
        database.executemany(statement, [_values(row, columns) for row in rows])


def _values(row: Row, columns: Sequence[str]) -> tuple[_Value, ...]:
    return tuple(_scalar(row[name]) for name in columns)


def _scalar(value: RowValue) -> _Value:
    if value is None or isinstance(value, int):
        return value
    # The driver takes the exact type without asking for an adapter first.
    return str(value) if isinstance(value, str) else to_iso(value)
