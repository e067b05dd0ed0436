"""Keeps file access inside one folder: every path is walked component by component, and no link is followed.

A path is resolved with one ``open`` for each component, relative to the folder opened before it, and with ``O_NOFOLLOW``.
So nothing that another process swaps in meanwhile can lead the walk out of the workspace: there is no check that a later
open could contradict. What is no regular file is never opened.
"""

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spakky.agent import AgentToolError

MAX_PATH_CHARACTERS = 1000
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PathRefusedError(AgentToolError):
    """A path leaves the workspace, or names something that is no ordinary file or folder of it."""

    message = "The path is refused."
    code = "code_assistant.path_refused"


def split_path(path: str) -> tuple[str, ...]:
    """Give the components of a relative path; ``.`` and empty ones are dropped.

    Raises:
        PathRefusedError: It is absolute, leads upwards, is blank or too long, holds NUL, or goes into ``.git``.
    """
    shown = repr(path[:200])
    if not path.strip() or len(path) > MAX_PATH_CHARACTERS or "\x00" in path:
        message = f"The path {shown} is blank, too long or holds NUL; give a path below the workspace folder."
        raise PathRefusedError(message)
    if path.startswith(("/", "~")):
        message = (
            f"The path {shown} is not relative; give it from the workspace folder, as in docs/a.md."
        )
        raise PathRefusedError(message)
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if ".." in parts:
        message = f"The path {shown} leads upwards with '..'; name files below the workspace folder directly."
        raise PathRefusedError(message)
    if any(is_git_folder(part) for part in parts):
        message = f"The path {shown} goes into .git, which is closed; use the git tools."
        raise PathRefusedError(message)
    return parts


def is_git_folder(name: str) -> bool:
    """Whether some file system would take a name for ``.git``: without regard to case and to characters that do not show."""
    visible = "".join(c for c in name if unicodedata.category(c) not in {"Cf", "Cc"})
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(" .") == ".git"


@contextmanager
def open_root(root: Path) -> Iterator[int]:
    """Open the workspace folder itself and give its descriptor for the block.

    Raises:
        PathRefusedError: It is gone, or is no folder.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        message = f"The workspace folder {root} cannot be opened ({error.strerror})."
        raise PathRefusedError(message) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_folder(root: Path, parts: tuple[str, ...], *, create: bool = False) -> Iterator[int]:
    """Walk down to a folder and give its descriptor for the block.

    Args:
        root: The workspace folder.
        parts: The folder's components; none for the root.
        create: Whether folders that are missing are made.

    Raises:
        PathRefusedError: A component is missing, no folder, or a symbolic link.
    """
    with open_root(root) as top:
        descriptor = os.dup(top)
        try:
            for depth, part in enumerate(parts, 1):
                below = _step_down(descriptor, part, "/".join(parts[:depth]), create=create)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)


def _step_down(above: int, part: str, shown: str, *, create: bool) -> int:
    if create:
        try:
            os.mkdir(part, dir_fd=above)
        except FileExistsError:
            pass
        except OSError as error:
            message = f"The folder {shown!r} cannot be made ({error.strerror})."
            raise PathRefusedError(message) from None
    try:
        return os.open(part, _FOLDER_FLAGS, dir_fd=above)
    except FileNotFoundError:
        message = (
            f"There is no folder {shown!r} in the workspace; list its parent to see what is there."
        )
    except OSError as error:
        message = f"{shown!r} is no folder of the workspace: {describe_refusal(error)}."
    raise PathRefusedError(message)


def describe_refusal(error: OSError) -> str:
    """Say in words why something could not be opened."""
    if error.errno == errno.ELOOP:
        return "it is a symbolic link, and links are not followed"
    if error.errno == errno.ENOTDIR:
        return "it is a file or a symbolic link, and links are not followed"
    return error.strerror or "it cannot be opened"


def open_file(folder: int, name: str, shown: str) -> int:
    """Open a regular file for reading, below a folder that was walked to; the caller closes it.

    Raises:
        PathRefusedError: It is missing, a symbolic link, or no regular file; or it may not be read.
    """
    require_regular(stat_entry(folder, name), shown)
    try:
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    except OSError as error:
        message = f"{shown!r} cannot be read: {describe_refusal(error)}."
        raise PathRefusedError(message) from None
    try:
        # Once more on what was really opened: the name may have been given to something else meanwhile.
        require_regular(os.fstat(descriptor), shown)
    except PathRefusedError:
        os.close(descriptor)
        raise
    return descriptor


def stat_entry(folder: int, name: str) -> os.stat_result | None:
    """Give what stands under a name, links themselves included; None when nothing does."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def require_regular(found: os.stat_result | None, shown: str) -> None:
    """Refuse what is no regular file.

    Raises:
        PathRefusedError: There is nothing, a folder, a symbolic link, a device, a pipe or a socket.
    """
    if found is None:
        message = f"There is no file {shown!r} in the workspace; search for its name to find it."
        raise PathRefusedError(message)
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return
    kind = "a device, pipe or socket"
    if stat.S_ISLNK(mode):
        kind = "a symbolic link, and links are not followed"
    elif stat.S_ISDIR(mode):
        kind = "a folder"
    message = f"{shown!r} is {kind}, not a regular file; name a file."
    raise PathRefusedError(message)
