"""What every migration of the branch does around its own statements.

Alembic keeps its record in the version table of whoever runs it: ours, or the application's. So
that each way knows what the other one did, our table always has the revision as well.
"""

from collections.abc import Callable

from alembic import op

import sqlalchemy as sa
from spakky.plugins.sqlalchemy.agent.tables import VERSION_TABLE

_version = sa.table(VERSION_TABLE, sa.column("version_num", sa.String(32)))


def upgrade_step(revision: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Make a migration's ``upgrade``: it runs once, whoever asks, and is recorded in our table.

    Args:
        revision: The revision that the step leads to.
    """

    def decorate(step: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            if _alembic_records_here():
                step()
                return
            found = _recorded()
            if found is not None and found >= revision:
                return
            step()
            _record(revision)

        return run

    return decorate


def downgrade_step(
    down_revision: str | None,
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Make a migration's ``downgrade``, which leaves the record at the revision before it.

    Args:
        down_revision: The revision that the step leads to; None: no tables are left.
    """

    def decorate(step: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            step()
            if _alembic_records_here():
                return
            if down_revision is None:
                op.drop_table(VERSION_TABLE)
            else:
                _record(down_revision)

        return run

    return decorate


def _alembic_records_here() -> bool:
    table: str = op.get_context().version_table
    return table == VERSION_TABLE


def _recorded() -> str | None:
    """Give the recorded revision; a script written to a file asks no database, so None there."""
    if op.get_context().as_sql or not sa.inspect(op.get_bind()).has_table(VERSION_TABLE):
        return None
    # One column is selected, and it is text.
    revision: str | None = op.get_bind().scalar(sa.select(_version.c.version_num))
    return revision


def _record(revision: str) -> None:
    op.create_table(
        VERSION_TABLE,
        sa.Column("version_num", sa.String(32), primary_key=True),
        if_not_exists=True,
    )
    op.execute(_version.delete())
    op.execute(_version.insert().values(version_num=revision))
