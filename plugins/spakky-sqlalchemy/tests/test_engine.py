"""Engines of event loops."""

import asyncio
import gc
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import QueuePool

from spakky.agent_testkit.postgres import PostgresqlServer
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines, create_engine_for
from spakky.plugins.sqlalchemy.error import DatabaseConfigurationError


async def _ask(engine: AsyncEngine, statement: str = "SELECT 1") -> object:
    async with engine.connect() as connection:
        return await connection.scalar(text(statement))


async def test_one_loop_has_one_engine(engines: DatabaseEngines) -> None:
    assert engines.engine is engines.engine
    assert engines.autocommit_engine is engines.autocommit_engine
    assert engines.write_lock is engines.write_lock
    assert engines.autocommit_engine.pool is engines.engine.pool
    assert await _ask(engines.engine) == 1


def test_each_loop_has_an_engine_of_its_own(settings: SqlalchemySettings) -> None:
    engines = DatabaseEngines(settings)
    seen: list[AsyncEngine] = []

    async def work() -> object:
        seen.append(engines.engine)
        return await _ask(engines.engine)

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    assert asyncio.run(work()) == 1
    thread.join(10)
    assert asyncio.run(work()) == 1
    assert len({id(engine) for engine in seen}) == 3


def test_the_engine_is_closed_when_its_loop_ends(settings: SqlalchemySettings) -> None:
    engines = DatabaseEngines(settings)
    pools: list[QueuePool] = []

    async def work() -> None:
        await _ask(engines.engine)
        pool = engines.engine.pool
        assert isinstance(pool, QueuePool)
        pools.append(pool)
        assert pools[0].checkedin() == 1

    asyncio.run(work())
    # Warnings are errors: a connection that was left open would be told here.
    gc.collect()
    assert pools[0].checkedin() == 0


def test_an_engine_is_closed_in_order_also_when_nobody_holds_its_source(
    settings: SqlalchemySettings,
) -> None:
    async def work() -> object:
        engine = DatabaseEngines(settings).engine
        gc.collect()
        return await _ask(engine)

    assert asyncio.run(work()) == 1
    gc.collect()


def test_cleanup_that_comes_after_the_engine_was_closed_still_reaches_the_database(
    settings: SqlalchemySettings,
) -> None:
    engines = DatabaseEngines(settings)
    answers: list[object] = []

    async def work() -> None:
        old = engines.engine
        await _ask(old)
        await asyncio.get_running_loop().shutdown_asyncgens()
        assert engines.engine is not old
        answers.append(await _ask(engines.engine))
        answers.append(await _ask(engines.autocommit_engine))

    asyncio.run(work())
    gc.collect()
    assert answers == [1, 1]


def test_an_engine_of_a_loop_that_was_just_closed_is_forgotten(tmp_path: Path) -> None:
    engines = DatabaseEngines(SqlalchemySettings(url=f"sqlite:///{tmp_path / 'x.db'}"))

    async def touch() -> AsyncEngine:
        return engines.engine

    loop = asyncio.new_event_loop()
    first = loop.run_until_complete(touch())
    loop.close()
    assert asyncio.run(touch()) is not first
    assert asyncio.run(touch()) is not first


async def test_a_disposed_engine_is_made_anew(engines: DatabaseEngines) -> None:
    old = engines.engine
    await engines.dispose()
    await engines.dispose()
    assert engines.engine is not old
    assert await _ask(engines.engine) == 1


def test_no_engine_is_given_without_a_loop(settings: SqlalchemySettings) -> None:
    with pytest.raises(RuntimeError):
        _ = DatabaseEngines(settings).engine


async def test_the_folder_of_a_sqlite_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.db"
    engines = DatabaseEngines(SqlalchemySettings(url=f"sqlite:///{path}"))
    assert not path.parent.exists()
    await _ask(engines.engine)
    assert path.exists()
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0


