"""Builds the Typer application of all controllers that a container knows."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Annotated, get_type_hints

from spakky.core.pod.annotations.pod import Pod

import typer
from spakky.plugins.typer.command import command_name
from spakky.plugins.typer.config import CliSettings
from spakky.plugins.typer.controller import CliController
from spakky.plugins.typer.error import CliDefinitionError
from spakky.plugins.typer.invocation import CommandRunner

DEBUG_VARIABLE = "SPAKKY_TYPER__DEBUG"
"""The environment variable that stands for ``--debug``."""


def find_controllers(pods: Iterable[Pod]) -> tuple[CliController, ...]:
    """Give the controllers among registered Pods, in the order of their registration.

    Raises:
        CliDefinitionError: There is none, or two of them have a command of one name in one group.
    """
    found = tuple(pod for pod in pods if isinstance(pod, CliController))
    if not found:
        message = (
            "No @CliController class is registered; add it with app.add(...), or look whether its module can be "
            "imported when it is scanned. An application that was stopped holds no classes any more."
        )
        raise CliDefinitionError(message)
    owners: dict[tuple[str | None, str], str] = {}
    for controller in found:
        for function, mark in controller.commands:
            key = (controller.group, command_name(function, mark))
            other = owners.setdefault(key, controller.name)
            if other != controller.name:
                message = (
                    f"The command {key[1]!r} of group {key[0]!r} is in {other} and in {controller.name}; "
                    "give one of them another name or group."
                )
                raise CliDefinitionError(message)
    return found


def build_typer(
    controllers: Iterable[CliController], runner: CommandRunner, settings: CliSettings
) -> typer.Typer:
    """Build the Typer application.

    Args:
        controllers: The controllers.
        runner: What runs a command once it is parsed.
        settings: The command line's settings.
    """
    root = typer.Typer(
        name=settings.name,
        help=settings.help,
        no_args_is_help=True,
        add_completion=settings.add_completion,
        pretty_exceptions_enable=False,
    )

    # A callback also keeps a single command from becoming the program itself.
    @root.callback()
    def set_up(
        *,
        debug: Annotated[
            bool,
            typer.Option("--debug", envvar=DEBUG_VARIABLE, help="Show where errors come from."),
        ] = False,
    ) -> None:
        runner.debug = debug

    groups: dict[str, typer.Typer] = {}
    helps: dict[str, str] = {}
    for controller in controllers:
        target = root
        if controller.group is not None:
            target = groups.setdefault(controller.group, typer.Typer(no_args_is_help=True))
            if controller.help is not None:
                helps.setdefault(controller.group, controller.help)
        for function, mark in controller.commands:
            callback = bind_callback(function, _caller(runner, controller, function))
            target.command(command_name(function, mark), **mark.options)(callback)
    for name, group in groups.items():
        root.add_typer(group, name=name, help=helps.get(name))
    return root


def _caller(
    runner: CommandRunner, controller: CliController, function: FunctionType
) -> Callable[[Mapping[str, object]], None]:
    def call(values: Mapping[str, object]) -> None:
        runner.run(controller, function, values)

    return call


def bind_callback(
    function: FunctionType, call: Callable[[Mapping[str, object]], None]
) -> Callable[..., None]:
    """Give a function with a method's signature without ``self``, which is what Typer looks at.

    Args:
        function: The method as the class has it.
        call: Gets the parsed parameters by name.
    """
    hints = get_type_hints(function, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    typed = [
        parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
        for parameter in parameters
    ]

    def callback(**values: object) -> None:
        call(values)

    callback.__name__ = function.__name__
    callback.__qualname__ = function.__qualname__
    callback.__module__ = function.__module__
    callback.__doc__ = function.__doc__
    callback.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in typed
        if parameter.annotation is not parameter.empty
    }
    # A function takes this attribute, which is how a signature is declared that the code does not have.
    callback.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]  # as said
    return callback
