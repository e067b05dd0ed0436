"""Reads the handful of instructions that the offline planner understands. Pure: a text goes in, tasks come out."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

HELP = """\
  read FILE                          list [FOLDER]
  search TEXT [in GLOB]              count lines|words in FILE
  summarise FILE                     count files [in GLOB]
  write TEXT to FILE                 append TEXT to FILE
  write a summary of FILE to FILE    replace OLD with NEW in FILE
  run COMMAND                        apply FILE   (a patch)
  git status                         git diff [PATH]
Chain them with "then", "and then" or ";". Put texts that hold such words into quotes; \\n in quotes is a line break."""
"""The instructions, as a person is told them."""


class Counted(StrEnum):
    """What can be counted."""

    LINES = "lines"
    WORDS = "words"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Show a file."""

    path: str


@dataclass(frozen=True, slots=True)
class ListFolder:
    """Show what is in a folder; the root for an empty path."""

    path: str


@dataclass(frozen=True, slots=True)
class Search:
    """Find lines that hold a text."""

    text: str
    glob: str


@dataclass(frozen=True, slots=True)
class Summarise:
    """Pick the sentences that say most of a file; with a target they are written there."""

    path: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """Count something; ``where`` is a file, or a pattern when files are counted."""

    what: Counted
    where: str


@dataclass(frozen=True, slots=True)
class WriteText:
    """Give a file a new content, or add to it."""

    text: str
    path: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """Replace a text wherever it stands in a file."""

    old: str
    new: str
    path: str


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a command line."""

    command: str


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    """Apply the patch that a file of the workspace holds."""

    path: str


@dataclass(frozen=True, slots=True)
class GitStatus:
    """Show the state of the repository."""


@dataclass(frozen=True, slots=True)
class GitDiff:
    """Show changes; of everything for None."""

    path: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that the planner does not understand."""

    text: str


type Task = (
    ReadFile
    | ListFolder
    | Search
    | Summarise
    | Count
    | WriteText
    | ReplaceText
    | RunCommand
    | ApplyPatch
    | GitStatus
    | GitDiff
    | Unknown
)

_QUOTED = r"\"[^\"]*\"|`[^`]*`|(?<!\w)'[^']*'(?!\w)"
_SEPARATOR = r"\s*;\s*|,?\s+(?:and\s+)?then\s+"
_PIECE = re.compile(f"(?P<quoted>{_QUOTED})|(?P<separator>{_SEPARATOR})", re.IGNORECASE)
_COURTESY = re.compile(r"^(?:please|first|now|then|can you|could you)[\s,]+", re.IGNORECASE)
_AFTER_QUOTE = re.compile(r"([\"'`])[.!?]+$")
_FILE = r"(?:(?:the\s+)?file\s+)?(\"[^\"]+\"|'[^']+'|`[^`]+`|\S+)"


def parse_instruction(text: str) -> tuple[Task, ...]:
    """Give the tasks of an instruction, in order; at least one."""
    tasks = tuple(_parse_clause(clause) for clause in _split(text))
    return tasks or (Unknown(text.strip()),)


def _split(text: str) -> Iterator[str]:
    start = 0
    for piece in _PIECE.finditer(text):
        if piece["separator"] is not None:
            yield from _clean(text[start : piece.start()])
            start = piece.end()
    yield from _clean(text[start:])


def _clean(clause: str) -> Iterator[str]:
    clause = clause.strip()
    while (shorter := _COURTESY.sub("", clause)) != clause:
        clause = shorter
    clause = _AFTER_QUOTE.sub(r"\1", clause)
    if clause:
        yield clause


def _parse_clause(clause: str) -> Task:
    for pattern, make in _FORMS.items():
        found = pattern.fullmatch(clause)
        if found is not None:
            return make(found)
    return Unknown(clause)


def _path(text: str | None) -> str:
    """Give a path without its quotes, and without the full stop that ends a sentence."""
    given = (text or "").strip()
    bare = unquote(given)
    return bare if bare != given else given.rstrip(".,!?") or given


def unquote(text: str) -> str:
    """Give a text without the quotes around it, if there are any; an escaped line break in quotes becomes a real one."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        return text[1:-1].replace("\\n", "\n").replace("\\t", "\t")
    return text


def _count(found: re.Match[str]) -> Task:
    what = Counted(found[1].lower())
    where = _path(found[2])
    if not where and what is not Counted.FILES:
        return Unknown(found[0])
    return Count(what, where or "**")


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


# The first form that fits counts, so the narrower ones stand first.
_FORMS: Mapping[re.Pattern[str], Callable[[re.Match[str]], Task]] = MappingProxyType(
    {
        _form(rf"write\s+(?:a|the)\s+summary\s+of\s+{_FILE}\s+(?:in)?to\s+{_FILE}"): lambda m: (
            Summarise(_path(m[1]), _path(m[2]))
        ),
        _form(rf"summari[sz]e\s+{_FILE}\s+(?:in)?to\s+{_FILE}"): lambda m: Summarise(
            _path(m[1]), _path(m[2])
        ),
        _form(rf"summari[sz]e\s+{_FILE}"): lambda m: Summarise(_path(m[1])),
        _form(rf"(?:read|show|open)\s+{_FILE}"): lambda m: ReadFile(_path(m[1])),
        _form(
            r"(?:list|ls)(?:\s+(?:the\s+)?files)?(?:\s+(?:in|of))?(?:\s+(?:the\s+folder\s+)?(\S+))?"
        ): lambda m: ListFolder(_path(m[1])),
        _form(rf"(?:search|find|grep)\s+(?:for\s+)?(.+?)(?:\s+in\s+{_FILE})?"): lambda m: Search(
            unquote(m[1]), _path(m[2]) or "**"
        ),
        _form(rf"count\s+(?:the\s+)?(lines|words|files)(?:\s+(?:in|of)\s+{_FILE})?"): _count,
        _form(rf"replace\s+(.+?)\s+(?:with|by)\s+(.+)\s+in\s+{_FILE}"): lambda m: ReplaceText(
            unquote(m[1]), unquote(m[2]), _path(m[3])
        ),
        _form(rf"append\s+(.+)\s+to\s+{_FILE}"): lambda m: WriteText(
            unquote(m[1]), _path(m[2]), append=True
        ),
        _form(rf"write\s+(.+)\s+(?:in)?to\s+{_FILE}"): lambda m: WriteText(
            unquote(m[1]), _path(m[2])
        ),
        _form(r"git\s+status"): lambda _: GitStatus(),
        _form(r"git\s+diff(?:\s+(\S+))?"): lambda m: GitDiff(_path(m[1]) or None),
        _form(rf"(?:git\s+)?apply\s+(?:the\s+patch\s+(?:in\s+)?)?{_FILE}"): lambda m: ApplyPatch(
            _path(m[1])
        ),
        _form(r"(?:run|execute)\s+(.+)"): lambda m: RunCommand(_command(m[1])),
    }
)


def _command(text: str) -> str:
    """Give a command line; quotes around the whole of it are the instruction's, other quotes are its own."""
    text = text.strip()
    whole = len(text) > 1 and text[0] in "\"'`" and text.find(text[0], 1) == len(text) - 1
    return text[1:-1] if whole else text
