"""Writes a write set to PostgreSQL as one statement, which is a transaction of its own.

The statement is made of the parts that a write set has: usually two or three of the seven. Rows
travel as one JSON array for each table. A condition that fails calls ``spakky_agent_refuse``, whose
error undoes the whole statement.

Two things that PostgreSQL does matter here. All parts see the database as it was when the
statement began; only a row that had to be waited for is read anew. So what was waited for is in the
locked row itself: the version of the state, the lease, the number of messages. And parts run in no
order of their own; each one that must come after the lease check or the numbering refers to it.
"""

# Statements are put together from constants of this module; every value is a parameter.
# ruff: noqa: S608

import re
from functools import lru_cache

from spakky.agent.ports.repositories import AgentLease
from spakky.plugins.sqlalchemy.agent.commit_refusal import CommitRefusedError, Refusal
from spakky.plugins.sqlalchemy.agent.driver_access import fetch_from_postgresql
from spakky.plugins.sqlalchemy.agent.failures import sqlstate_of
from spakky.plugins.sqlalchemy.agent.rows import Row, RowValue
from spakky.plugins.sqlalchemy.agent.write_set import WriteSet
from spakky.plugins.sqlalchemy.column_types import to_iso
from spakky.plugins.sqlalchemy.json_text import Json, dump_json
from sqlalchemy.exc import DBAPIError

_REFUSED = "SA001"
_COLLISIONS = frozenset({"40001", "40P01"})
_ATTEMPTS = 5

_STATE_COLUMNS = {
    "version": "bigint",
    "agent_type": "text",
    "status": "text",
    "transition": "text",
    "reason": "text",
    "current_activity": "text",
    "input_ref": "text",
    "output_ref": "text",
    "pending_signal_count": "bigint",
    "last_event_cursor": "text",
    "recovery_marker": "text",
    "metadata": "json",
    "checkpoint": "json",
    "updated_at": "timestamptz",
}
_SIGNAL_COLUMNS = {
    "id": "text",
    "state_id": "text",
    "kind": "text",
    "payload": "json",
    "created_at": "timestamptz",
    "consumed_at": "timestamptz",
}
_EVIDENCE_COLUMNS = {
    "id": "text",
    "state_id": "text",
    "kind": "text",
    "payload": "json",
    "summary": "text",
    "digest": "text",
    "manifest_ref": "text",
    "reference": "text",
    "sensitive_fields": "json",
    "created_at": "timestamptz",
}


def _records(parameter: str, columns: dict[str, str]) -> str:
    """Give the source of rows; a JSON column comes as text, which is parsed where it is used."""
    fields = ", ".join(
        f"{name} {'text' if kind == 'json' else kind}" for name, kind in columns.items()
    )
    return f"json_to_recordset(CAST(:{parameter} AS json)) AS v ({fields})"


def _values(columns: dict[str, str]) -> str:
    return ", ".join(
        f"CAST(v.{name} AS json)" if kind == "json" else f"v.{name}"
        for name, kind in columns.items()
    )


# Every run that is written to is locked in one order, the one under the lease among them: else two
# runners that write to each other's runs could each wait for the other.
_LEASE = """locked AS MATERIALIZED (
    SELECT state_id, owner, fence, expires_at FROM spakky_agent_runs
    WHERE state_id = ANY (CAST(:locked_runs AS text[]))
    ORDER BY state_id FOR NO KEY UPDATE),
lease AS MATERIALIZED (
    SELECT fence FROM locked
    WHERE state_id = :lease_state_id AND owner = :lease_owner AND fence = :lease_fence
      AND expires_at > clock_timestamp())"""
_RUNS = f"""counted AS (
    INSERT INTO spakky_agent_runs AS r (state_id, messages_appended)
    SELECT v.state_id, v.messages
    FROM {_records("runs", {"state_id": "text", "messages": "bigint"})}
    WHERE $gate ORDER BY v.state_id
    ON CONFLICT (state_id) DO UPDATE
    SET messages_appended = r.messages_appended + excluded.messages_appended
    RETURNING r.state_id, r.messages_appended)"""
_KEYED_STATE = {"id": "text", "created_at": "timestamptz", **_STATE_COLUMNS}
_NEW_STATES = f"""created AS (
    INSERT INTO spakky_agent_states ({", ".join(_KEYED_STATE)})
    SELECT {_values(_KEYED_STATE)} FROM {_records("new_states", _KEYED_STATE)}
    WHERE $gate ORDER BY v.id
    ON CONFLICT (id) DO NOTHING
    RETURNING id)"""
_KNOWN_STATE = {"id": "text", "expected": "bigint", **_STATE_COLUMNS}
_KNOWN_STATES = f"""updated AS (
    UPDATE spakky_agent_states AS t
    SET ({", ".join(_STATE_COLUMNS)}) = ROW ({_values(_STATE_COLUMNS)})
    FROM {_records("known_states", _KNOWN_STATE)}
    WHERE t.id = v.id AND t.version = v.expected AND $gate
    RETURNING t.id)"""
_CONSUMED = """consumed AS (
    UPDATE spakky_agent_signals SET consumed_at = clock_timestamp()
    WHERE id = ANY (CAST(:consumed AS text[])) AND consumed_at IS NULL AND $gate
    RETURNING id)"""
_SIGNALS = f"""appended AS (
    INSERT INTO spakky_agent_signals ({", ".join(_SIGNAL_COLUMNS)})
    SELECT {_values(_SIGNAL_COLUMNS)}
    FROM {_records("signals", {"n": "bigint", **_SIGNAL_COLUMNS})}
    JOIN counted USING (state_id) ORDER BY v.n)"""
