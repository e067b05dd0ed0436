"""The first tables of durable runs."""

import sqlalchemy as sa
from alembic import op

from spakky.plugins.sqlalchemy.agent.migration_steps import downgrade_step, upgrade_step

revision = "spakky_agent_0001"
down_revision = None
branch_labels = ("spakky_agent",)
depends_on = None

_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")
_DOCUMENT = sa.JSON()
_TABLES = (
    "spakky_agent_conversation_turns",
    "spakky_agent_transcript",
    "spakky_agent_evidence",
    "spakky_agent_signals",
    "spakky_agent_states",
    "spakky_agent_runs",
)


@upgrade_step(revision)
def upgrade() -> None:
    """Create the tables, and the triggers that keep evidence as it is."""
    _create_runs()
    _create_states()
    _create_signals()
    _create_evidence()
    _create_texts()
    if op.get_context().dialect.name == "sqlite":
        _protect_evidence_on_sqlite()
    else:
        _create_functions_of_postgresql()


@downgrade_step(down_revision)
def downgrade() -> None:
    """Drop the tables with everything in them."""
    for name in _TABLES:
        op.drop_table(name)
    if op.get_context().dialect.name != "sqlite":
        op.execute("DROP FUNCTION spakky_agent_keep_evidence()")
        op.execute("DROP FUNCTION spakky_agent_refuse(text)")


def _create_runs() -> None:
    op.create_table(
        "spakky_agent_runs",
        sa.Column("state_id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text()),
        sa.Column("fence", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("expires_at", _TIME),
        sa.Column("messages_appended", sa.BigInteger(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("state_id", name="pk_spakky_agent_runs"),
    )


def _create_states() -> None:
    op.create_table(
        "spakky_agent_states",
        sa.Column("seq", _SEQ, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("agent_type", sa.Text(), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("transition", sa.String(32)),
        sa.Column("reason", sa.String(64)),
        sa.Column("current_activity", sa.Text()),
        sa.Column("input_ref", sa.Text()),
        sa.Column("output_ref", sa.Text()),
        sa.Column("pending_signal_count", sa.BigInteger(), nullable=False),
        sa.Column("last_event_cursor", sa.Text()),
        sa.Column("recovery_marker", sa.Text()),
        sa.Column("metadata", _DOCUMENT, nullable=False),
        sa.Column("checkpoint", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_spakky_agent_states"),
        sa.UniqueConstraint("id", name="uq_spakky_agent_states_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_spakky_agent_states_status_seq", "spakky_agent_states", ["status", "seq"])


def _create_signals() -> None:
    op.create_table(
        "spakky_agent_signals",
        sa.Column("seq", _SEQ, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("state_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("payload", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("consumed_at", _TIME),
        sa.PrimaryKeyConstraint("seq", name="pk_spakky_agent_signals"),
        sa.UniqueConstraint("id", name="uq_spakky_agent_signals_id"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_spakky_agent_signals_state_id_seq", "spakky_agent_signals", ["state_id", "seq"]
    )


def _create_evidence() -> None:
    op.create_table(
        "spakky_agent_evidence",
        sa.Column("seq", _SEQ, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("state_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("payload", _DOCUMENT, nullable=False),
        sa.Column("summary", sa.Text()),
        sa.Column("digest", sa.Text()),
        sa.Column("manifest_ref", sa.Text()),
        sa.Column("reference", sa.Text()),
        sa.Column("sensitive_fields", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_spakky_agent_evidence"),
        sa.UniqueConstraint("id", name="uq_spakky_agent_evidence_id"),
        sqlite_autoincrement=True,
    )
    for column in ("state_id", "manifest_ref"):
        name = f"ix_spakky_agent_evidence_{column}_seq"
        op.create_index(name, "spakky_agent_evidence", [column, "seq"])


def _create_texts() -> None:
    op.create_table(
        "spakky_agent_transcript",
        sa.Column("state_id", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("message", _DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("state_id", "position", name="pk_spakky_agent_transcript"),
    )
    op.create_table(
        "spakky_agent_conversation_turns",
        sa.Column("seq", _SEQ, nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("role", sa.String(32), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("metadata", _DOCUMENT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_spakky_agent_conversation_turns"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_spakky_agent_conversation_turns_conversation_id_seq",
        "spakky_agent_conversation_turns",
        ["conversation_id", "seq"],
    )


def _protect_evidence_on_sqlite() -> None:
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER spakky_agent_evidence_no_{verb.lower()} "
            f"BEFORE {verb} ON spakky_agent_evidence BEGIN "
            "SELECT RAISE(ABORT, 'agent evidence is append-only'); END"
        )
    # REPLACE deletes the old row without asking the trigger above.
    op.execute(
        "CREATE TRIGGER spakky_agent_evidence_no_replace "
        "BEFORE INSERT ON spakky_agent_evidence WHEN EXISTS ("
        "SELECT 1 FROM spakky_agent_evidence WHERE id = NEW.id OR seq = NEW.seq) BEGIN "
        "SELECT RAISE(ABORT, 'UNIQUE constraint failed: spakky_agent_evidence.id'); END"
    )


def _create_functions_of_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION spakky_agent_keep_evidence() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'agent evidence is append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER spakky_agent_evidence_append_only "
        "BEFORE UPDATE OR DELETE OR TRUNCATE ON spakky_agent_evidence "
        "FOR EACH STATEMENT EXECUTE FUNCTION spakky_agent_keep_evidence()"
    )
    # A commit is one statement; this is how it ends without effect when a condition fails.
    op.execute(
        "CREATE FUNCTION spakky_agent_refuse(reason text) RETURNS integer LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '%', reason USING ERRCODE = 'SA001'; END $$"
    )
