"""The commands in processes of their own: the whole way of a run, with and without a person at the terminal."""

import os
import shutil
import subprocess

import pytest
from demo_tests_support.processes import EXAMPLES, Demo, Screen, finish, read_fifo, survivors

WRITE = "write hello to note.txt"


@pytest.mark.requirement("DEMO-8", "WEB-2")
async def test_a_run_reads_summarises_and_writes_in_a_copied_folder(demo: Demo) -> None:
    shutil.copytree(EXAMPLES / "code_assistant", demo.workspace / "copied")

    outcome = await demo.run(
        "run",
        "summarise notes.md; count files in copied/*.py then write a summary of notes.md to S.md",
        "--yes",
    )

    assert outcome.code == 0, outcome
    assert "- A garden needs water and a garden needs light." in outcome.out
    count = len(list((demo.workspace / "copied").glob("*.py")))
    assert f"There are {count} files" in outcome.out
    assert "+# Summary of notes.md" in outcome.out
    assert (demo.workspace / "S.md").read_text().startswith("# Summary of notes.md")
    assert outcome.err == ""


async def test_another_folder_gives_another_answer(demo: Demo) -> None:
    first = await demo.run("run", "summarise notes.md; list")
    (demo.workspace / "notes.md").write_text("Trains carry people. Trains carry heavy goods too.\n")
    second = await demo.run("run", "summarise notes.md; list")

    assert "garden" in first.out
    assert "garden" not in second.out
    assert "- Trains carry heavy goods too." in second.out


async def test_what_is_not_understood_is_said_plainly(demo: Demo) -> None:
    outcome = await demo.run("run", "make the code nicer")

    assert outcome.code == 0
    assert "not a language model" in outcome.out
    assert "summarise FILE" in outcome.out
    assert "--base-url" in outcome.out


@pytest.mark.requirement("DEMO-10", "WEB-3")
async def test_a_run_without_a_terminal_pauses_and_another_process_approves(demo: Demo) -> None:
    paused = await demo.run("run", WRITE, "--id", "r1")

    assert paused.code == 3, paused
    assert "+hello" in paused.out
    assert "code-assistant approve r1" in paused.out
    assert demo.ledger == []

    approved = await demo.run("approve", "r1", "--comment", "fine")

    assert approved.code == 0, approved
    assert demo.ledger == ["note.txt created"]


async def test_a_decision_may_be_recorded_now_and_acted_on_later(demo: Demo) -> None:
    await demo.run("run", WRITE, "--id", "r1")

    recorded = await demo.run("approve", "r1", "--no-resume")
    assert (recorded.code, demo.ledger) == (0, [])

    resumed = await demo.run("resume", "r1")
    assert (resumed.code, demo.ledger) == (0, ["note.txt created"])


async def test_a_refusal_and_its_reason_reach_the_model_and_nothing_is_written(demo: Demo) -> None:
    await demo.run("run", f"{WRITE}; count files", "--id", "r1")

    rejected = await demo.run("reject", "r1", "--comment", "not in this folder")

    assert rejected.code == 0, rejected
    assert "not in this folder" in rejected.out
    assert "There are 2 files" in rejected.out
    assert demo.ledger == []


async def test_what_is_said_to_a_waiting_run_is_done_too(demo: Demo) -> None:
    await demo.run("run", WRITE, "--id", "r1")

    said = await demo.run("say", "r1", "count words in note.txt")
    approved = await demo.run("approve", "r1")

    assert said.code == 0
    assert approved.code == 0, approved
    assert "note.txt has 1 words." in approved.out


async def test_a_live_command_is_cancelled_from_another_process_with_its_children(
    demo: Demo,
) -> None:
    os.mkfifo(demo.workspace / "pid")
    command = "run 'echo $$ > pid; sleep 300 & wait'"
    live = await demo.start("run", command, "--id", "r1", "--yes")
    group = int(await read_fifo(demo.workspace / "pid"))

    cancelled = await demo.run("cancel", "r1", "--reason", "too slow")
    ended = await finish(live)
    listed = await demo.run("runs")

    assert cancelled.code == 0, cancelled
    assert ended.code == 1, ended
    assert "Cancelled: too slow." in ended.out
    assert "r1  cancelled" in listed.out
    assert survivors(group) == []


