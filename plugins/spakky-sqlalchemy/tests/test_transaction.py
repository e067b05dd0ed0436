"""Transactions of applications."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from spakky.plugins.sqlalchemy.engine import DatabaseEngines
from spakky.plugins.sqlalchemy.error import TransactionScopeError
from spakky.plugins.sqlalchemy.transaction import Transactions


class Base(DeclarativeBase):
    """Base of the mapped classes."""


class Note(Base):
    """A row of the application."""

    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str]


class Notes:
    """A repository of the application."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, note_id: int) -> None:
        self._transactions.session.add(Note(id=note_id, body=f"note {note_id}"))


@pytest.fixture
async def transactions(engines: DatabaseEngines) -> Transactions:
    async with engines.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    return Transactions(engines)


async def _ids(engines: DatabaseEngines) -> list[int]:
    async with engines.engine.connect() as connection:
        return list(await connection.scalars(text("SELECT id FROM notes ORDER BY id")))


async def test_what_repositories_do_inside_is_committed_together(
    engines: DatabaseEngines, transactions: Transactions
) -> None:
    notes = Notes(transactions)
    async with transactions.begin():
        await notes.add(1)
        await notes.add(2)
    assert await _ids(engines) == [1, 2]


async def test_an_exception_undoes_everything(
    engines: DatabaseEngines, transactions: Transactions
) -> None:
    notes = Notes(transactions)
    with pytest.raises(LookupError):  # noqa: PT012 - the block is what is tested
        async with transactions.begin():
            await notes.add(1)
            raise LookupError
    assert await _ids(engines) == []
    with pytest.raises(TransactionScopeError, match="No transaction is open"):
        _ = transactions.session


async def test_an_inner_block_joins_and_ends_with_the_outer_one(
    engines: DatabaseEngines, transactions: Transactions
) -> None:
    notes = Notes(transactions)
    with pytest.raises(LookupError):  # noqa: PT012 - the block is what is tested
        async with transactions.begin() as outer:
            async with transactions.begin() as inner:
                assert inner is outer
                await notes.add(1)
            assert transactions.session is outer
            raise LookupError
    assert await _ids(engines) == []


async def test_a_block_of_its_own_is_committed_although_the_outer_one_fails(
    engines: DatabaseEngines, transactions: Transactions
) -> None:
    with pytest.raises(LookupError):  # noqa: PT012 - the block is what is tested
        async with transactions.begin() as outer:
            async with transactions.begin(join=False) as inner:
                assert inner is not outer
                inner.add(Note(id=1, body="kept"))
            assert transactions.session is outer
            raise LookupError
    assert await _ids(engines) == [1]


async def test_a_task_started_inside_cannot_use_the_session(transactions: Transactions) -> None:
    async def use() -> None:
        _ = transactions.session

    async def join() -> None:
        async with transactions.begin():
            pass

    async with transactions.begin():
        for work in (use(), join()):
            with pytest.raises(TransactionScopeError, match="join=False"):
                await asyncio.create_task(work)


async def test_tasks_have_transactions_of_their_own(
    engines: DatabaseEngines, transactions: Transactions
) -> None:
    notes = Notes(transactions)

    async def work(note_id: int) -> None:
        async with transactions.begin():
            await notes.add(note_id)

    await asyncio.gather(*(work(note_id) for note_id in range(5)))
    assert await _ids(engines) == [0, 1, 2, 3, 4]
