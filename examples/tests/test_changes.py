"""What a person is shown before they agree, and that nothing in it can hide."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from code_assistant.changes import describe_change, make_visible, unified_diff
from code_assistant.session import RunSettings, Session
from code_assistant.workspace import LocalWorkspace

from spakky.agent import AgentApprovalBoundaryKind, AgentApprovalRequest, JsonObject, ToolRisk


@pytest.fixture
async def files(workspace: Path) -> AsyncGenerator[LocalWorkspace]:
    session = Session()
    async with session.open(RunSettings(workspace, None, "x")):
        yield LocalWorkspace(session)


def request(metadata: JsonObject) -> AgentApprovalRequest:
    return AgentApprovalRequest(
        "a1",
        "r1",
        AgentApprovalBoundaryKind.TOOL_INVOCATION,
        "Really?",
        ToolRisk(),
        "some.action",
        metadata=metadata,
    )


async def test_a_write_is_shown_as_the_difference_to_what_is_there(
    files: LocalWorkspace, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    arguments = {"path": "a.txt", "content": "one\nthree"}
    change = await describe_change(
        request({"tool": "workspace.write", "arguments": arguments, "uncertain": True}), files
    )
    assert change.title == "change a.txt"
    assert change.detail == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n\\ No newline at end of file"
    )
    assert change.is_uncertain


@pytest.mark.parametrize(
    ("metadata", "title", "detail"),
    [
        (
            {"tool": "workspace.write", "arguments": {"path": "n", "content": "x\n"}},
            "create n",
            "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x",
        ),
        ({"tool": "git.apply", "arguments": {"patch": "--- a\n"}}, "apply a patch", "--- a\n"),
        ({"tool": "shell.command", "arguments": {"command": "ls"}}, "run a command", "$ ls"),
        ({"tool": "other", "arguments": {"k": 1}}, "run other", "k: 1"),
        ({}, "run some.action", ""),
        ({"tool": "shell.command", "arguments": {"command": 3}}, "run a command", "$ "),
    ],
)
async def test_each_change_is_shown_in_its_own_form(
    files: LocalWorkspace, metadata: JsonObject, title: str, detail: str
) -> None:
    change = await describe_change(request(metadata), files)
    assert (change.title, change.detail, change.is_uncertain) == (title, detail, False)


def test_the_same_text_has_no_difference() -> None:
    assert unified_diff("a", "x\n", "x\n") == "(no difference)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("한글 🙂", "한글 🙂"),
        ("\x1b[2Kgone", "\\x1b[2Kgone"),
        ("a\rb", "a\\x0db"),
        ("x\u202ey", "x\\u202ey"),
        ("z\u200bw", "z\\u200bw"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_could_steer_a_terminal_or_hide_becomes_visible(text: str, shown: str) -> None:
    assert make_visible(text) == shown
