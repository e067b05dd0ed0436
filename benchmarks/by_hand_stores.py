"""Stores as one would write them by hand: a row and a commit for each message."""

import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

# It ships no types.
import asyncpg  # type: ignore[import-untyped]
from by_hand import Message, Store


@asynccontextmanager
async def sqlite_store(path: Path) -> AsyncGenerator[Store]:
    """Give a store in a SQLite file, as durable as ours: write-ahead log, one sync to disk for each commit."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE messages (seq INTEGER PRIMARY KEY, message TEXT NOT NULL)")

    async def store(message: Message) -> None:
        connection.execute("INSERT INTO messages (message) VALUES (?)", (json.dumps(message),))
        connection.commit()

    try:
        yield store
    finally:
        connection.close()


@asynccontextmanager
async def postgresql_store(url: str) -> AsyncGenerator[Store]:
    """Give a store in a PostgreSQL database, over one connection."""
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TABLE messages (seq bigint GENERATED ALWAYS AS IDENTITY, message jsonb NOT NULL)"
    )

    async def store(message: Message) -> None:
        await connection.execute("INSERT INTO messages (message) VALUES ($1)", json.dumps(message))

    try:
        yield store
    finally:
        await connection.close()
