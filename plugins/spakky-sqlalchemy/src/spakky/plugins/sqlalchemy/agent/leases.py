"""The statements of leases; each is one guarded write in the database's time."""

from datetime import datetime

from spakky.agent.ports.repositories import AgentLease
from spakky.plugins.sqlalchemy.agent.tables import runs
from spakky.plugins.sqlalchemy.agent.times import database_in, database_now
from sqlalchemy import ColumnElement, and_, case, or_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate


def claim_lease(
    dialect: str, state_id: str, owner: str, ttl_seconds: float
) -> ReturningInsert[int, datetime | None]:
    """Take the lease of a run when it is free, ran out, or is the owner's own.

    Args:
        dialect: ``postgresql`` or ``sqlite``, which spell the statement differently.
        state_id: The run.
        owner: Who asks.
        ttl_seconds: How long the lease lasts.

    Returns:
        A statement that gives the fence and the end; no row when somebody else has the lease.
    """
    is_live = runs.c.expires_at > database_now()
    own_and_live = and_(runs.c.owner == owner, is_live)
    taken = {
        "owner": owner,
        # The owner of a live lease keeps its number; every new holder gets the next one.
        "fence": case((own_and_live, runs.c.fence), else_=runs.c.fence + 1),
        "expires_at": database_in(ttl_seconds),
    }
    may_take = or_(runs.c.owner.is_(None), ~is_live, runs.c.owner == owner)
    first = {
        "state_id": state_id,
        "owner": owner,
        "fence": 1,
        "expires_at": database_in(ttl_seconds),
    }
    keys = [runs.c.state_id]
    if dialect == "postgresql":
        statement = postgresql.insert(runs).values(first)
        return statement.on_conflict_do_update(
            index_elements=keys, set_=taken, where=may_take
        ).returning(runs.c.fence, runs.c.expires_at)
    return (
        sqlite.insert(runs)
        .values(first)
        .on_conflict_do_update(index_elements=keys, set_=taken, where=may_take)
        .returning(runs.c.fence, runs.c.expires_at)
    )


def renew_lease(lease: AgentLease, ttl_seconds: float) -> ReturningUpdate[datetime | None]:
    """Prolong a lease, also one that ran out, unless somebody else has taken it or it was given back.

    Returns:
        A statement that gives the new end; no row when the lease is lost.
    """
    statement = update(runs).where(_is_held(lease)).values(expires_at=database_in(ttl_seconds))
    return statement.returning(runs.c.expires_at)


def release_lease(lease: AgentLease) -> ReturningUpdate[int]:
    """Give a lease back; the fence stays, so that the next holder gets a higher one."""
    statement = update(runs).where(_is_held(lease)).values(owner=None, expires_at=None)
    return statement.returning(runs.c.fence)


def has_live_lease() -> ColumnElement[bool]:
    """Give the condition that a row of ``runs`` has a live lease."""
    return and_(runs.c.owner.is_not(None), runs.c.expires_at > database_now())


def _is_held(lease: AgentLease) -> ColumnElement[bool]:
    return and_(
        runs.c.state_id == lease.state_id,
        runs.c.owner == lease.owner,
        runs.c.fence == lease.fence,
    )
