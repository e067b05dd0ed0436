"""A component of an application that works in the transaction of its caller."""

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from spakky.plugins.sqlalchemy import Transactions


class Base(DeclarativeBase):
    """The tables of the application."""


class Order(Base):
    """An order."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)


class Orders:
    """Keeps orders."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def add(self, order: Order) -> None:
        """Add an order; the caller's transaction decides."""
        self._transactions.session.add(order)


async def place(orders: Orders, transactions: Transactions, order: Order) -> None:
    """Place an order in a transaction of its own."""
    async with transactions.begin():
        await orders.add(order)
