"""How each task is carried out: a script that asks for tool calls, one after another, and ends with a report.

A script is a generator. It yields a ``ToolCall``, is sent the ``ToolReply``, and returns what there is to tell. It keeps
nothing outside itself, so that running it again over the same replies comes to the same place.
"""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from code_assistant.instructions import (
    HELP,
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
)
from code_assistant.summary import summarise, to_markdown

MAX_SHOWN_LINES = 80
_SPECIAL = re.compile(r"([*?[])")
NOT_A_MODEL = (
    "I am the offline planner of this demo, a few hundred lines of rules and not a language model."
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the planner wants.

    Attributes:
        name: The tool's declared name.
        arguments: Its arguments, JSON values.
        intent: What is said before the call.
    """

    name: str
    arguments: Mapping[str, object]
    intent: str


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What came of a call.

    Attributes:
        fields: The result, when the tool gave an object; None for a failure, a refusal or anything else.
        text: The result as it was sent.
    """

    fields: Mapping[str, object] | None
    text: str

    @property
    def outcome(self) -> str:
        """What a person told of a call that a crash had cut off; an empty text when the tool itself answered."""
        return self.text_of("outcome")

    def text_of(self, name: str) -> str:
        """Give a field that holds text; an empty text when there is no such field."""
        value = (self.fields or {}).get(name)
        return value if isinstance(value, str) else ""

    def items_of(self, name: str) -> list[object]:
        """Give a field that holds a list; an empty one when there is no such field."""
        value = (self.fields or {}).get(name)
        return value if isinstance(value, list) else []

    def number_of(self, name: str) -> int:
        """Give a field that holds a number; 0 when there is no such field."""
        value = (self.fields or {}).get(name)
        return value if isinstance(value, int) else 0


type Script = Generator[ToolCall, ToolReply, str]


def script_of(task: Task) -> Script:
    """Give the script of a task."""
    return _SCRIPTS[type(task)](task)


@dataclass(frozen=True, slots=True)
class _Text:
    """A whole file, or why there is none."""

    content: str = ""
    digest: str | None = None
    failure: str | None = None


def _read_whole(path: str) -> Generator[ToolCall, ToolReply, _Text]:
    pages: list[str] = []
    digest: str | None = None
    first = 1
    while True:
        arguments = {"path": path} if first == 1 else {"path": path, "first_line": first}
        reply = yield ToolCall("workspace.read", arguments, f"Reading {path}.")
        if reply.fields is None:
            return _Text(failure=reply.text)
        page = reply.text_of("content")
        pages.append(page)
        digest = reply.text_of("digest") or None
        if not reply.fields.get("has_more"):
            return _Text("".join(pages), digest)
        first += page.count("\n")


def _read(task: ReadFile) -> Script:
    found = yield from _read_whole(task.path)
    if found.failure is not None:
        return f"I could not read {task.path}: {found.failure}"
    lines = found.content.split("\n")
    shown = "\n".join(lines[:MAX_SHOWN_LINES])
    rest = len(lines) - MAX_SHOWN_LINES
    more = f"\n… and {rest} more lines." if rest > 0 else ""
    return f"{task.path}:\n\n{shown}{more}"


def _list(task: ListFolder) -> Script:
    folder = task.path.strip("/") if task.path not in {"", ".", "./"} else ""
    glob = f"./{folder}/*" if folder else "./*"
    reply = yield ToolCall("workspace.search", {"text": "", "glob": glob}, "Listing files.")
    where = folder or "the workspace folder"
    if reply.fields is None:
        return f"I could not list {where}: {reply.text}"
    paths = [str(path) for path in reply.items_of("paths")]
    if not paths:
        return f"There is nothing in {where}."
    more = "\n… and more." if reply.fields.get("is_cut") else ""
    return f"In {where}:\n" + "\n".join(f"  {path}" for path in paths) + more


def _search(task: Search) -> Script:
    arguments = {"text": task.text, "glob": task.glob, "ignore_case": True}
    reply = yield ToolCall("workspace.search", arguments, f"Searching for {task.text!r}.")
    if reply.fields is None:
        return f"I could not search: {reply.text}"
    lines = [
        f"  {match.get('path')}:{match.get('line')}: {match.get('text')}"
        for match in reply.items_of("matches")
        if isinstance(match, Mapping)
    ]
    if not lines:
        return f"No line holds {task.text!r}."
    shown, rest = lines[:MAX_SHOWN_LINES], len(lines) - MAX_SHOWN_LINES
    more = "\n… and more." if rest > 0 or reply.fields.get("is_cut") else ""
    head = f"{len(lines)} lines in {reply.number_of('total_files')} files hold {task.text!r}:\n"
    return head + "\n".join(shown) + more


def _summarise(task: Summarise) -> Script:
    found = yield from _read_whole(task.path)
    if found.failure is not None:
        return f"I could not read {task.path}: {found.failure}"
    summary = summarise(found.content)
    if task.target is not None:
        return (yield from _write_over(task.target, to_markdown(summary, task.path)))
    title = f" ({summary.title})" if summary.title else ""
    if not summary.sentences:
        return f"{task.path}{title} has no sentences to pick from."
    picked = "\n".join(f"- {sentence}" for sentence in summary.sentences)
    sections = f"\nSections: {', '.join(summary.headings)}." if summary.headings else ""
    return f"{task.path}{title} in its own words, picked by word frequency:\n{picked}{sections}"


def _count(task: Count) -> Script:
    if task.what is Counted.FILES:
        arguments = {"text": "", "glob": task.where}
        reply = yield ToolCall("workspace.search", arguments, "Counting files.")
        if reply.fields is None:
            return f"I could not count: {reply.text}"
        where = "" if task.where == "**" else f" that fit {task.where}"
        return f"There are {reply.number_of('total_files')} files{where}."
    found = yield from _read_whole(task.where)
    if found.failure is not None:
        return f"I could not read {task.where}: {found.failure}"
    if task.what is Counted.WORDS:
        return f"{task.where} has {len(found.content.split())} words."
    lines = found.content.count("\n") + (not found.content.endswith("\n") and bool(found.content))
    return f"{task.where} has {lines} lines."


def _write(task: WriteText) -> Script:
    text = task.text if task.text.endswith("\n") else f"{task.text}\n"
    if not task.append:
        return (yield from _write_over(task.path, text))
    found = yield from _read_existing(task.path)
    if found.failure is not None:
        return f"I could not read {task.path}: {found.failure}"
    before = found.content
    if before and not before.endswith("\n"):
        before += "\n"
    return (yield from _store(task.path, before + text, found.digest))


def _write_over(path: str, text: str) -> Script:
    found = yield from _read_existing(path)
    if found.failure is not None:
        return f"I could not read {path}: {found.failure}"
    return (yield from _store(path, text, found.digest))


def _read_existing(path: str) -> Generator[ToolCall, ToolReply, _Text]:
    """Read a file that is to be changed; one that is not there yet is empty and has no digest."""
    pattern = f"./{_SPECIAL.sub(r'[\1]', path.removeprefix('./'))}"
    arguments = {"text": "", "glob": pattern}
    reply = yield ToolCall("workspace.search", arguments, f"Looking whether {path} exists.")
    if reply.fields is None:
        return _Text(failure=reply.text)
    if not reply.number_of("total_files"):
        return _Text()
    return (yield from _read_whole(path))


def _store(path: str, text: str, digest: str | None) -> Script:
    arguments: dict[str, object] = {"path": path, "content": text}
    if digest is not None:
        arguments["expected_digest"] = digest
    reply = yield ToolCall("workspace.write", arguments, f"I would like to write {path}.")
    if reply.fields is None:
        return f"{path} was not written: {reply.text}"
    if reply.outcome:
        return f"{path}: taken as written; a person says: {reply.outcome}"
    return f"{path}: {reply.text_of('action')}."


def _replace(task: ReplaceText) -> Script:
    found = yield from _read_whole(task.path)
    if found.failure is not None:
        return f"I could not read {task.path}: {found.failure}"
    times = found.content.count(task.old)
    if not times:
        close = get_close_matches(task.old, found.content.split("\n"), n=1)
        hint = f" The nearest line is {close[0]!r}." if close else ""
        return f"{task.path} does not hold {task.old!r}, so nothing was changed.{hint}"
    text = found.content.replace(task.old, task.new)
    told = yield from _store(task.path, text, found.digest)
    return f"{told} {task.old!r} stood there {times} times."


def _run(task: RunCommand) -> Script:
    call = ToolCall("shell.command", {"command": task.command}, "I would like to run a command.")
    reply = yield call
    if reply.fields is None:
        return f"The command was not run to its end: {reply.text}"
    if reply.outcome:
        return f"The command is taken as run; a person says: {reply.outcome}"
    ended = "took too long" if reply.fields.get("timed_out") else "ended"
    output = (reply.text_of("output") + reply.text_of("errors")).rstrip()
    head = f"{task.command} {ended} with exit code {reply.number_of('exit_code')}"
    return f"{head}:\n{output}" if output else f"{head} and no output."


def _apply(task: ApplyPatch) -> Script:
    found = yield from _read_whole(task.path)
    if found.failure is not None:
        return f"I could not read {task.path}: {found.failure}"
    intent = f"I would like to apply {task.path}."
    reply = yield ToolCall("git.apply", {"patch": found.content}, intent)
    if reply.fields is None:
        return f"{task.path} was not applied: {reply.text}"
    if reply.outcome:
        return f"{task.path} is taken as applied; a person says: {reply.outcome}"
    return f"Applied {task.path} to {', '.join(map(str, reply.items_of('paths')))}."


def _git_status(_task: GitStatus) -> Script:
    reply = yield ToolCall("git.status", {}, "Asking git.")
    return f"git status:\n{reply.text.rstrip()}"


def _git_diff(task: GitDiff) -> Script:
    arguments = {} if task.path is None else {"path": task.path}
    reply = yield ToolCall("git.diff", arguments, "Asking git.")
    return f"git diff:\n{reply.text.rstrip() or 'no changes'}"


def _unknown(task: Unknown) -> Script:
    yield from ()
    return (
        f"I do not understand {task.text!r}. {NOT_A_MODEL} I understand:\n{HELP}\n"
        "To give this agent a real model, name an OpenAI-compatible server: --base-url http://127.0.0.1:8000/v1 --model NAME."
    )


# Each script takes its own task class, which a mapping cannot say.
_SCRIPTS: Mapping[type, Callable[[Any], Script]] = MappingProxyType(
    {
        ReadFile: _read,
        ListFolder: _list,
        Search: _search,
        Summarise: _summarise,
        Count: _count,
        WriteText: _write,
        ReplaceText: _replace,
        RunCommand: _run,
        ApplyPatch: _apply,
        GitStatus: _git_status,
        GitDiff: _git_diff,
        Unknown: _unknown,
    }
)
