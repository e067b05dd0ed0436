"""How the demo's commands end: the exit codes, and the line on standard error that goes with a refusal."""

from enum import IntEnum
from typing import Never

import typer


class ExitCode(IntEnum):
    """The exit codes of ``code-assistant``.

    Attributes:
        DONE: The run, or the command, did what it was asked.
        FAILED: The run failed or was cancelled; it cannot be resumed.
        USAGE: A wrong option, or a workspace folder that does not exist.
        PAUSED: The run waits for a person.
        RESUMABLE: The run was interrupted, for example by a fault of the model; ``resume`` goes on.
        REFUSED: There is no such run, it is at work elsewhere, or it has ended.
        STORE: The store cannot be used.
    """

    DONE = 0
    FAILED = 1
    USAGE = 2
    PAUSED = 3
    RESUMABLE = 4
    REFUSED = 5
    STORE = 6


def refuse(code: ExitCode, message: str) -> Never:
    """End the command with one line on standard error.

    Args:
        code: The exit code.
        message: What was wrong, and what to do next.

    Raises:
        typer.Exit: Always.
    """
    typer.echo(f"Error: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


def refuse_usage(message: str) -> Never:
    """End the command for wrong usage; see ``refuse``.

    Raises:
        typer.Exit: Always.
    """
    refuse(ExitCode.USAGE, message)
