"""What a waiting call would change, in the form in which a person is asked about it."""

import difflib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from code_assistant.workspace import IWorkspace
from spakky.agent import AgentApprovalRequest

_SHOWN = frozenset("\n\t")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Change:
    """What a person is asked to agree to.

    Attributes:
        request_id: The approval request.
        tool: The tool's name.
        title: What would be done, in one line.
        detail: The exact change: a unified diff, a patch or a command.
        is_uncertain: Whether a process died inside the call, so that it may have been done already.
        prompt: The request's own question.
    """

    request_id: str
    tool: str
    title: str
    detail: str
    is_uncertain: bool
    prompt: str


async def describe_change(request: AgentApprovalRequest, workspace: IWorkspace) -> Change:
    """Work out what a request is about. A write is compared with the file as it is now.

    Args:
        request: The open request.
        workspace: Where the files are.
    """
    about = request.metadata
    tool = _text(about, "tool") or request.action_ref
    found = about.get("arguments")
    arguments = found if isinstance(found, Mapping) else {}
    title, detail = f"run {tool}", "\n".join(f"{k}: {v}" for k, v in arguments.items())
    match tool:
        case "workspace.write":
            path = _text(arguments, "path")
            before = await workspace.text_of(path)
            title = f"{'create' if before is None else 'change'} {path}"
            detail = unified_diff(path, before, _text(arguments, "content"))
        case "git.apply":
            title, detail = "apply a patch", _text(arguments, "patch")
        case "shell.command":
            title, detail = "run a command", f"$ {_text(arguments, 'command')}"
        case _:
            pass
    return Change(
        request_id=request.id,
        tool=tool,
        title=make_visible(title),
        detail=make_visible(detail),
        is_uncertain=is_uncertain(request),
        prompt=request.prompt,
    )


def is_uncertain(request: AgentApprovalRequest) -> bool:
    """Whether a request is about a call that a crash cut off, of which nobody knows whether it took effect."""
    return request.metadata.get("uncertain") is True


def unified_diff(path: str, before: str | None, after: str) -> str:
    """Give the difference of two texts; a file that does not exist yet is compared with ``/dev/null``."""
    old = [] if before is None else before.split("\n")
    lines = difflib.unified_diff(
        _with_ends(old),
        _with_ends(after.split("\n")),
        fromfile="/dev/null" if before is None else f"a/{path}",
        tofile=f"b/{path}",
    )
    diff = "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
    return diff.rstrip("\n") or "(no difference)"


def _with_ends(lines: list[str]) -> list[str]:
    *whole, last = lines or [""]
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def make_visible(text: str) -> str:
    """Give a text in which nothing can steer a terminal or hide: control and invisible characters become escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _SHOWN or unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def _text(source: Mapping[str, object], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""
