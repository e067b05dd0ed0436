"""What the offline planner understands."""

import pytest
from code_assistant.instructions import (
    ApplyPatch,
    Count,
    Counted,
    GitDiff,
    GitStatus,
    ListFolder,
    ReadFile,
    ReplaceText,
    RunCommand,
    Search,
    Summarise,
    Task,
    Unknown,
    WriteText,
    parse_instruction,
)


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("read README.md", ReadFile("README.md")),
        ("Please show the file 'my notes.txt'.", ReadFile("my notes.txt")),
        ("open `a b.md`", ReadFile("a b.md")),
        ("read a.md.", ReadFile("a.md")),
        ("list", ListFolder("")),
        ("list files in src", ListFolder("src")),
        ("list src/", ListFolder("src/")),
        ("search for TODO in *.py", Search("TODO", "*.py")),
        ('search "a then b; c"', Search("a then b; c", "**")),
        ("grep needle in haystack in src/**", Search("needle in haystack", "src/**")),
        ("summarise README.md", Summarise("README.md")),
        ("summarize a.md to b.md", Summarise("a.md", "b.md")),
        ("write a summary of a.md to out/b.md", Summarise("a.md", "out/b.md")),
        ("count lines in a.py", Count(Counted.LINES, "a.py")),
        ("count the words of a.md", Count(Counted.WORDS, "a.md")),
        ("count files", Count(Counted.FILES, "**")),
        ("count files in *.md", Count(Counted.FILES, "*.md")),
        ("count lines", Unknown("count lines")),
        ('write "a\\nb" to c.txt', WriteText("a\nb", "c.txt")),
        ("write to be or not to be to c.txt", WriteText("to be or not to be", "c.txt")),
        ("append more to c.txt", WriteText("more", "c.txt", append=True)),
        ("replace old with new in c.txt", ReplaceText("old", "new", "c.txt")),
        ("replace 'a in b' by 'c' in d.txt", ReplaceText("a in b", "c", "d.txt")),
        ("run make test", RunCommand("make test")),
        ("run 'a; b'", RunCommand("a; b")),
        ("run 'a' 'b'", RunCommand("'a' 'b'")),
        ("git status", GitStatus()),
        ("git diff", GitDiff()),
        ("git diff src/app.py", GitDiff("src/app.py")),
        ("apply the patch in fix.patch", ApplyPatch("fix.patch")),
        ("git apply fix.patch", ApplyPatch("fix.patch")),
        ("make it nicer", Unknown("make it nicer")),
        ("", Unknown("")),
    ],
)
def test_an_instruction_is_read(text: str, task: Task) -> None:
    assert parse_instruction(text) == (task,)


@pytest.mark.parametrize(
    "joined",
    ["read a and then list", "read a, then list", "read a; list", "first read a THEN please list"],
)
def test_instructions_are_chained(joined: str) -> None:
    assert parse_instruction(joined) == (ReadFile("a"), ListFolder(""))


def test_words_in_quotes_do_not_chain_and_apostrophes_are_no_quotes() -> None:
    assert parse_instruction("write 'now and then' to a; list") == (
        WriteText("now and then", "a"),
        ListFolder(""),
    )
    assert parse_instruction("search don't; search can't") == (
        Search("don't", "**"),
        Search("can't", "**"),
    )
