"""The workspace: no path, link, device or pattern leaves it, and a write is all or nothing."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from code_assistant import confinement
from code_assistant.confinement import PathRefusedError, open_folder, open_root
from code_assistant.session import RunSettings, Session
from code_assistant.workspace import MAX_FILE_BYTES, LocalWorkspace, digest_of
from code_assistant.workspace_search import MAX_MATCHES, MAX_PATHS

from spakky.agent import AgentModelConfigurationError, AgentToolError


@pytest.fixture
async def files(workspace: Path) -> AsyncGenerator[LocalWorkspace]:
    session = Session()
    async with session.open(RunSettings(workspace, None, "x")):
        yield LocalWorkspace(session)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "secret.txt").write_text("secret garden")
    return secret


BAD_PATHS = [
    "/etc/passwd",
    "../outside/secret.txt",
    "src/../../outside/secret.txt",
    "src/..",
    "~/x",
    "~root/x",
    "",
    "  ",
    "a\x00b",
    ".git/config",
    ".GIT/config",
    "src/.Git/x",
    ".g\u200cit/config",
    ".git. /config",
    "x" * 2000,
]


@pytest.mark.parametrize("path", BAD_PATHS)
async def test_a_path_that_leads_out_or_into_git_is_refused(
    files: LocalWorkspace, workspace: Path, path: str
) -> None:
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("[core]")
    with pytest.raises(PathRefusedError):
        await files.read(path)
    with pytest.raises(PathRefusedError):
        await files.write(path, "x")
    assert await files.text_of(path) is None
    assert (workspace / ".git" / "config").read_text() == "[core]"


async def test_links_are_not_followed_wherever_they_stand(
    files: LocalWorkspace, workspace: Path, outside: Path
) -> None:
    (workspace / "file-link").symlink_to(outside / "secret.txt")
    (workspace / "folder-link").symlink_to(outside)
    (workspace / "inner-link").symlink_to("notes.md")
    (workspace / "dangling").symlink_to(outside / "new.txt")

    for path in ("file-link", "folder-link/secret.txt", "inner-link", "dangling"):
        with pytest.raises(PathRefusedError, match=r"link|folder"):
            await files.read(path)
        with pytest.raises(PathRefusedError, match=r"link|folder"):
            await files.write(path, "overwritten")
    assert (outside / "secret.txt").read_text() == "secret garden"
    assert sorted(p.name for p in outside.iterdir()) == ["secret.txt"]


async def test_a_search_sees_neither_links_nor_git_nor_caches(
    files: LocalWorkspace, workspace: Path, outside: Path
) -> None:
    (workspace / "link.txt").symlink_to(outside / "secret.txt")
    (workspace / "folder-link").symlink_to(outside)
    for name in (".git", "node_modules", ".venv"):
        (workspace / name).mkdir()
        (workspace / name / "a.txt").write_text("secret garden")
    (workspace / "env").mkdir()
    (workspace / "env" / "pyvenv.cfg").write_text("secret garden")
    os.mkfifo(workspace / "pipe")

    found = await files.search("garden", "**")
    listed = await files.search("", "**")

    assert {match.path for match in found.matches} == {"notes.md", "src/app.py"}
    assert listed.paths == ["env/", "notes.md", "src/", "src/app.py"]
    assert listed.total_files == 2


@pytest.mark.parametrize("glob", ["/etc/*", "../*", "src/../../*", "~/*", "", "a\x00", "x" * 300])
async def test_a_pattern_that_leads_out_is_refused(files: LocalWorkspace, glob: str) -> None:
    with pytest.raises(PathRefusedError):
        await files.search("", glob)


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("*.py", ["src/app.py"]),
        ("./*", ["notes.md", "src/"]),
        ("./*.md", ["notes.md"]),
        ("src/**", ["src/", "src/app.py"]),
        ("**/app.*", ["src/app.py"]),
        ("s?c/*", ["src/app.py"]),
        ("**/**/**/*.md", ["notes.md"]),
        ("[mn]otes.md", ["notes.md"]),
        ("nothing", []),
    ],
)
async def test_patterns_find_what_they_say(
    files: LocalWorkspace, glob: str, paths: list[str]
) -> None:
    assert (await files.search("", glob)).paths == paths


async def test_what_is_no_regular_file_is_never_opened(
    files: LocalWorkspace, workspace: Path
) -> None:
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(workspace / "socket"))
        async with asyncio.timeout(5):
            for path in ("pipe", "socket", "src", "src/"):
                with pytest.raises(PathRefusedError):
                    await files.read(path)
                with pytest.raises(PathRefusedError):
                    await files.write(path, "x")


async def test_a_folder_that_becomes_a_link_while_it_is_walked_is_not_entered(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def swapping_open(path: str, *args: int, **kwargs: int) -> int:
        if path == "src" and (workspace / "src").is_dir():
            (workspace / "src").rename(workspace / "was-src")
            (workspace / "src").symlink_to(outside)
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapping_open)
    with pytest.raises(PathRefusedError), open_folder(workspace, ("src",)):
        pass


async def test_a_file_that_becomes_a_link_between_look_and_open_is_not_read(
    files: LocalWorkspace, workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_stat = confinement.stat_entry

    def swapping_stat(folder: int, name: str) -> os.stat_result | None:
        found = real_stat(folder, name)
        if name == "notes.md" and not (workspace / name).is_symlink():
            (workspace / name).unlink()
            (workspace / name).symlink_to(outside / "secret.txt")
        return found

    monkeypatch.setattr(confinement, "stat_entry", swapping_stat)
    with pytest.raises(PathRefusedError, match="link"):
        await files.read("notes.md")


async def test_a_write_replaces_the_whole_file_and_keeps_its_mode(
    files: LocalWorkspace, workspace: Path
) -> None:
    script = workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    hard = workspace.parent / "hard"
    hard.hardlink_to(script)

    result = await files.write("./run.sh", "new\n", digest_of(b"old"))

    assert (result.path, result.action, result.bytes_written) == ("run.sh", "changed", 4)
    assert script.read_text() == "new\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert hard.read_text() == "old"
    assert not list(workspace.glob(".*tmp*"))


async def test_a_new_file_gets_its_folders_and_the_same_content_is_not_written_again(
    files: LocalWorkspace, workspace: Path
) -> None:
    first = await files.write("a/b/c.txt", "x")
    inode = (workspace / "a/b/c.txt").stat().st_ino
    second = await files.write("a/b/c.txt", "x", "sha256:other")

    assert (first.action, second.action) == ("created", "unchanged")
    assert (workspace / "a/b/c.txt").stat().st_ino == inode


async def test_a_file_that_was_changed_meanwhile_is_left_alone(
    files: LocalWorkspace, workspace: Path
) -> None:
    seen = await files.read("notes.md")
    (workspace / "notes.md").write_text("changed by a person")
    for digest in (seen.digest, "nonsense"):
        with pytest.raises(AgentToolError, match="changed since"):
            await files.write("notes.md", "x", digest)
    with pytest.raises(AgentToolError, match="changed since"):
        await files.write("new.md", "x", seen.digest)
    assert (workspace / "notes.md").read_text() == "changed by a person"


async def test_read_only_files_large_contents_and_binaries_are_refused(
    files: LocalWorkspace, workspace: Path
) -> None:
    locked = workspace / "locked.txt"
    locked.write_text("x")
    locked.chmod(0o444)
    (workspace / "nul.bin").write_bytes(b"a\x00b")
    (workspace / "latin.txt").write_bytes("é".encode("latin-1"))
    (workspace / "large.txt").write_text("x" * (MAX_FILE_BYTES + 1))

    with pytest.raises(AgentToolError, match="read-only"):
        await files.write("locked.txt", "y")
    with pytest.raises(AgentToolError, match="larger than"):
        await files.write("new.txt", "x" * (MAX_FILE_BYTES + 1))
    for path, told in (("nul.bin", "UTF-8"), ("latin.txt", "UTF-8"), ("large.txt", "larger")):
        with pytest.raises(AgentToolError, match=told):
            await files.read(path)
    assert (await files.search("x", "*.txt")).paths == ["locked.txt"]
    assert (await files.search("a", "*.bin")).paths == []


async def test_a_write_that_fails_leaves_nothing_behind(
    files: LocalWorkspace, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(PathRefusedError, match="No space left"):
        await files.write("notes.md", "new")
    assert sorted(p.name for p in workspace.iterdir()) == ["notes.md", "src"]
    assert "gardens" in (workspace / "notes.md").read_text()


async def test_lines_are_read_in_pages_and_only_lf_ends_one(
    files: LocalWorkspace, workspace: Path
) -> None:
    (workspace / "l.txt").write_bytes("a\u2028b\r\nc\x0cd\ne".encode())

    whole = await files.read("l.txt")
    part = await files.read("l.txt", 2, 1)

    assert (whole.content, whole.total_lines, whole.has_more) == ("a\u2028b\r\nc\x0cd\ne", 3, False)
    assert (part.content, part.first_line, part.has_more) == ("c\x0cd\n", 2, True)
    for first, count in ((0, 1), (1, 0), (1, 5000)):
        with pytest.raises(AgentToolError, match="first_line"):
            await files.read("l.txt", first, count)


async def test_a_search_finds_lines_and_is_bounded(files: LocalWorkspace, workspace: Path) -> None:
    (workspace / "many.txt").write_text("Needle\n" * (MAX_MATCHES + 5))
    for number in range(MAX_PATHS + 1):
        (workspace / f"f{number}").write_text("")

    found = await files.search("needle", "*.txt", ignore_case=True)
    exact = await files.search("needle", "*.txt")
    listed = await files.search("", "**")

    assert (len(found.matches), found.is_cut) == (MAX_MATCHES, True)
    assert found.matches[0].line == 1
    assert (exact.matches, exact.total_files) == ([], 0)
    assert (len(listed.paths), listed.is_cut) == (MAX_PATHS, True)
    with pytest.raises(AgentToolError, match="one line"):
        await files.search("a\nb", "**")


def test_a_workspace_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PathRefusedError, match="cannot be opened"), open_root(tmp_path / "gone"):
        pass


def test_without_a_session_there_is_neither_folder_nor_model() -> None:
    session = Session()
    with pytest.raises(AgentModelConfigurationError):
        _ = session.workspace
    with pytest.raises(AgentModelConfigurationError):
        _ = session.model
