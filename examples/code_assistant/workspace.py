"""The workspace port and its one implementation: the real files below one folder, and nothing beyond it."""

import asyncio
import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import override

from code_assistant.confinement import (
    PathRefusedError,
    open_file,
    open_folder,
    require_regular,
    split_path,
    stat_entry,
)
from code_assistant.results import FileView, SearchResult, WriteResult
from code_assistant.session import Session
from code_assistant.workspace_search import search_files
from spakky.agent import AgentToolError

MAX_FILE_BYTES = 1_000_000
MAX_VIEW_LINES = 2000
_SNIFFED_BYTES = 8192
_DEFAULT_MODE = 0o666


class IWorkspace(ABC):
    """The files that an agent works on. Paths are relative to its root; nothing outside it can be reached.

    Every expected failure is an ``AgentToolError``, which the model reads.
    """

    @abstractmethod
    async def read(
        self, path: str, first_line: int = 1, max_lines: int = MAX_VIEW_LINES
    ) -> FileView:
        """Give lines of a text file.

        Raises:
            AgentToolError: The path is refused, or the file is too large or no text.
        """

    @abstractmethod
    async def search(self, text: str, glob: str, *, ignore_case: bool = False) -> SearchResult:
        """Find lines that hold a text, or, with an empty text, the files and folders whose path fits the pattern.

        Raises:
            AgentToolError: The pattern is refused.
        """

    @abstractmethod
    async def write(
        self, path: str, content: str, expected_digest: str | None = None
    ) -> WriteResult:
        """Give a file a new content, all of it or nothing; folders that are missing are made.

        Args:
            path: The file.
            content: Its whole new text.
            expected_digest: The digest of the content that is to be replaced. A file that has another one is left alone.

        Raises:
            AgentToolError: The path is refused, the content is too large, or the file was changed meanwhile.
        """

    @abstractmethod
    async def text_of(self, path: str) -> str | None:
        """Give a file's whole text; None when there is no such text file. For comparisons, not for the model."""


class LocalWorkspace(IWorkspace):
    """The workspace folder of the session.

    A hard link to a file elsewhere cannot be told from the file and is read; writing replaces the name and leaves the
    file elsewhere as it was.

    Args:
        session: What the command works on.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @override
    async def read(
        self, path: str, first_line: int = 1, max_lines: int = MAX_VIEW_LINES
    ) -> FileView:
        if first_line < 1 or not 1 <= max_lines <= MAX_VIEW_LINES:
            message = (
                f"first_line must be 1 or more and max_lines 1 to {MAX_VIEW_LINES}; correct them."
            )
            raise AgentToolError(message)
        data = await asyncio.to_thread(self._load, path)
        lines = split_lines(decode_text(data, path))
        chosen = lines[first_line - 1 : first_line - 1 + max_lines]
        return FileView(
            path="/".join(split_path(path)),
            content="".join(chosen),
            first_line=first_line,
            total_lines=len(lines),
            has_more=first_line - 1 + max_lines < len(lines),
            digest=digest_of(data),
        )

    @override
    async def search(self, text: str, glob: str, *, ignore_case: bool = False) -> SearchResult:
        root = self._session.workspace
        return await asyncio.to_thread(search_files, root, text, glob, ignore_case=ignore_case)

    @override
    async def write(
        self, path: str, content: str, expected_digest: str | None = None
    ) -> WriteResult:
        return await asyncio.to_thread(self._store, path, content, expected_digest)

    @override
    async def text_of(self, path: str) -> str | None:
        try:
            return decode_text(await asyncio.to_thread(self._load, path), path)
        except AgentToolError:
            return None

    def _load(self, path: str) -> bytes:
        *folders, name = _file_parts(path)
        with open_folder(self._session.workspace, tuple(folders)) as folder:
            descriptor = open_file(folder, name, path)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            message = f"{path!r} is larger than {MAX_FILE_BYTES} bytes; search in it instead of reading it."
            raise AgentToolError(message)
        return data

    def _store(self, path: str, content: str, expected_digest: str | None) -> WriteResult:
        *folders, name = _file_parts(path)
        data = content.encode("utf-8", "replace")
        if len(data) > MAX_FILE_BYTES:
            message = f"The new content of {path!r} is larger than {MAX_FILE_BYTES} bytes; write less at once."
            raise AgentToolError(message)
        clean_path = "/".join((*folders, name))
        with open_folder(self._session.workspace, tuple(folders), create=True) as folder:
            found = stat_entry(folder, name)
            before = None
            if found is not None:
                require_regular(found, path)
                before = self._load(path)
            if before == data:
                return WriteResult(clean_path, "unchanged", 0, digest_of(data))
            _check_expected(path, before, expected_digest)
            _require_writable(path, found)
            _replace(folder, name, data, found)
        action = "created" if before is None else "changed"
        return WriteResult(clean_path, action, len(data), digest_of(data))


def digest_of(data: bytes) -> str:
    """Give the digest by which a content is recognised."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def decode_text(data: bytes, path: str) -> str:
    """Give the text of a file.

    Raises:
        AgentToolError: It is no UTF-8 text.
    """
    if b"\x00" not in data[:_SNIFFED_BYTES]:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8")
    message = f"{path!r} is no UTF-8 text; it cannot be read here."
    raise AgentToolError(message)


def split_lines(text: str) -> list[str]:
    """Give the lines of a text with their ends; only LF ends a line, as in most editors."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]


def _file_parts(path: str) -> tuple[str, ...]:
    parts = split_path(path)
    if not parts or path.endswith("/"):
        message = f"The path {path!r} names a folder; name a file."
        raise PathRefusedError(message)
    return parts


def _check_expected(path: str, before: bytes | None, expected_digest: str | None) -> None:
    if expected_digest is None:
        return
    actual = None if before is None else digest_of(before)
    if actual != expected_digest:
        message = f"{path!r} was changed since it was read, and nothing was written; read it again and make the change anew."
        raise AgentToolError(message)


def _require_writable(path: str, found: os.stat_result | None) -> None:
    # Replacing a file by its name does not ask for the right to write to it.
    if found is not None and not found.st_mode & 0o200:
        message = f"{path!r} is marked read-only, and nothing was written; choose another file."
        raise PathRefusedError(message)


def _replace(folder: int, name: str, data: bytes, found: os.stat_result | None) -> None:
    temporary = f".{name[:100]}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, _DEFAULT_MODE, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if found is not None:
                    os.fchmod(file.fileno(), found.st_mode & 0o7777)
                os.fsync(file.fileno())
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)
    except OSError as error:
        message = f"{name!r} could not be written ({error.strerror}); nothing was changed."
        raise PathRefusedError(message) from None
