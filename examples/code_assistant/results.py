"""What the ports of the workspace, the shell and git give back; the model reads them as JSON."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileView:
    """A part of a text file.

    Attributes:
        path: The file, from the workspace's root, with ``/`` between folders.
        content: The lines that were asked for.
        first_line: The number of the first of them, from 1.
        total_lines: How many lines the whole file has.
        has_more: Whether lines follow that are not in ``content``.
        digest: The SHA-256 of the whole file, as ``sha256:`` and 64 hexadecimal digits.
    """

    path: str
    content: str
    first_line: int
    total_lines: int
    has_more: bool
    digest: str


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """One line that holds the text that was searched for.

    Attributes:
        path: The file.
        line: The line's number, from 1.
        text: The line, cut to 300 characters.
    """

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        paths: The files that fit, sorted; folders are among them, with ``/`` at the end, when no text was searched for.
        matches: The lines that fit; empty when no text was searched for.
        total_files: How many files fit, also those beyond the bound of ``paths``.
        is_cut: Whether something was left out because there was too much of it.
    """

    paths: list[str]
    matches: list[SearchMatch]
    total_files: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    Attributes:
        path: The file.
        action: ``created``, ``changed`` or ``unchanged``.
        bytes_written: The size of the file; 0 when it was left as it was.
        digest: As in ``FileView``.
    """

    path: str
    action: str
    bytes_written: int
    digest: str


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.

    Attributes:
        exit_code: The process's; minus the signal's number when one ended it.
        output: Standard output, cut to its bound.
        errors: Standard error, cut to its bound.
        timed_out: Whether it was ended because it took too long.
        is_cut: Whether output was left out because there was too much of it.
    """

    exit_code: int
    output: str
    errors: str
    timed_out: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class PatchResult:
    """What a patch changed.

    Attributes:
        paths: The files that it names.
    """

    paths: list[str]
