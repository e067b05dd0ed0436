"""The demo killed with SIGKILL at each point that matters, resumed in another process, on both databases."""

import pytest
from demo_tests_support.processes import Demo

INSTRUCTION = "read notes.md and then write hello to note.txt"


@pytest.fixture(params=["sqlite", "postgresql"])
def killed(request: pytest.FixtureRequest, demo: Demo) -> Demo:
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
        demo.extra["SPAKKY_SQLALCHEMY__URL"] = url
    return demo


async def kill(demo: Demo, point: str) -> None:
    outcome = await demo.run("run", INSTRUCTION, "--id", "r1", "--yes", env={"DEMO_KILL_AT": point})
    assert outcome.code == -9, outcome


@pytest.mark.requirement("DEMO-10", "RECOV-4")
@pytest.mark.parametrize("point", ["mid-stream", "read", "waiting", "approved"])
async def test_a_run_that_died_before_the_write_began_ends_and_writes_once(
    killed: Demo, point: str
) -> None:
    await kill(killed, point)
    assert killed.ledger == []

    resumed = await killed.run("resume", "r1", "--yes")

    assert resumed.code == 0, resumed
    assert killed.ledger == ["note.txt created"]
    assert (killed.workspace / "note.txt").read_text() == "hello\n"


@pytest.mark.requirement("RECOV-6")
async def test_a_run_that_died_while_waiting_waits_with_the_same_approval(killed: Demo) -> None:
    await kill(killed, "waiting")

    first = await killed.run("resume", "r1")
    second = await killed.run("resume", "r1")
    shown = await killed.run("show", "r1")

    assert (first.code, second.code) == (3, 3)
    assert "+hello" in first.out
    assert first.out == second.out
    assert shown.out.count("open approval r1/call/3.1/approval") == 1
    assert killed.ledger == []


@pytest.mark.requirement("RECOV-5")
async def test_a_write_that_was_begun_is_repeated_only_after_a_person_agreed(killed: Demo) -> None:
    await kill(killed, "write-begun")

    resumed = await killed.run("resume", "r1", "--yes")
    listed = await killed.run("runs")

    assert resumed.code == 3
    assert "may or may not have taken effect" in resumed.out
    assert "interrupted (recovery_requires_hitl)" in listed.out
    assert killed.ledger == []

    approved = await killed.run("approve", "r1")

    assert approved.code == 0, approved
    assert killed.ledger == ["note.txt created"]


@pytest.mark.requirement("RECOV-5")
async def test_a_write_whose_result_was_lost_is_never_repeated(killed: Demo) -> None:
    await kill(killed, "written")
    assert killed.ledger == ["note.txt created"]

    resumed = await killed.run("resume", "r1", "--yes")

    assert resumed.code == 3
    assert "code-assistant approve r1 --outcome" in resumed.out
    assert killed.ledger == ["note.txt created"]

    told = await killed.run("approve", "r1", "--outcome", "the file is there")

    assert told.code == 0, told
    assert "the file is there" in told.out
    assert killed.ledger == ["note.txt created"]
