"""The offline planner: it decides from the messages alone."""

import json
from collections.abc import Callable, Mapping

import pytest
from code_assistant.planner import Decision, WireMessage, plan_answer
from code_assistant.task_scripts import MAX_SHOWN_LINES, ToolCall

type Tools = Callable[[ToolCall], object]


def user(text: str) -> WireMessage:
    return {"role": "user", "content": text}


def called(decision: Decision) -> ToolCall:
    assert decision.call is not None, decision
    return decision.call


def answer(call: ToolCall, result: object) -> list[WireMessage]:
    content = result if isinstance(result, str) else json.dumps(result)
    name = call.name.replace(".", "_")
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name}}]},
        {"role": "tool", "content": content},
    ]


def play(
    text: str, tools: Tools, messages: list[WireMessage] | None = None
) -> tuple[str, list[ToolCall]]:
    """Run the planner to its end, from nothing but the messages each time."""
    messages = messages if messages is not None else [user(text)]
    calls: list[ToolCall] = []
    while (decision := plan_answer(messages)).call is not None:
        calls.append(decision.call)
        messages += answer(decision.call, tools(decision.call))
    return decision.text, calls


def folder(files: Mapping[str, str]) -> Tools:
    """Answer as the tools would over these files."""
    now = dict(files)

    def use(call: ToolCall) -> object:
        path = str(call.arguments.get("path", ""))
        match call.name:
            case "workspace.read" if path in now:
                first = call.arguments.get("first_line", 1)
                lines = now[path].splitlines(keepends=True)
                assert isinstance(first, int)
                page = lines[first - 1 : first + 1]
                has_more = first + 1 < len(lines)
                return {"content": "".join(page), "has_more": has_more, "digest": "sha256:d"}
            case "workspace.search" if not call.arguments["text"]:
                glob = str(call.arguments["glob"]).removeprefix("./")
                found = [name for name in now if glob in {name, "*", "**"}]
                return {"paths": found, "matches": [], "total_files": len(found)}
            case "workspace.search":
                text = str(call.arguments["text"])
                hits = [{"path": p, "line": 1, "text": t} for p, t in now.items() if text in t]
                return {"paths": [], "matches": hits, "total_files": len(hits)}
            case "workspace.write":
                now[path] = str(call.arguments["content"])
                return {"path": path, "action": "changed"}
            case _:
                return f"{call.name} does not work here."

    return use


FILES = {
    "a.md": "one\ntwo\nthree\nfour\nfive\n",
    "b.md": "Cats sleep all day long. Cats eat.\n",
    "c.md": "x = 1",
}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("read a.md", "a.md:\n\none\ntwo\nthree\nfour\nfive"),
        ("read no.md", "I could not read no.md: workspace.read does not work here."),
        ("list", "In the workspace folder:\n  a.md\n  b.md\n  c.md"),
        ("list nothing", "There is nothing in nothing."),
        ("search Cats", "1 lines in 1 files hold 'Cats':\n  b.md:1: Cats sleep"),
        ("search dogs", "No line holds 'dogs'."),
        ("count lines in a.md", "a.md has 5 lines."),
        ("count words in b.md", "b.md has 7 words."),
        ("count lines in no.md", "I could not read no.md"),
        ("count files", "There are 3 files."),
        ("count files in a.md", "There are 1 files that fit a.md."),
        ("summarise b.md", "- Cats sleep all day long."),
        ("summarise a.md", "- one two three four five"),
        ("summarise no.md", "I could not read no.md"),
        ("summarise c.md", "c.md has no sentences to pick from."),
        ("write x to c.md", "c.md: changed."),
        ("append x to a.md", "a.md: changed."),
        ("write x to new.md", "new.md: changed."),
        ("append x to new.md", "new.md: changed."),
        ("replace two with 2 in a.md", "a.md: changed. 'two' stood there 1 times."),
        ("replace tow with 2 in a.md", "does not hold 'tow', so nothing was changed."),
        ("replace x with y in no.md", "I could not read no.md"),
        ("run make", "The command was not run to its end: shell.command does not work here."),
        ("git status", "git status:\ngit.status does not work here."),
        ("git diff a.md", "git diff:\ngit.diff does not work here."),
        ("apply a.md", "a.md was not applied: git.apply does not work here."),
        ("apply no.md", "I could not read no.md"),
        ("be nice", "not a language model"),
    ],
)
def test_an_answer_comes_from_what_the_tools_gave(text: str, part: str) -> None:
    told, _ = play(text, folder(FILES))
    assert part in told


