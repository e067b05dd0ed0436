"""Real processes, killed with SIGKILL at every point of a durable run, on real databases; then the run is resumed.

Points: before and after each commit, before each event of the model's stream, before and after each effect of a tool.
"""

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from spakky.agent_testkit.postgres import (  # noqa: F401 - fixtures
    PostgresqlServer,
    postgresql_server,
)
from spakky.plugins.sqlalchemy.agent.migrate import upgrade_now
from spakky.plugins.sqlalchemy.config import SqlalchemySettings

PROGRAM = str(Path(__file__).parent / "doomed_run.py")
MOST_POINTS = 80
EFFECTS = ["read a", "read b", "add 1", "pay 5"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give each point a database: a file of its own on SQLite, a run of its own on one PostgreSQL database."""
    if request.param == "sqlite":
        template = tmp_path / "template.sqlite3"
        upgrade_now(SqlalchemySettings(url=f"sqlite:///{template}"))
        for number in range(1, MOST_POINTS):
            shutil.copy(template, tmp_path / f"run-{number}.sqlite3")
        return f"sqlite:///{tmp_path}/run-{{number}}.sqlite3"
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    name = f"crash_{uuid4().hex}"
    database = server.create_database(name)
    request.addfinalizer(lambda: server.drop_database(name))  # noqa: PT021 - only one of the two has it
    upgrade_now(SqlalchemySettings(url=database))
    return database


async def run_matrix(url: str, folder: Path) -> list[dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        PROGRAM,
        "matrix",
        url,
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(240):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return [json.loads(line) for line in out.decode().splitlines()]


def check(life: dict[str, Any]) -> None:
    """Hold one life cycle against the crash table."""
    where, ledger = life["point"], life["ledger"]
    assert (life["status"], life["last"]) == ("completed", "final"), where
    assert ledger.count("add 1") <= 1, where
    assert ledger.count("pay 5") == 1, where
    doubtful = [question for question in life["questions"] if question.endswith("/recovery")]
    # A call is in doubt only when the process died between the commit of its intent and the commit of its result.
    assert len(doubtful) <= 1, where
    assert "add 1" in ledger or doubtful, where
    open_calls: list[str] = []
    for role, _content, call_id, calls in life["transcript"]:
        if role == "tool":
            open_calls.remove(call_id)
        else:
            assert open_calls == [], where
        open_calls.extend(calls)
    assert open_calls == [], where


@pytest.mark.requirement("RECOV-2", "RECOV-3", "RECOV-4", "RECOV-5", "RECOV-7", "STATE-7", "SQL-3")
async def test_a_run_killed_at_any_point_ends_and_repeats_nothing_that_must_not_be(
    url: str, tmp_path: Path
) -> None:
    *dead, whole = await run_matrix(url, tmp_path)
    assert not whole["killed"]
    assert whole["ledger"] == EFFECTS
    for life in (*dead, whole):
        check(life)
    print(f"{len(dead)} points: 0 records lost, 0 calls repeated")  # noqa: T201 - the figure that this test is for
    assert len(dead) >= 25
    assert {"before commit 1", "after commit 1", "before add 1", "after add 1"} <= {
        life["point"] for life in dead
    }