_EVIDENCE = f"""witnessed AS (
    INSERT INTO spakky_agent_evidence ({", ".join(_EVIDENCE_COLUMNS)})
    SELECT {_values(_EVIDENCE_COLUMNS)}
    FROM {_records("evidence", {"n": "bigint", **_EVIDENCE_COLUMNS})}
    JOIN counted USING (state_id) ORDER BY v.n)"""
_MESSAGES = f"""said AS (
    INSERT INTO spakky_agent_transcript (state_id, position, message)
    SELECT v.state_id, counted.messages_appended - v.from_end, CAST(v.message AS json)
    FROM {_records("messages", {"state_id": "text", "from_end": "bigint", "message": "text"})}
    JOIN counted USING (state_id))"""

# In this order, so that the first condition that fails is the one that is told.
_PARTS = {
    "lease_fence": _LEASE,
    "runs": _RUNS,
    "new_states": _NEW_STATES,
    "known_states": _KNOWN_STATES,
    "consumed": _CONSUMED,
    "signals": _SIGNALS,
    "evidence": _EVIDENCE,
    "messages": _MESSAGES,
}
_CONDITIONS = {
    "lease_fence": ("NOT EXISTS (SELECT FROM lease)", Refusal.LEASE),
    "new_states": ("(SELECT count(*) FROM created) < :new_state_count", Refusal.STATE),
    "known_states": ("(SELECT count(*) FROM updated) < :known_state_count", Refusal.STATE),
    "consumed": ("(SELECT count(*) FROM consumed) < :consumed_count", Refusal.SIGNAL),
}

type _Parameter = str | int | list[str]

_NAMED = re.compile(r":([a-z_]+)")


@lru_cache(maxsize=256)
def _statement(parts: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Put the statement together; there are few combinations, and each is prepared once.

    Returns:
        The statement as the driver takes it, and the names of its values in their order.
    """
    # Referring to the lease makes it be looked at, and locked, before anything is written.
    gate = "EXISTS (SELECT FROM lease)" if "lease_fence" in parts else "true"
    bodies = [body.replace("$gate", gate) for name, body in _PARTS.items() if name in parts]
    checks = [
        f"WHEN {condition} THEN spakky_agent_refuse('{refusal.value}')"
        for name, (condition, refusal) in _CONDITIONS.items()
        if name in parts
    ]
    outcome = f"CASE {' '.join(checks)} ELSE 0 END" if checks else "0"
    named = f"WITH {', '.join(bodies)} SELECT {outcome}"
    names = tuple(dict.fromkeys(_NAMED.findall(named)))
    return _NAMED.sub(lambda match: f"${names.index(match[1]) + 1}", named), names


async def flush_to_postgresql(driver: object, writes: WriteSet, lease: AgentLease | None) -> None:
    """Write everything in one round trip.

    Args:
        driver: A borrowed connection.
        writes: What to write; not empty unless there is a lease to check.
        lease: The lease under which the writer acts.

    Raises:
        CommitRefusedError: A condition failed; nothing was written.
    """
    parameters = _parameters(writes, lease)
    statement, names = _statement(frozenset(_PARTS.keys() & parameters.keys()))
    values = [parameters[name] for name in names]
    attempts_left = _ATTEMPTS
    while True:
        attempts_left -= 1
        try:
            await fetch_from_postgresql(driver, statement, values)
        except DBAPIError as error:
            state = sqlstate_of(error)
            if state == _REFUSED:
                # The message is the reason alone.
                raise CommitRefusedError(Refusal(str(error.orig))) from None
            # PostgreSQL undid the statement to end a deadlock; it can simply be sent again.
            if state not in _COLLISIONS or attempts_left == 0:
                raise
        else:
            return


def _parameters(writes: WriteSet, lease: AgentLease | None) -> dict[str, _Parameter]:
    parameters: dict[str, _Parameter] = {}
    appended = writes.appended_by_run()
    if lease is not None:
        parameters["locked_runs"] = sorted({lease.state_id, *appended})
        parameters["lease_state_id"] = lease.state_id
        parameters["lease_owner"] = lease.owner
        parameters["lease_fence"] = lease.fence
    if appended:
        parameters["runs"] = dump_json(
            [{"state_id": run, "messages": count} for run, count in appended.items()]
        )
    _add_states(parameters, writes)
    if writes.consumed:
        parameters["consumed"] = sorted(writes.consumed)
        parameters["consumed_count"] = len(writes.consumed)
    if writes.signals:
        parameters["signals"] = _numbered(writes.signals)
    if writes.evidence:
        parameters["evidence"] = _numbered(writes.evidence)
    if writes.messages:
        parameters["messages"] = dump_json(
            [
                {"state_id": run, "from_end": len(messages) - offset, "message": str(message)}
                for run, messages in writes.messages.items()
                for offset, message in enumerate(messages)
            ]
        )
    return parameters


def _add_states(parameters: dict[str, _Parameter], writes: WriteSet) -> None:
    new: list[Json] = []
    known: list[Json] = []
    for write in writes.states.values():
        document = _document(write.row)
        if write.expected_version == 0:
            new.append(document)
        else:
            known.append({**document, "expected": write.expected_version})
    if new:
        parameters["new_states"] = dump_json(new)
        parameters["new_state_count"] = len(new)
    if known:
        parameters["known_states"] = dump_json(known)
        parameters["known_state_count"] = len(known)


def _numbered(rows: list[Row]) -> str:
    return dump_json([{"n": number, **_document(row)} for number, row in enumerate(rows)])


def _document(row: Row) -> dict[str, Json]:
    return {name: _scalar(value) for name, value in row.items()}


def _scalar(value: RowValue) -> Json:
    if value is None or isinstance(value, int):
        return value
    # JSON columns are texts here, so the array holds them as strings.
    return str(value) if isinstance(value, str) else to_iso(value)
