"""The terminal: streams what a run shows, and asks a person. Works without a terminal too, then without questions."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum

import typer
from rich.console import Console
from rich.text import Text
from spakky.core.pod.annotations.pod import Pod

from code_assistant.changes import Change, make_visible
from spakky.agent import JsonValue

_MAX_DETAIL_LINES = 400


class Answer(StrEnum):
    """What a person answers to a change.

    Attributes:
        YES: Do it.
        NO: Do not do it.
        DONE: It was done already; only for a call of which nobody knows.
        LATER: Leave it open.
    """

    YES = "y"
    NO = "n"
    DONE = "d"
    LATER = "l"


@Pod(name="code_assistant.terminal")
class Terminal:
    """Writes to standard output and asks on standard input; faults go to standard error."""

    def __init__(self) -> None:
        self._console = Console(
            highlight=False, markup=False, emoji=False, soft_wrap=True, file=sys.stdout
        )
        self._said: list[str] = []
        self._line_is_open = False

    @property
    def can_ask(self) -> bool:
        """Whether there is a person to ask: both streams are a terminal."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def show_token(self, text: str) -> None:
        """Show a piece of the model's text at once."""
        self._said.append(text)
        visible = make_visible(text)
        self._console.print(Text(visible), end="")
        self._console.file.flush()
        if visible:
            self._line_is_open = not visible.endswith("\n")

    def show_tool(
        self, name: str, arguments: Mapping[str, JsonValue], result: JsonValue, *, is_error: bool
    ) -> None:
        """Show a call that has its result, in one line."""
        mark, style = ("✗", "red") if is_error else ("✓", "green")
        about = next((v for k, v in arguments.items() if k in {"path", "command", "text"}), "")
        line = Text(f"{mark} {name}", style)
        line.append(make_visible(f" {about}".rstrip())[:160].replace("\n", "⏎"), "default")
        line.append(f"  {make_visible(_outline(result))}", "dim")
        self.show_line(line)
        self._said.clear()

    def show_line(self, line: str | Text, style: str = "") -> None:
        """Show a line of its own."""
        self._end_line()
        text = line if isinstance(line, Text) else Text(make_visible(line), style)
        self._console.print(text)

    def show_final(self, text: str) -> None:
        """Show an answer that was not streamed; one that was is only ended."""
        if text.strip() and "".join(self._said).strip() != text.strip():
            self.show_line(text)
        self._end_line()

    def show_change(self, change: Change) -> None:
        """Show what a person is asked to agree to."""
        self.show_line(Text(f"\n{change.tool} wants to {change.title}", "bold yellow"))
        lines = change.detail.split("\n")
        for line in lines[:_MAX_DETAIL_LINES]:
            self._console.print(Text(line, _diff_style(line)))
        if len(lines) > _MAX_DETAIL_LINES:
            rest = len(lines) - _MAX_DETAIL_LINES
            self.show_line(f"… {rest} more lines; code-assistant show prints them all.", "bold red")
        if change.is_uncertain:
            self.show_line(change.prompt, "bold red")

    def show_fault(self, message: str) -> None:
        """Write one line to standard error."""
        self._end_line()
        self._console.file.flush()
        typer.echo(f"Error: {' '.join(make_visible(message).split())}", err=True)

    def _end_line(self) -> None:
        if self._line_is_open:
            self._console.print()
            self._line_is_open = False

    async def ask(self, change: Change) -> Answer:
        """Ask until the answer is one that fits. An end of the input means later."""
        choices: Sequence[Answer] = (Answer.YES, Answer.NO, Answer.LATER)
        question = "Do it? [y]es, [n]o, [l]ater: "
        if change.is_uncertain:
            choices = (Answer.YES, Answer.NO, Answer.DONE, Answer.LATER)
            question = "[y]es, run it again; [n]o; it was [d]one already; [l]ater: "
        while True:
            self._end_line()
            self._console.print(Text(question, "bold"), end="")
            self._console.file.flush()
            line = await read_line()
            if not line:
                return Answer.LATER
            for choice in choices:
                if line.strip().lower() in {choice.value, choice.name.lower()}:
                    return choice


async def read_line() -> str:
    """Read a line of standard input without blocking the loop, so that an interrupt is noticed at once.

    Returns:
        The line with its end; an empty text at the end of the input.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    # A terminal hands over whole lines.
    return os.read(descriptor, 4096).decode("utf-8", "replace")


def _diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "@@", "diff ")):
        return "cyan"
    if line.startswith("+"):
        return "green"
    return "red" if line.startswith("-") else "default"


def _outline(result: JsonValue) -> str:
    """Say in a few words what a tool gave."""
    match result:
        case {"total_lines": int(lines)}:
            return f"{lines} lines"
        case {"total_files": int(files)}:
            return f"{files} files"
        case {"action": str(action)}:
            return action
        case {"exit_code": int(code)}:
            return f"exit code {code}"
        case str():
            first = result.strip().split("\n", 1)[0]
            return first[:120]
        case _:
            return ""
