"""Documents say what is true: links lead somewhere, code is code that runs, commands exist, diagrams are current."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import draw_tables
import pytest
from repository import ROOT, documents, members, name_of, project, python_files, read, source_files

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
ADR = ROOT / "docs" / "adr"
SHELL = frozenset({"sh", "bash", "console", "shell"})
SHOWN_AS_THEY_ARE = frozenset({"", "text", "mermaid", "json", "toml", "ini", "diff"})
TOOLS = frozenset({"pytest", "ruff", "mypy", "python", "lint-imports", "alembic"})
SETUP = "pip install uv && "


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Give the language and the text of each code block."""
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        yield match["language"], "\n".join(line[indent:] for line in match["body"].splitlines())


def prose(text: str) -> str:
    """Give a document without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """Give the anchors of a document's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path) -> Iterator[str]:
    """Give the relative links of a document that lead nowhere."""
    for match in LINK.finditer(prose(read(path))):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = path if not target else path.parent / target
        if not place.exists() or (anchor and anchor not in anchors(read(place))):
            yield match["target"]


def commands(body: str) -> Iterator[str]:
    """Give the commands of a shell block; lines of output after a prompt are left out."""
    lines = [line.strip() for line in body.replace("\\\n", " ").splitlines() if line.strip()]
    prompted = [line[2:] for line in lines if line.startswith("$ ")]
    yield from prompted or (line for line in lines if not line.startswith("#"))


def is_excerpt(block: str) -> bool:
    """Say whether a block shows lines of one file of this repository, in their order, with some left out."""
    return any(_is_within(block, read(path)) for path in python_files())


