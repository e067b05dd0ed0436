"""The shell and git: bounded, without secrets, and without programs that a repository names."""

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from code_assistant.git import LocalGit, patched_paths
from code_assistant.process import MAX_OUTPUT_BYTES, run_program
from code_assistant.session import RunSettings, Session
from code_assistant.shell import LocalShell
from demo_tests_support.processes import read_fifo, survivors

from spakky.agent import AgentToolError


@pytest.fixture
async def session(workspace: Path) -> AsyncGenerator[Session]:
    opened = Session()
    async with opened.open(RunSettings(workspace, None, "x")):
        yield opened


@pytest.fixture
def repository(workspace: Path) -> Path:
    run_git(workspace, "init", "-q", "-b", "main")
    run_git(workspace, "add", ".")
    run_git(workspace, "commit", "-qm", "first")
    return workspace


def run_git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


async def test_a_command_runs_in_the_folder_and_tells_how_it_ended(session: Session) -> None:
    result = await LocalShell(session).run("ls; echo oops >&2; exit 3", 10)

    assert (result.exit_code, result.output, result.errors) == (3, "notes.md\nsrc\n", "oops\n")
    assert not result.timed_out


async def test_a_command_sees_no_secret_of_ours(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter22")
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__URL", "postgresql://u:hunter22@h/d")
    result = await LocalShell(session).run("env", 10)
    assert "hunter22" not in result.output
    assert "PATH=" in result.output


@pytest.mark.parametrize(("command", "seconds"), [("", 1), (" ", 1), ("a\x00", 1), ("ls", 0)])
async def test_a_command_that_cannot_be_is_refused(
    session: Session, command: str, seconds: int
) -> None:
    with pytest.raises(AgentToolError):
        await LocalShell(session).run(command, seconds)


async def test_a_command_that_takes_too_long_is_killed_with_its_children(
    session: Session, workspace: Path
) -> None:
    result = await LocalShell(session).run("echo $$ > pid; sleep 300 & sleep 300", 1)

    assert result.timed_out
    assert result.exit_code == -9
    assert survivors(int((workspace / "pid").read_text())) == []


async def test_a_cancelled_command_is_killed_with_its_children(
    session: Session, workspace: Path
) -> None:
    os.mkfifo(workspace / "pid")
    running = asyncio.create_task(
        LocalShell(session).run("trap '' TERM INT; echo $$ > pid; sleep 300 & wait", 100)
    )
    group = int(await read_fifo(workspace / "pid"))
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert survivors(group) == []


async def test_a_process_left_behind_neither_blocks_nor_lives_on(
    session: Session, workspace: Path
) -> None:
    async with asyncio.timeout(20):
        result = await LocalShell(session).run("echo $$ > pid; sleep 300 & echo done", 60)

    assert (result.exit_code, result.output) == (0, "done\n")
    assert survivors(int((workspace / "pid").read_text())) == []


async def test_output_beyond_the_bound_is_dropped_and_does_not_block(session: Session) -> None:
    result = await LocalShell(session).run("head -c 1000000 /dev/zero | tr '\\0' x", 60)
    assert (len(result.output), result.is_cut) == (MAX_OUTPUT_BYTES, True)


async def test_a_program_that_is_not_there_is_told(workspace: Path, session: Session) -> None:
    with pytest.raises(FileNotFoundError):
        await run_program(("no-such-program",), folder=workspace, timeout_seconds=1)
    moved = workspace.rename(workspace.with_name("moved"))
    with pytest.raises(AgentToolError, match="could not be started"):
        await LocalShell(session).run("ls", 1)
    assert moved.exists()


async def test_a_program_that_reads_nothing_of_its_input_is_no_fault(workspace: Path) -> None:
    result = await run_program(
        ("true",), folder=workspace, timeout_seconds=10, stdin=b"x" * 1_000_000
    )
    assert result.exit_code == 0


async def test_git_shows_status_and_differences(session: Session, repository: Path) -> None:
    (repository / "notes.md").write_text("new\n")
    run_git(repository, "add", "notes.md")
    (repository / "src" / "app.py").write_text("pass\n")
    git = LocalGit(session)

    assert await git.status() == "## main\nM  notes.md\n M src/app.py\n"
    assert "+pass" in await git.diff()
    assert "+new" not in await git.diff()
    assert "+new" in await git.diff(staged=True)
    assert await git.diff("notes.md") == ""
    assert "+pass" in await git.diff("src/")
    assert await git.diff(":(top)src") == ""


async def test_git_runs_no_program_that_the_repository_names(
    session: Session, repository: Path
) -> None:
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    script = repository.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {repository.parent}/owned\ncat\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
    ):
        run_git(repository, "config", key, str(script))
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.write_text(script.read_text())
    hook.chmod(0o755)
    (repository / "notes.md").write_text("new words\n")
    git = LocalGit(session)

    await git.status()
    assert "+new words" in await git.diff()
    await git.apply("--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+made\n")

    assert (repository / "made.txt").read_text() == "made\n"
    assert not (repository.parent / "owned").exists()


async def test_a_repository_further_up_is_not_looked_at(workspace: Path, session: Session) -> None:
    run_git(workspace.parent, "init", "-q")
    with pytest.raises(AgentToolError, match="not a git repository"):
        await LocalGit(session).status()


async def test_git_that_is_not_there_is_told(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AgentToolError, match="install it"):
        await LocalGit(session).status()


@pytest.mark.parametrize(
    "patch",
    [
        "no patch at all",
        "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
        "--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n",
        "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n",
        "--- /dev/null\n+++ b/\x00\n",
        "x" * 600_000,
    ],
)
def test_a_patch_that_leads_out_or_makes_links_is_refused(patch: str) -> None:
    with pytest.raises(AgentToolError):
        patched_paths(patch)


async def test_a_patch_below_a_link_or_that_does_not_fit_changes_nothing(
    session: Session, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (repository / "link").symlink_to(tmp_path / "out")
    git = LocalGit(session)
    with pytest.raises(AgentToolError, match="git apply did not work"):
        await git.apply("--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+x\n")
    with pytest.raises(AgentToolError, match="git apply did not work"):
        await git.apply("--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-other\n+x")
    assert list((tmp_path / "out").iterdir()) == []
    assert "gardens" in (repository / "notes.md").read_text()
