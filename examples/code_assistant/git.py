"""The git port and its implementation over the git executable, with everything switched off that runs other programs.

A repository's own configuration can name programs: hooks, pagers, file system monitors, external diffs, text conversions
and content filters. The workspace may come from anywhere, so none of them is run. The user's own configuration counts.
"""

import re
from abc import ABC, abstractmethod
from typing import override

from code_assistant.confinement import split_path
from code_assistant.process import run_program
from code_assistant.results import CommandResult, PatchResult
from code_assistant.session import Session
from spakky.agent import AgentToolError

_TIMEOUT_SECONDS = 60
_MAX_PATCH_CHARACTERS = 500_000
_SAFE = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "diff.external=",
    "-c",
    "protocol.allow=never",
)
_TARGET = re.compile(r"^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
_SOURCE = re.compile(r"^--- (?:a/)?([^\t\n]+)", re.MULTILINE)
_SPECIAL_FILE = re.compile(r"^(?:new file mode|new mode|old mode) (?:120000|160000)", re.MULTILINE)


class IGit(ABC):
    """What an agent may do with the workspace's repository. Every expected failure is an ``AgentToolError``."""

    @abstractmethod
    async def status(self) -> str:
        """Give the branch and the changed files, in git's short form.

        Raises:
            AgentToolError: The workspace is no repository, or git is missing.
        """

    @abstractmethod
    async def diff(self, path: str | None = None, *, staged: bool = False) -> str:
        """Give the changes as a unified diff.

        Args:
            path: A file or folder; None for all.
            staged: Whether the index is compared instead of the working tree.

        Raises:
            AgentToolError: As for ``status``, or the path is refused.
        """

    @abstractmethod
    async def apply(self, patch: str) -> PatchResult:
        """Apply a unified diff to the working tree, all of it or nothing.

        Raises:
            AgentToolError: It does not apply, or names something that may not be changed.
        """


class LocalGit(IGit):
    """The repository whose top is the workspace folder; one further up is not looked at.

    Args:
        session: What the command of the demo works on.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @override
    async def status(self) -> str:
        return (
            await self._git("status", "--short", "--branch", "--ignore-submodules=dirty")
        ).output

    @override
    async def diff(self, path: str | None = None, *, staged: bool = False) -> str:
        options = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"]
        if staged:
            options.append("--cached")
        chosen = () if path is None else ("/".join(split_path(path)) or ".",)
        return (await self._git("diff", *options, "--", *chosen, literal=True)).output

    @override
    async def apply(self, patch: str) -> PatchResult:
        paths = patched_paths(patch)
        text = patch if patch.endswith("\n") else f"{patch}\n"
        arguments = ("apply", "--whitespace=nowarn", "-")
        await self._git(*arguments, stdin=text.encode("utf-8", "replace"))
        return PatchResult(paths)

    async def _git(
        self, *arguments: str, stdin: bytes = b"", literal: bool = False
    ) -> CommandResult:
        filters = [option for name in await self._filters() for option in ("-c", f"{name}=")]
        result = await self._run([*_SAFE, *filters, *arguments], stdin, literal=literal)
        if result.exit_code == 0:
            return result
        told = " ".join(result.errors.split())[:500] or f"exit code {result.exit_code}"
        message = f"git {arguments[0]} did not work: {told}"
        raise AgentToolError(message)

    async def _filters(self) -> list[str]:
        """Give the repository's own content filters, which would run programs while files are compared."""
        query = ["config", "--local", "--includes", "--name-only", "--get-regexp"]
        found = await self._run([*query, r"^(filter\..*\.(clean|smudge|process))$"], b"")
        return [line for line in found.output.splitlines() if line and "=" not in line]

    async def _run(
        self, arguments: list[str], stdin: bytes, *, literal: bool = False
    ) -> CommandResult:
        folder = self._session.workspace
        environment = {
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PAGER": "cat",
            "GIT_LITERAL_PATHSPECS": "1" if literal else "0",
            "LC_ALL": "C.UTF-8",
        }
        try:
            return await run_program(
                ("git", *arguments),
                folder=folder,
                timeout_seconds=_TIMEOUT_SECONDS,
                stdin=stdin,
                environment=environment,
            )
        except OSError:
            message = "git could not be started; install it to use the git tools."
            raise AgentToolError(message) from None


def patched_paths(patch: str) -> list[str]:
    """Give the files that a patch names, each once.

    git itself refuses paths outside the working tree, below a symbolic link, or in ``.git``; it is asked second.

    Raises:
        AgentToolError: It names none, names one that is refused, makes a link or a submodule, or is too long.
    """
    if len(patch) > _MAX_PATCH_CHARACTERS or "\x00" in patch:
        message = (
            f"The patch is longer than {_MAX_PATCH_CHARACTERS} characters or holds NUL; split it."
        )
        raise AgentToolError(message)
    if _SPECIAL_FILE.search(patch):
        message = (
            "The patch makes a symbolic link or a submodule, which is refused; take that part out."
        )
        raise AgentToolError(message)
    named = [*_TARGET.findall(patch), *_SOURCE.findall(patch)]
    paths = dict.fromkeys(name.strip() for name in named if name.strip() != "/dev/null")
    if not paths:
        message = "The patch names no file; give a unified diff with ---/+++ lines."
        raise AgentToolError(message)
    return ["/".join(split_path(path)) for path in paths]
