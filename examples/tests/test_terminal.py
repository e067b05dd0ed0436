"""What the terminal writes, without a terminal."""

import os
from collections.abc import Callable

import pytest
from code_assistant.changes import Change
from code_assistant.terminal import Terminal, read_line
from code_assistant.transcript_view import outline_transcript

from spakky.agent import JsonValue, ModelMessage, ModelMessageRole, ModelToolCall

type Shown = Callable[[], str]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    """Gives what was written to standard output since it was asked last."""
    return lambda: capsys.readouterr().out


def test_tokens_are_shown_at_once_and_an_answer_only_once(shown: Shown) -> None:
    terminal = Terminal()
    terminal.show_token("Hel")
    assert shown() == "Hel"
    terminal.show_token("lo\x1b[1m")
    terminal.show_token("")
    terminal.show_final("Hello\x1b[1m")
    assert shown() == "lo\\x1b[1m\n"


def test_an_answer_that_was_not_streamed_is_shown_whole(shown: Shown) -> None:
    terminal = Terminal()
    terminal.show_token("Reading.")
    terminal.show_tool("t", {"path": "a\nb"}, "ok", is_error=False)
    terminal.show_final("The answer.")
    terminal.show_final(" ")
    assert shown() == "Reading.\n✓ t a⏎b  ok\nThe answer.\n"


@pytest.mark.parametrize(
    ("result", "outline"),
    [
        ({"total_lines": 3}, "3 lines"),
        ({"total_files": 2}, "2 files"),
        ({"action": "created"}, "created"),
        ({"exit_code": 1}, "exit code 1"),
        ("first\nsecond", "first"),
        ([1], ""),
    ],
)
def test_a_result_is_told_in_a_few_words(shown: Shown, result: JsonValue, outline: str) -> None:
    Terminal().show_tool("t", {}, result, is_error=True)
    assert shown().rstrip() == f"✗ t  {outline}".rstrip()


def test_a_fault_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().show_fault("It\nbroke.\x1b")
    assert capsys.readouterr() == ("", "Error: It broke.\\x1b\n")


def test_a_long_change_is_cut_and_says_so(shown: Shown) -> None:
    detail = "\n".join(f"+{number}" for number in range(500))
    Terminal().show_change(Change("a", "t", "do it", detail, is_uncertain=True, prompt="Maybe?"))
    text = shown()
    assert "… 100 more lines" in text
    assert "+399\n" in text
    assert "+400\n" not in text
    assert text.endswith("Maybe?\n")


async def test_a_line_is_read_without_blocking_the_loop(
    monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:

    reading, writing = os.pipe()
    with os.fdopen(reading) as source, os.fdopen(writing, "w") as sink:
        monkeypatch.setattr("sys.stdin", source)
        sink.write("yes\n")
        sink.flush()
        assert await read_line() == "yes\n"
        assert not Terminal().can_ask
    assert shown() == ""


def test_a_transcript_is_outlined_line_by_line() -> None:
    call = ModelToolCall("t", {"a": 1}, "c1")
    lines = list(
        outline_transcript(
            [
                ModelMessage(ModelMessageRole.SYSTEM, "be good"),
                ModelMessage(ModelMessageRole.USER, "go\non"),
                ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=(call,)),
                ModelMessage(ModelMessageRole.TOOL, "x" * 200, tool_call_id="c1", tool_name="t"),
                ModelMessage(ModelMessageRole.ASSISTANT, "done"),
            ]
        )
    )
    assert lines[:3] == ["  system     be good", "  user       go on", "  call       t {'a': 1}"]
    assert lines[3].startswith("  result     t xxx")
    assert lines[3].endswith("…")
    assert lines[4] == "  assistant  done"
