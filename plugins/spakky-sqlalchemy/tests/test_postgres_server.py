"""The server that the tests on PostgreSQL run on."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from textwrap import dedent
from time import monotonic

import asyncpg  # type: ignore[import-untyped]  # ships no types
import pytest

from spakky.agent_testkit.postgres import PostgresqlServer, run_embedded_server


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that another user can get at."""
    path = Path(tempfile.mkdtemp(prefix="spakky-pg-"))
    yield path
    rmtree(path)


async def _ask(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_a_database_can_be_made_copied_and_dropped(
    postgresql_server: PostgresqlServer, postgresql_url: str
) -> None:
    assert await _ask(postgresql_url, "SHOW TimeZone") in {"UTC", "Etc/UTC"}
    first = postgresql_server.create_database("copy_one")
    connection = await asyncpg.connect(first)
    await connection.execute("CREATE TABLE t AS SELECT 7 AS n")
    await connection.close()
    second = postgresql_server.create_database("copy_two", template="copy_one")
    assert await _ask(second, "SELECT n FROM t") == 7
    for name in ("copy_one", "copy_two", "copy_two"):
        postgresql_server.drop_database(name)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await _ask(second, "SELECT 1")


def test_a_server_named_by_the_environment_is_used(
    postgresql_server: PostgresqlServer, tmp_path: Path
) -> None:
    module = tmp_path / "test_child.py"
    module.write_text(
        dedent(
            f"""
            def test_it(postgresql_server):
                assert postgresql_server.url == {postgresql_server.url!r}
            """
        )
    )
    environment = {**os.environ, "SPAKKY_TEST_POSTGRESQL_URL": postgresql_server.url}
    options = ["-q", "-p", "spakky.agent_testkit.postgres", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", os.devnull, str(module)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="no_such_setting"),
        run_embedded_server(folder, {"no_such_setting": "1"}),
    ):
        pytest.fail("The server runs with a setting that it does not know.")


def test_a_killed_process_leaves_no_server_behind(folder: Path) -> None:
    program = dedent(
        f"""
        import signal
        from pathlib import Path
        from spakky.agent_testkit.postgres import run_embedded_server

        with run_embedded_server(Path({str(folder)!r})) as server:
            print(server.url, flush=True)
            signal.pause()
        """
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        url = child.stdout.readline().strip()
        assert asyncio.run(_ask(url, "SELECT 1")) == 1
        child.send_signal(signal.SIGKILL)
    # The server takes away its own file with its process id as the last thing that it does.
    process_id = folder / "data" / "postmaster.pid"
    deadline = monotonic() + 20
    while process_id.exists() and monotonic() < deadline:
        with suppress(OSError, asyncpg.PostgresError):
            asyncio.run(_ask(url, "SELECT pg_sleep(0.05)"))
    assert not process_id.exists()
