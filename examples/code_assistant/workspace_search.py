"""Searching the workspace: a walk that follows no link, and a look into each text file whose path fits."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from code_assistant.confinement import (
    PathRefusedError,
    is_git_folder,
    open_file,
    open_root,
    stat_entry,
)
from code_assistant.globs import check_pattern, matches
from code_assistant.results import SearchMatch, SearchResult
from spakky.agent import AgentToolError

MAX_PATHS = 200
MAX_MATCHES = 200
MAX_SEARCHED_BYTES = 1_000_000
MAX_WALKED = 50_000
_MAX_LINE_CHARACTERS = 300
_SKIPPED = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".idea", ".vscode"})
_CACHE_MARKS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})


def search_files(root: Path, text: str, glob: str, *, ignore_case: bool) -> SearchResult:
    """Find lines that hold a text; with an empty text, paths that fit. The workspace's ``.git`` and caches are left out.

    Args:
        root: The workspace folder.
        text: What is searched for, literally.
        glob: Which paths are looked at.
        ignore_case: Whether upper and lower case are the same.

    Raises:
        AgentToolError: The pattern is refused, or the text spans lines.
    """
    if "\n" in text or "\r" in text:
        message = "A text to search for must be within one line; search for one of its lines."
        raise AgentToolError(message)
    found = _Finder(text, check_pattern(glob), ignore_case)
    with open_root(root) as top:
        for folder, names in _walk(top, found):
            found.look_at(folder, names)
            if found.is_full:
                break
    return found.result()


@dataclass(slots=True)
class _Finder:
    """What is gathered on the way."""

    text: str
    pattern: tuple[str, ...]
    ignore_case: bool
    paths: list[str] = field(default_factory=list)
    matches: list[SearchMatch] = field(default_factory=list)
    total_files: int = 0
    walked: int = 0
    is_cut: bool = False

    @property
    def is_full(self) -> bool:
        """Whether the walk has reached a bound that makes going on useless."""
        if self.walked > MAX_WALKED:
            self.is_cut = True
        return self.walked > MAX_WALKED or len(self.matches) >= MAX_MATCHES

    def add_folder(self, parts: tuple[str, ...]) -> None:
        if not self.text and matches(self.pattern, parts):
            self._add_path("/".join(parts) + "/")

    def look_at(self, folder: "_Folder", names: list[str]) -> None:
        """Look at the files of one folder."""
        for name in sorted(names):
            self.walked += 1
            parts = (*folder.parts, name)
            if not matches(self.pattern, parts):
                continue
            path = "/".join(parts)
            if not self.text or self._look_into(folder.descriptor, name, path):
                self.total_files += 1
                self._add_path(path)

    def _add_path(self, path: str) -> None:
        if len(self.paths) < MAX_PATHS:
            self.paths.append(path)
        else:
            self.is_cut = True

    def _look_into(self, folder: int, name: str, path: str) -> bool:
        wanted = self.text.casefold() if self.ignore_case else self.text
        has_match = False
        for number, line in enumerate(_text_lines(folder, name, path), 1):
            if wanted not in (line.casefold() if self.ignore_case else line):
                continue
            has_match = True
            if len(self.matches) >= MAX_MATCHES:
                self.is_cut = True
                break
            shown = line.strip()[:_MAX_LINE_CHARACTERS]
            self.matches.append(SearchMatch(path, number, shown))
        return has_match

    def result(self) -> SearchResult:
        """Give what was found, in the order of the paths."""
        ordered = sorted(self.matches, key=lambda match: (match.path, match.line))
        return SearchResult(sorted(self.paths), ordered, self.total_files, self.is_cut)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder on the way: its components, and a descriptor that is open while it is looked at."""

    parts: tuple[str, ...]
    descriptor: int


def _walk(top: int, found: _Finder) -> Iterator[tuple[_Folder, list[str]]]:
    # fwalk opens each folder below its parent's descriptor and checks that it is the one it saw.
    for where, folders, names, descriptor in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        parts = tuple(part for part in where.split("/") if part != ".")
        if parts and _CACHE_MARKS.intersection(names):
            folders.clear()
            continue
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED
            and not is_git_folder(name)
            and _is(stat.S_ISDIR, descriptor, name)
        )
        for name in folders:
            found.add_folder((*parts, name))
        files = [n for n in names if not is_git_folder(n) and _is(stat.S_ISREG, descriptor, n)]
        yield _Folder(parts, descriptor), files


def _is(kind: Callable[[int], bool], folder: int, name: str) -> bool:
    found = stat_entry(folder, name)
    return found is not None and kind(found.st_mode)


def _text_lines(folder: int, name: str, path: str) -> list[str]:
    with suppress(PathRefusedError, UnicodeDecodeError):
        with os.fdopen(open_file(folder, name, path), "rb") as file:
            data = file.read(MAX_SEARCHED_BYTES + 1)
        if len(data) <= MAX_SEARCHED_BYTES and b"\x00" not in data:
            return data.decode("utf-8").split("\n")
    return []
