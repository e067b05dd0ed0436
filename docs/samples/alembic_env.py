"""The ``env.py`` of an application that migrates its own tables and those of its agents together."""

from alembic import context
from sqlalchemy import Connection, MetaData

from spakky.plugins.sqlalchemy.agent.tables import metadata as agent_metadata

metadata = MetaData()
"""The tables of the application."""


def migrate(connection: Connection) -> None:
    """Run what alembic was asked to run, over a connection that the caller opened."""
    context.configure(connection=connection, target_metadata=[metadata, agent_metadata])
    with context.begin_transaction():
        context.run_migrations()


migrate(context.config.attributes["connection"])
