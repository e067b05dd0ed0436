"""Class-based command line controllers on Typer."""

from spakky.plugins.typer.application import CliApplication, run_cli, run_cli_and_exit
from spakky.plugins.typer.command import command
from spakky.plugins.typer.config import CliSettings
from spakky.plugins.typer.controller import CliController
from spakky.plugins.typer.error import AbstractSpakkyTyperError, CliDefinitionError
from spakky.plugins.typer.exits import ErrorExit, ExitCode

__all__ = [
    "AbstractSpakkyTyperError",
    "CliApplication",
    "CliController",
    "CliDefinitionError",
    "CliSettings",
    "ErrorExit",
    "ExitCode",
    "command",
    "run_cli",
    "run_cli_and_exit",
]