def _is_within(block: str, text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    wanted = (line.strip() for line in block.splitlines())
    return all(line in lines for line in wanted if line and not line.startswith("#"))


def run_block(body: str, folder: Path) -> None:
    """Run a block that stands for itself: as tests when it holds any, else as a program that is asked for its help."""
    program = folder / "test_block.py"
    program.write_text(body, encoding="utf-8")
    holds_tests = re.search(r"^(class Test|(async )?def test_)", body, re.MULTILINE)
    options = [
        "-m",
        "pytest",
        "-q",
        "--rootdir",
        str(folder),
        "-o",
        "asyncio_mode=auto",
        str(program),
    ]
    command = [sys.executable, *(options if holds_tests else [str(program), "--help"])]
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, f"{body}\n{result.stdout}\n{result.stderr}"


def programs() -> set[str]:
    """Give the programs that the workspace installs."""
    folders = [*members().values(), ROOT / "examples"]
    declared = (
        project(folder).get("scripts", {})
        for folder in folders
        if (folder / "pyproject.toml").exists()
    )
    return set(TOOLS).union(*declared)


def is_known(command: str) -> bool:
    """Say whether a command of a document exists in this repository."""
    words = re.sub(r"^([A-Z_]+=\S+ *)+", "", command.removeprefix(SETUP)).split()
    if not words:
        return "=" in command
    if words[:2] == ["uv", "run"]:
        return len(words) > 2 and words[2] in programs()
    if words[:1] == ["make"]:
        targets = re.findall(r"^([a-z]+):", read(ROOT / "Makefile"), re.MULTILINE)
        return all(word in targets for word in words[1:] if "=" not in word)
    return words[0] in {
        *programs(),
        "pip",
        "uv",
        "git",
        "cd",
        "export",
        "kill",
        "curl",
        ".ci/run",
        "vllm",
    }


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    assert not list(broken_links(path))


@pytest.mark.requirement("DX-3")
@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_python_in_documents_runs(path: Path, tmp_path: Path) -> None:
    for language, body in blocks(read(path)):
        if language in {"python", "py"} and not is_excerpt(body):
            run_block(body, tmp_path)


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_commands_in_documents_exist(path: Path) -> None:
    strays = [
        command
        for language, body in blocks(read(path))
        if language in SHELL
        for command in commands(body)
        if not is_known(command)
    ]
    assert not strays


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_blocks_are_in_a_language_that_is_checked(path: Path) -> None:
    known = SHOWN_AS_THEY_ARE | SHELL | {"python", "py"}
    assert {language for language, _ in blocks(read(path))} <= known


def test_the_diagrams_are_those_of_the_tables() -> None:
    for path, text in draw_tables.draw_all().items():
        assert path.read_text(encoding="utf-8") == text, "Run `make docs`."


def test_the_index_lists_every_record_with_its_title() -> None:
    listed = dict(
        re.findall(r"^\| \[\d{4}\]\((.*?)\) \| (.*) \|$", read(ADR / "index.md"), re.MULTILINE)
    )
    records = {
        path.name: read(path) for path in ADR.glob("[0-9]*.md") if not path.name.startswith("0000")
    }
    titles = {name: text.splitlines()[0].split(". ", 1)[1] for name, text in records.items()}
    assert listed == titles


def test_every_record_has_its_four_parts() -> None:
    for path in ADR.glob("[0-9]*.md"):
        parts = re.findall(r"^## (.*)$", read(path), re.MULTILINE)
        assert parts == ["Context", "Options", "Decision", "Consequences"], path.name


@pytest.mark.requirement("DX-4")
def test_the_decisions_that_are_cited_have_records() -> None:
    cited: dict[str, set[str]] = {}
    for path in (*source_files(), *documents()):
        for number in re.findall(r"(?:ADR-|adr/|[Rr]ecord )(\d{4})", read(path)):
            cited.setdefault(number, set()).add(name_of(path))
    known = {path.name[:4] for path in ADR.glob("[0-9]*.md")}
    assert not cited.keys() - known
    assert {"0009", "0013"} <= known


@pytest.mark.requirement("DX-4")
def test_the_record_of_the_loop_has_the_sections_that_are_cited_by_number() -> None:
    text = read(ADR / "0013-framework-owned-loop.md")
    assert re.findall(r"^### §(\d+) ", text, re.MULTILINE) == ["1", "3", "6", "7"]


def test_the_readme_sets_everything_up_in_one_line_each() -> None:
    lines = [
        command
        for language, body in blocks(read(ROOT / "README.md"))
        if language == "sh"
        for command in commands(body)
    ]
    assert [line.partition(" run ")[0] for line in lines] == ["pip install uv && uv"] * 2
    assert lines[0].startswith(f"{SETUP}uv run code-assistant run ")
    assert lines[1] == f"{SETUP}uv run pytest"


def test_each_fragment_of_the_changelog_is_one_sentence_of_a_known_kind() -> None:
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if path.suffix == ".md"]
    assert fragments
    for path in fragments:
        assert re.fullmatch(
            r"(\+[a-z0-9-]+|\d+)\.(added|changed|fixed|removed|security)\.md", path.name
        )
        text = read(path)
        assert text.endswith(".\n")
        assert text.count("\n") == 1


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A heading, here\n\n[a](page.md) [b](other.md) [c](#a-heading-here) [d](#no) [e](https://example.com/x)\n"
        "```text\n[f](none.md)\n```\n",
        encoding="utf-8",
    )
    assert list(broken_links(page)) == ["other.md", "#no"]


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("pip install uv && uv run pytest", True),
        ("uv run nothing", False),
        ("uv run", False),
        ("make check test", True),
        ("make check nothing", False),
        ("UPGRADE=1 make pins", True),
        ("make pins UPGRADE=1", True),
        ("sudo reboot", False),
        ("SPAKKY_VLLM__MODEL=qwen", True),
        ("", False),
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str, *, known: bool) -> None:
    assert is_known(command) is known


def test_the_commands_of_a_block_are_told_from_output_and_comments() -> None:
    assert list(commands("$ make test\n1 passed\n$ make docs\n")) == ["make test", "make docs"]
    assert list(commands("# first\nuv run pytest \\\n  core\n")) == ["uv run pytest    core"]


def test_a_block_may_leave_lines_out_but_not_change_them() -> None:
    text = "import a\n\n\ndef f():\n    x = 1\n    return x\n"
    assert _is_within("# the file\nimport a\n\nreturn x", text)
    assert not _is_within("return x\nimport a", text)
    assert not _is_within("import a\nreturn y", text)


def test_a_block_that_breaks_is_found(tmp_path: Path) -> None:
    run_block("print(1)", tmp_path)
    with pytest.raises(AssertionError, match="NameError"):
        run_block("print(nothing)", tmp_path)
    with pytest.raises(AssertionError, match="1 failed"):
        run_block("def test_a():\n    assert False\n", tmp_path)