async def test_a_waiting_run_is_cancelled_at_once_and_stays_so(demo: Demo) -> None:
    await demo.run("run", WRITE, "--id", "r1")

    cancelled = await demo.run("cancel", "r1")
    late = await demo.run("approve", "r1")

    assert cancelled.code == 0, cancelled
    assert late.code == 5
    assert "final" in late.require_one_line()
    assert demo.ledger == []


async def test_show_tells_where_a_run_stands(demo: Demo) -> None:
    await demo.run("run", f"read notes.md; {WRITE}", "--id", "r1")

    shown = await demo.run("show", "r1")

    assert shown.code == 0, shown
    for part in (
        "r1  interrupted (approval_required)",
        f"workspace {demo.workspace}",
        "offline planner",
        "pieces of evidence",
        "call       workspace.read",
        "open approval r1/call/",
        "+hello",
    ):
        assert part in shown.out


async def test_an_ended_run_gives_its_answer_again(demo: Demo) -> None:
    await demo.run("run", "count files", "--id", "r1")

    again = await demo.run("resume", "r1")

    assert again.code == 0
    assert "There are 2 files." in again.out


async def test_git_shows_and_applies_changes(demo: Demo) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=demo.workspace, check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    patch = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1,2 +1,2 @@\n def app():\n-    return 'garden'\n+    return 'tree'\n"
    (demo.workspace / "change.patch").write_text(patch)

    outcome = await demo.run("run", "apply change.patch; git status; git diff", "--yes")

    assert outcome.code == 0, outcome
    assert "Applied change.patch to src/app.py." in outcome.out
    assert "M src/app.py" in outcome.out
    assert "+    return 'tree'" in outcome.out
    assert "tree" in (demo.workspace / "src" / "app.py").read_text()


@pytest.mark.requirement("WEB-4")
def test_a_person_at_the_terminal_sees_the_change_and_says_yes(
    demo: Demo, screens: list[Screen]
) -> None:
    screen = Screen(demo, "run", WRITE, "--id", "r1")
    screens.append(screen)

    screen.wait_for("Do it? [y]es, [n]o, [l]ater:")
    assert "+hello" in screen.text
    assert demo.ledger == []
    screen.type("maybe\n")
    screen.wait_for("Do it?", times=2)
    screen.type("y\n")

    assert screen.finish() == 0
    assert demo.ledger == ["note.txt created"]


async def test_a_person_may_say_no_or_leave_the_question_open(
    demo: Demo, screens: list[Screen]
) -> None:
    for answer, code in (("n", 0), ("l", 3), ("\x04", 3)):
        screen = Screen(demo, "run", WRITE)
        screens.append(screen)
        screen.wait_for("Do it?")
        screen.type(answer if answer == "\x04" else f"{answer}\n")
        assert screen.finish() == code, screen.text
    assert demo.ledger == []


async def test_an_interrupt_at_the_question_leaves_the_run_waiting(
    demo: Demo, screens: list[Screen]
) -> None:
    screen = Screen(demo, "run", WRITE, "--id", "r1")
    screens.append(screen)
    screen.wait_for("Do it?")
    screen.interrupt()

    assert screen.finish() == 130
    assert "Traceback" not in screen.text
    listed = await demo.run("runs")
    assert "r1  interrupted (approval_required)" in listed.out


async def test_an_interrupt_while_a_command_runs_ends_it_and_the_run_can_be_resumed(
    demo: Demo, screens: list[Screen]
) -> None:
    os.mkfifo(demo.workspace / "pid")
    screen = Screen(demo, "run", "run 'echo $$ > pid; sleep 300'", "--id", "r1", "--yes")
    screens.append(screen)
    group = int(await read_fifo(demo.workspace / "pid"))
    screen.interrupt()

    assert screen.finish() == 130
    assert "Traceback" not in screen.text
    assert survivors(group) == []
    listed = await demo.run("runs")
    assert "r1  interrupted (user_interrupted)" in listed.out
    resumed = await demo.run("resume", "r1")
    assert resumed.code == 3, resumed
    rejected = await demo.run("reject", "r1")
    assert rejected.code == 0, rejected