async def test_sqlite_writes_ahead_syncs_and_checks_foreign_keys(tmp_path: Path) -> None:
    engines = DatabaseEngines(SqlalchemySettings(url=f"sqlite:///{tmp_path / 'x.db'}"))
    engine = engines.engine
    assert await _ask(engine, "PRAGMA journal_mode") == "wal"
    assert await _ask(engine, "PRAGMA synchronous") == 2
    assert await _ask(engine, "PRAGMA foreign_keys") == 1


async def test_sqlite_transactions_that_read_first_wait_for_each_other(tmp_path: Path) -> None:
    engines = DatabaseEngines(SqlalchemySettings(url=f"sqlite:///{tmp_path / 'x.db'}"))
    engine = engines.engine
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE n (value INTEGER)"))
        await connection.execute(text("INSERT INTO n VALUES (0)"))

    async def count_one() -> None:
        async with engine.begin() as connection:
            value = await connection.scalar(text("SELECT value FROM n"))
            await connection.execute(text("UPDATE n SET value = :value"), {"value": value + 1})

    await asyncio.gather(*(count_one() for _ in range(12)))
    assert await _ask(engine, "SELECT value FROM n") == 12


async def test_sqlite_gives_up_when_the_lock_is_held_too_long(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    settings = SqlalchemySettings(url=f"sqlite:///{path}", busy_timeout_seconds=0.05)
    engines = DatabaseEngines(settings)
    engine = engines.engine
    await _ask(engine)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationalError, match="locked"):
        async with engine.begin():
            pass
    holder.rollback()
    async with engine.begin():
        holder.close()


async def test_a_cancelled_wait_for_the_lock_of_sqlite_ends_soon(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    engines = DatabaseEngines(SqlalchemySettings(url=f"sqlite:///{path}"))
    engine = engines.engine
    await _ask(engine)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    async def wait() -> None:
        async with engine.begin():
            pass

    task = asyncio.create_task(wait())
    await asyncio.wait((task,), timeout=0.05)
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
    holder.close()
    async with asyncio.timeout(5):
        await wait()


async def test_many_loops_can_open_a_new_sqlite_file_at_once(tmp_path: Path) -> None:
    settings = SqlalchemySettings(url=f"sqlite:///{tmp_path / 'x.db'}")

    def work() -> object:
        async def ask() -> object:
            engines = DatabaseEngines(settings)
            return await _ask(engines.engine, "PRAGMA journal_mode")

        return asyncio.run(ask())

    answers = await asyncio.gather(*(asyncio.to_thread(work) for _ in range(8)))
    assert answers == ["wal"] * 8


async def test_a_memory_database_lasts_as_long_as_its_loops_engine() -> None:
    engines = DatabaseEngines(SqlalchemySettings(url="sqlite://"))
    async with engines.engine.begin() as connection:
        await connection.execute(text("CREATE TABLE n (value INTEGER)"))
    assert await _ask(engines.engine, "SELECT count(*) FROM n") == 0


async def test_an_old_sqlite_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(DatabaseConfigurationError, match=r"3\.35\.0 or newer"):
        create_engine_for(SqlalchemySettings(url="sqlite:////tmp/x.db"))


async def test_a_server_that_restarted_is_reached_again(
    postgresql_server: PostgresqlServer, postgresql_url: str
) -> None:
    engines = DatabaseEngines(SqlalchemySettings(url=postgresql_url, pool_size=1, max_overflow=0))
    async with engines.engine.connect() as connection:
        backend = await connection.scalar(text("SELECT pg_backend_pid()"))
        driver = (await connection.get_raw_connection()).driver_connection
    terminate = f"SELECT pg_terminate_backend({backend}, 5000)"
    await asyncio.to_thread(postgresql_server.execute, terminate)
    assert driver is not None
    # The end of the connection reaches this loop with one of its next turns.
    async with asyncio.timeout(5):
        while not driver.is_closed():
            await asyncio.sleep(0)
    assert await _ask(engines.engine, "SELECT pg_backend_pid()") != backend
