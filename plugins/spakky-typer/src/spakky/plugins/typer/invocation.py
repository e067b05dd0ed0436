"""Runs one command on its controller and turns what it raises into a line and an exit code."""

import asyncio
import inspect
import select
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import FunctionType

from spakky.core.pod.interfaces.container import IContainer

import typer
from spakky.plugins.typer.config import CliSettings
from spakky.plugins.typer.controller import CliController
from spakky.plugins.typer.event_loop import run_in_loop
from spakky.plugins.typer.exits import (
    ErrorExit,
    ExitCode,
    choose_exit_code,
    describe_error,
    find_error_exits,
)

# The parser's base of usage errors has no public name of its own in Typer; BadParameter is two classes below it.
_PARSER_ERROR: type[BaseException] = typer.BadParameter.__mro__[2]


class _InterruptedError(Exception):
    """A command in a loop was interrupted and has ended, or not."""


class CommandRunner:
    """Runs commands.

    Attributes:
        debug: Whether errors show where they come from.
        abandoned: Whether something of an interrupted command still runs in this process.

    Args:
        open_container: Gives the started container for the time of one command.
        settings: The command line's settings.
    """

    def __init__(
        self,
        open_container: Callable[[], AbstractContextManager[IContainer]],
        settings: CliSettings,
    ) -> None:
        self.debug = False
        self.abandoned = False
        self._open_container = open_container
        self._settings = settings

    def run(
        self, controller: CliController, function: FunctionType, values: Mapping[str, object]
    ) -> None:
        """Run a command.

        Args:
            controller: The mark of the class.
            function: The method as the class has it.
            values: The parsed parameters.

        Raises:
            typer.Exit: It failed or was interrupted; the line about it is written.
        """
        exits: list[ErrorExit] = [*self._settings.error_exits]
        try:
            with self._open_container() as container:
                exits.extend(find_error_exits(container))
                instance: object = container.get(controller.type_, controller.name)
                self._call(instance, function, values)
        except (KeyboardInterrupt, _InterruptedError) as interrupt:
            raise typer.Exit(self._report_interrupt(interrupt)) from None
        except (typer.Exit, typer.Abort, _PARSER_ERROR):
            raise
        except Exception as error:
            if isinstance(error, BrokenPipeError) and _output_is_gone():
                raise  # which the parser ends quietly
            raise typer.Exit(self.report(error, exits)) from None

    def _call(self, instance: object, function: FunctionType, values: Mapping[str, object]) -> None:
        # getattr: a proxy may stand for the instance, so the method is looked up on it by its name
        method = getattr(instance, function.__name__)
        if not inspect.iscoroutinefunction(function):
            method(**values)
            return
        outcome = run_in_loop(lambda: method(**values), self._settings.cleanup_seconds)
        self.abandoned = outcome.abandoned
        if outcome.interrupted:
            raise _InterruptedError from outcome.error
        if isinstance(outcome.error, asyncio.CancelledError):
            message = "The command was cancelled from within."
            raise RuntimeError(message) from outcome.error  # noqa: TRY004  # no type is wrong
        if outcome.error is not None:
            raise outcome.error

    def report(self, error: Exception, exits: Iterable[ErrorExit] = ()) -> int:
        """Write the line about an error to standard error, with its traceback under ``--debug``; gives its exit code."""
        code = choose_exit_code(error, exits)
        if self.debug:
            traceback.print_exception(error, file=sys.stderr)
        typer.echo(describe_error(error, expected=code != ExitCode.FAILED), err=True)
        return code

    def _report_interrupt(self, interrupt: BaseException) -> int:
        if self.debug and interrupt.__cause__ is not None:
            traceback.print_exception(interrupt.__cause__, file=sys.stderr)
        seconds = self._settings.cleanup_seconds
        late = f"; the command did not end within {seconds:g} seconds" if self.abandoned else ""
        typer.echo(f"Interrupted{late}.", err=True)
        return ExitCode.INTERRUPTED


def _output_is_gone() -> bool:
    """Tell whether standard output was closed by its reader; any other pipe is the command's own affair."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):
        return False  # no such call on this system, or an output without a descriptor
