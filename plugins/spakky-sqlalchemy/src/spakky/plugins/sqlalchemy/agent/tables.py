"""The tables of durable runs.

Order is never taken from a time: ``seq`` and ``position`` are numbers. They are given while the
row of the run in ``spakky_agent_runs`` is locked, so that within a run they grow in the order of
the commits, not only of the writes.

JSON is kept as it was written, so that what a digest was taken of can be read again: the sorted form
of PostgreSQL's ``jsonb`` turns ``1e+16`` into another number and the model's order of arguments into
another text. Queries can still look inside, with ``->>`` and casts.
"""

from spakky.plugins.sqlalchemy.column_types import (
    StorableText,
    UtcDateTime,
    json_document,
)
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

PREFIX = "spakky_agent_"
"""What the name of every table begins with."""

VERSION_TABLE = f"{PREFIX}schema_version"
"""The table with the schema's revision; Alembic's own, whoever runs it."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)
"""All tables of this module, for Alembic's comparison among others."""


def _sequence() -> Column[int]:
    # A sequence on PostgreSQL. SQLite numbers only INTEGER keys itself, and gives a number out
    # twice unless the table says AUTOINCREMENT.
    return Column("seq", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)


schema_version = Table(
    VERSION_TABLE,
    metadata,
    Column("version_num", String(32), primary_key=True),
)

runs = Table(
    f"{PREFIX}runs",
    metadata,
    Column("state_id", StorableText, primary_key=True),
    # The lease. It can be claimed before the run has a state, so it is not in the states table.
    Column("owner", StorableText),
    Column("fence", BigInteger, nullable=False, server_default="0"),
    Column("expires_at", UtcDateTime),
    # Every commit that appends something to the run writes here, which locks the row.
    Column("messages_appended", BigInteger, nullable=False, server_default="0"),
)
"""One row for each run that has a lease, a signal, evidence or a transcript."""

states = Table(
    f"{PREFIX}states",
    metadata,
    _sequence(),
    Column("id", StorableText, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("agent_type", StorableText, nullable=False),
    Column("status", String(32), nullable=False),
    Column("transition", String(32)),
    Column("reason", String(64)),
    Column("current_activity", StorableText),
    Column("input_ref", StorableText),
    Column("output_ref", StorableText),
    Column("pending_signal_count", BigInteger, nullable=False),
    Column("last_event_cursor", StorableText),
    Column("recovery_marker", StorableText),
    Column("metadata", json_document(), nullable=False),
    Column("checkpoint", json_document(), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("id"),
    Index(None, "status", "seq"),
    sqlite_autoincrement=True,
)
"""The state of each run; a save is guarded by ``version``."""

signals = Table(
    f"{PREFIX}signals",
    metadata,
    _sequence(),
    Column("id", StorableText, nullable=False),
    Column("state_id", StorableText, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("payload", json_document(), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("consumed_at", UtcDateTime),
    UniqueConstraint("id"),
    Index(None, "state_id", "seq"),
    sqlite_autoincrement=True,
)
"""The queue of each run; ``consumed_at`` is set once."""

evidence = Table(
    f"{PREFIX}evidence",
    metadata,
    _sequence(),
    Column("id", StorableText, nullable=False),
    Column("state_id", StorableText, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("payload", json_document(), nullable=False),
    Column("summary", StorableText),
    Column("digest", StorableText),
    Column("manifest_ref", StorableText),
    Column("reference", StorableText),
    Column("sensitive_fields", json_document(), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("id"),
    Index(None, "state_id", "seq"),
    Index(None, "manifest_ref", "seq"),
    sqlite_autoincrement=True,
)
"""Evidence; triggers of the migration refuse every change and removal."""

transcript = Table(
    f"{PREFIX}transcript",
    metadata,
    Column("state_id", StorableText, primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("message", json_document(), nullable=False),
)
"""The model messages of each run, numbered from 0 without gaps."""

conversation_turns = Table(
    f"{PREFIX}conversation_turns",
    metadata,
    _sequence(),
    Column("conversation_id", StorableText, nullable=False),
    Column("role", String(32), nullable=False),
    Column("content", StorableText, nullable=False),
    Column("metadata", json_document(), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "conversation_id", "seq"),
    sqlite_autoincrement=True,
)
"""The turns of each conversation."""
