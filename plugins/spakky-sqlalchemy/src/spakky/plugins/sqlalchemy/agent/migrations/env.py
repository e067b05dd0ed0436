"""Runs the migrations on the connection that ``migrate`` hands over."""

from alembic import context

from spakky.plugins.sqlalchemy.agent.tables import VERSION_TABLE, metadata

# The connection comes in a transaction, which Alembic then leaves to its owner.
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
context.run_migrations()