def test_a_long_file_is_read_page_by_page_and_shown_cut() -> None:
    long = "".join(f"line {number}\n" for number in range(MAX_SHOWN_LINES + 20))
    told, calls = play("read long.md", folder({"long.md": long}))
    assert len(calls) == (MAX_SHOWN_LINES + 20) // 2
    assert calls[1].arguments == {"path": "long.md", "first_line": 3}
    assert "… and 21 more lines." in told


def test_a_change_carries_the_digest_of_what_was_read() -> None:
    _, calls = play("append more to a.md", folder(FILES))
    assert [call.name for call in calls] == [
        "workspace.search",
        "workspace.read",
        "workspace.read",
        "workspace.read",
        "workspace.write",
    ]
    assert calls[-1].arguments == {
        "path": "a.md",
        "content": "one\ntwo\nthree\nfour\nfive\nmore\n",
        "expected_digest": "sha256:d",
    }


def test_a_file_that_cannot_be_read_is_not_written_over() -> None:
    def tools(call: ToolCall) -> object:
        return {"total_files": 1} if call.name == "workspace.search" else "It is no text."

    for text in ("append x to a.bin", "write x to a.bin"):
        told, calls = play(text, tools)
        assert told == "I could not read a.bin: It is no text."
        assert "workspace.write" not in [call.name for call in calls]


def test_failed_searches_are_told() -> None:
    for text in ("list", "search x", "count files", "write x to a"):
        told, _ = play(text, lambda _: "It is refused.")
        assert "It is refused." in told


def test_a_path_with_pattern_characters_is_looked_up_as_it_is() -> None:
    decision = plan_answer([user("write x to a[1]*.md")])
    assert called(decision).arguments["glob"] == "./a[[]1][*].md"


def test_a_refusal_is_told_and_the_chain_goes_on() -> None:
    def tools(call: ToolCall) -> object:
        if call.name == "workspace.write":
            return "A person refused this call, and it was not run."
        return folder(FILES)(call)

    told, calls = play("write x to c.md and then count files", tools)
    assert "c.md was not written: A person refused" in told
    assert told.endswith("There are 3 files.")
    assert calls[-1].name == "workspace.search"


@pytest.mark.parametrize("text", ["write x to c.md", "run make", "apply a.md"])
def test_an_outcome_that_a_person_supplied_is_taken(text: str) -> None:
    changing = {"workspace.write", "shell.command", "git.apply"}

    def tools(call: ToolCall) -> object:
        if call.name in changing:
            return {"outcome": "it is there"}
        return folder(FILES)(call)

    told, _ = play(text, tools)
    assert "taken as" in told
    assert told.endswith("a person says: it is there")


def test_a_command_and_a_patch_report_what_they_did() -> None:
    def tools(call: ToolCall) -> object:
        if call.name == "shell.command":
            return {"exit_code": 3, "output": "out\n", "errors": "err\n", "timed_out": False}
        if call.name == "git.apply":
            return {"paths": ["x", "y"]}
        return folder({"p": "patch\n"})(call)

    told, _ = play("run make; apply p", tools)
    assert "make ended with exit code 3:\nout\nerr" in told
    assert "Applied p to x, y." in told
    silent, _ = play(
        "run true", lambda _: {"exit_code": 0, "output": "", "errors": "", "timed_out": True}
    )
    assert silent == "true took too long with exit code 0 and no output."


def test_the_same_messages_always_give_the_same_decision() -> None:
    messages = [user("read a.md; list")]
    messages += answer(called(plan_answer(messages)), "no such file")
    assert plan_answer(messages) == plan_answer(list(messages))
    assert called(plan_answer(messages)).name == "workspace.search"


def test_a_later_message_adds_to_the_work_and_finished_work_is_not_told_again() -> None:
    messages: list[WireMessage] = [user("count files")]
    first, _ = play("", folder(FILES), messages)
    messages += [{"role": "assistant", "content": first}, user("count words in b.md")]

    second, calls = play("", folder(FILES), messages)

    assert second == "b.md has 7 words."
    assert [call.name for call in calls] == ["workspace.read"]


def test_contents_in_parts_are_read_and_other_contents_are_empty() -> None:
    parts = [{"type": "text", "text": "count "}, {"type": "text", "text": "files"}, 3]
    assert called(plan_answer([{"role": "user", "content": parts}])).name == "workspace.search"
    assert "do not understand ''" in plan_answer([{"role": "user", "content": None}]).text
    assert plan_answer([]).text == "There is nothing more to do."
