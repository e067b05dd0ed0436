"""The command line of an application: as a Pod of a running one, or around one that is started for a command."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Never, override

from spakky.core.application.application import SpakkyApplication
from spakky.core.pod.annotations.pod import Pod
from spakky.core.pod.interfaces.aware.container_aware import IContainerAware
from spakky.core.pod.interfaces.container import IContainer

import typer
from spakky.plugins.typer.command_line import build_typer, find_controllers
from spakky.plugins.typer.config import CliSettings
from spakky.plugins.typer.error import CliDefinitionError
from spakky.plugins.typer.exits import ExitCode
from spakky.plugins.typer.invocation import CommandRunner
from typer.main import get_command


@Pod(name="spakky.typer.application")
class CliApplication(IContainerAware):
    """The command line of a container that is already started; take it from there with ``container.get()``.

    Args:
        settings: The command line's settings; the defaults when no such Pod is registered.
    """

    def __init__(self, settings: CliSettings | None = None) -> None:
        self._settings = CliSettings() if settings is None else settings
        self._container: IContainer | None = None
        self._typer: typer.Typer | None = None

    @override
    def set_container(self, container: IContainer) -> None:
        self._container = container

    @property
    def typer_app(self) -> typer.Typer:
        """The Typer application, built at its first use; for ``typer.testing.CliRunner`` and for ``add_typer``.

        Raises:
            CliDefinitionError: There is no controller, or the container did not start this Pod.
        """
        if self._typer is None:
            container = self._container
            if container is None:
                message = (
                    "CliApplication must come from a started container; see run_cli() for another."
                )
                raise CliDefinitionError(message)
            runner = CommandRunner(lambda: nullcontext(container), self._settings)
            controllers = find_controllers(container.pods.values())
            self._typer = build_typer(controllers, runner, self._settings)
        return self._typer

    def run(self, args: Sequence[str] | None = None) -> int:
        """Run a command line and give its exit code; the container stays started.

        Args:
            args: The arguments; those of the process when None.

        Raises:
            CliDefinitionError: As for ``typer_app``.
        """
        return _run_typer(self.typer_app, args, self._settings.name)


def run_cli(
    application: SpakkyApplication,
    args: Sequence[str] | None = None,
    settings: CliSettings | None = None,
) -> int:
    """Run a command line and give its exit code, with the application started for the command.

    The application is started when a command is called, so that help, completion and usage errors need nothing of it,
    and is stopped afterwards. One that was started before is used as it is and stays started. An application that was
    stopped cannot be used again.

    Args:
        application: The application with its plugins loaded and its classes added.
        args: The arguments; those of the process when None.
        settings: The command line's settings.
    """
    code, _ = _run(application, args, settings or CliSettings())
    return code


def run_cli_and_exit(application: SpakkyApplication, settings: CliSettings | None = None) -> Never:
    """Run the process's command line as ``run_cli`` does and end the process with its exit code.

    Args:
        application: The application with its plugins loaded and its classes added.
        settings: The command line's settings.
    """
    code, runner = _run(application, None, settings or CliSettings())
    if runner.abandoned:
        # The interpreter would wait for threads that nobody can stop.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _run(
    application: SpakkyApplication, args: Sequence[str] | None, settings: CliSettings
) -> tuple[int, CommandRunner]:
    runner = CommandRunner(lambda: _running(application), settings)
    try:
        controllers = find_controllers(application.container.pods.values())
        command_line = build_typer(controllers, runner, settings)
    except CliDefinitionError as error:
        return runner.report(error, settings.error_exits), runner
    return _run_typer(command_line, args, settings.name), runner


@contextmanager
def _running(application: SpakkyApplication) -> Iterator[IContainer]:
    if application.application_context.is_started:
        yield application.container
        return
    application.start()
    try:
        yield application.container
    except BaseException as error:
        # The command's own error is the one to tell; a stop that fails after it is a note to that.
        try:
            application.stop()
        except Exception as stop_error:  # noqa: BLE001  # a service may raise anything
            error.add_note(f"Stopping the application failed too: {stop_error!r}")
        raise
    application.stop()


def _run_typer(command_line: typer.Typer, args: Sequence[str] | None, name: str | None) -> int:
    end = SystemExit()
    try:
        get_command(command_line).main(args=None if args is None else list(args), prog_name=name)
    except SystemExit as raised:
        end = raised
    return ExitCode.INTERRUPTED if _was_interrupted(end) else _exit_code(end)


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return ExitCode.OK
    if isinstance(end.code, int):
        return end.code
    typer.echo(end.code, err=True)
    return ExitCode.FAILED


def _was_interrupted(end: SystemExit) -> bool:
    """Tell whether a prompt was interrupted, which the parser reports like any other abort."""
    cause = end.__context__
    return isinstance(cause, typer.Abort) and isinstance(cause.__context__, KeyboardInterrupt)
