"""The shell port and its implementation: one command line in the workspace folder, after a person agreed to it."""

from abc import ABC, abstractmethod
from typing import override

from code_assistant.process import run_program
from code_assistant.results import CommandResult
from code_assistant.session import Session
from spakky.agent import AgentToolError

MAX_TIMEOUT_SECONDS = 600


class IShell(ABC):
    """Runs commands for an agent."""

    @abstractmethod
    async def run(self, command: str, timeout_seconds: int) -> CommandResult:
        """Run a command line and give its outcome, whatever its exit code.

        Raises:
            AgentToolError: The command is blank, the time is out of its range, or the shell cannot be started.
        """


class LocalShell(IShell):
    """``sh -c`` in the workspace folder, with an environment that holds no secrets.

    It is no sandbox: a command may do whatever the user may. That is why each one waits for a person.

    Args:
        session: What the command of the demo works on.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @override
    async def run(self, command: str, timeout_seconds: int) -> CommandResult:
        if not command.strip() or "\x00" in command:
            message = "The command is blank or holds NUL; give a command line."
            raise AgentToolError(message)
        if not 1 <= timeout_seconds <= MAX_TIMEOUT_SECONDS:
            message = f"timeout_seconds must be 1 to {MAX_TIMEOUT_SECONDS}, not {timeout_seconds}."
            raise AgentToolError(message)
        arguments = ("/bin/sh", "-c", command)
        folder = self._session.workspace
        try:
            return await run_program(arguments, folder=folder, timeout_seconds=timeout_seconds)
        except OSError as error:
            message = f"The shell could not be started in {folder} ({error.strerror})."
            raise AgentToolError(message) from None
