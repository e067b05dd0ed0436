"""The stereotype of a class whose methods are commands."""

from types import FunctionType
from typing import override

from spakky.core.pod.annotations.pod import Pod, PodType
from spakky.core.stereotype.controller import Controller

from spakky.plugins.typer.command import Command, command_name, find_commands
from spakky.plugins.typer.error import CliDefinitionError


class CliController(Controller):
    """Makes a class a Pod whose ``@command`` methods are commands; its constructor gets its dependencies injected.

    The instance is taken from the container when one of its commands is called, not before.

    Attributes:
        group: The command group; None puts the commands at the root. Controllers of one group share it.
        help: The group's help text.
        commands: The marked methods and their marks, in the order of their definition.

    Args:
        name: The command group.
        help: The group's help text.
        scope: The Pod's scope.

    Raises:
        CliDefinitionError: When a class is decorated: it has no command, two of one name, or inherits from a Pod.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        help: str | None = None,  # noqa: A002  # Typer's name
        scope: Pod.Scope = Pod.Scope.SINGLETON,
    ) -> None:
        super().__init__(scope=scope)
        if name is not None and not name.strip():
            message = (
                "@CliController(name) must not be blank; leave it out for commands at the root."
            )
            raise CliDefinitionError(message)
        self.group = name
        self.help = help
        self.commands: tuple[tuple[FunctionType, Command], ...] = ()

    @override
    def _initialize(self, obj: PodType) -> None:
        where = f"@CliController {obj.__qualname__}"
        if not isinstance(obj, type):
            message = f"{where} must be applied to a class."
            raise CliDefinitionError(message)
        if Pod.exists(obj):
            message = (
                f"{where} is or inherits from a Pod, which the container cannot tell apart; "
                "move shared commands to a plain base class."
            )
            raise CliDefinitionError(message)
        self.commands = find_commands(obj)
        self._require_commands(where)
        # Names of Pods are global; the place of a class is unique, its name is not.
        self.name = f"{obj.__module__}.{obj.__qualname__}"
        super()._initialize(obj)

    def _require_commands(self, where: str) -> None:
        if not self.commands:
            message = f"{where} has no method marked with @command; mark one, or use @Controller."
            raise CliDefinitionError(message)
        names = [command_name(function, mark) for function, mark in self.commands]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"{where} has the command {twice[0]!r} twice; give one of them another name."
            raise CliDefinitionError(message)
