"""The mark of a command: a method of a controller that the command line offers."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, MappingProxyType
from typing import Any

from spakky.core.common.annotation import Annotation

from spakky.plugins.typer.error import CliDefinitionError

# The options are handed on to Typer as they were given; their types stand at `command`.
type CommandOptions = Mapping[str, Any]

_REFUSED_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "*args",
    inspect.Parameter.VAR_KEYWORD: "**kwargs",
    inspect.Parameter.POSITIONAL_ONLY: "positional-only parameters",
}


@dataclass
class Command(Annotation):
    """What ``@command`` leaves on a method.

    Attributes:
        name: The command's name; made from the method's name by Typer when None.
        options: Typer's options of the command.
    """

    name: str | None = None
    options: CommandOptions = MappingProxyType({})


def command[Method: Callable[..., object]](
    name: str | None = None,
    *,
    help: str | None = None,  # noqa: A002  # Typer's name
    epilog: str | None = None,
    short_help: str | None = None,
    options_metavar: str | None = None,
    add_help_option: bool = True,
    no_args_is_help: bool = False,
    hidden: bool = False,
    deprecated: bool = False,
    rich_help_panel: str | None = None,
    # The shape of the settings is the parser's.
    context_settings: dict[Any, Any] | None = None,
) -> Callable[[Method], Method]:
    """Offer a method of a ``@CliController`` class as a command.

    The method's parameters, defaults, ``Annotated[..., typer.Option(...)]`` and docstring mean what they mean to Typer.
    The method may be ``async``; each invocation then has an event loop of its own.

    Args:
        name: The command's name; the method's with ``-`` for ``_`` when None.
        help: The help text; the method's docstring when None.
        epilog: A text below the help.
        short_help: The text in the list of commands.
        options_metavar: What stands for the options in the usage line.
        add_help_option: Whether there is a ``--help``.
        no_args_is_help: Whether no arguments mean ``--help``.
        hidden: Whether the list of commands leaves it out.
        deprecated: Whether help says that it is deprecated.
        rich_help_panel: The panel of the list of commands that it stands in.
        context_settings: Settings of the parser's context.

    Raises:
        CliDefinitionError: It is applied to something that is not a method, or whose parameters have no place on a
            command line.
    """
    given: dict[str, object] = {
        "help": help,
        "epilog": epilog,
        "short_help": short_help,
        "add_help_option": add_help_option,
        "no_args_is_help": no_args_is_help,
        "hidden": hidden,
        "deprecated": deprecated,
        "context_settings": context_settings,
    }
    # Typer tells "not given" apart from None for these two.
    given |= {} if options_metavar is None else {"options_metavar": options_metavar}
    given |= {} if rich_help_panel is None else {"rich_help_panel": rich_help_panel}

    def mark(method: Method) -> Method:
        _require_method(method)
        return Command(name, MappingProxyType(given))(method)

    return mark


def command_name(function: FunctionType, mark: Command) -> str:
    """Give the name under which a command is called."""
    return mark.name or function.__name__.lower().replace("_", "-")


def find_commands(owner: type) -> tuple[tuple[FunctionType, Command], ...]:
    """Give the commands of a class in the order of their definition, inherited ones first.

    A method that overrides a command is one only when it is marked itself.
    """
    names: dict[str, None] = {}
    for base in reversed(owner.__mro__):
        names |= dict.fromkeys(vars(base))
    found = ((name, inspect.getattr_static(owner, name)) for name in names)
    return tuple(
        (member, Command.get(member))
        for _, member in found
        if isinstance(member, FunctionType) and Command.exists(member)
    )


def _require_method(method: object) -> None:
    if not isinstance(method, FunctionType):
        message = (
            f"@command must be applied to a method, not to a {type(method).__name__}; "
            "write it below other decorators, and use no static or class methods."
        )
        raise CliDefinitionError(message)
    where = f"Command {method.__qualname__}"
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        message = f"{where} must not be a generator; print inside the method instead of yielding."
        raise CliDefinitionError(message)
    parameters = list(inspect.signature(method).parameters.values())
    if not parameters:
        message = f"{where} must be a method with self as its first parameter."
        raise CliDefinitionError(message)
    for parameter in parameters[1:]:
        if parameter.kind in _REFUSED_KINDS:
            message = (
                f"{where} must not have {_REFUSED_KINDS[parameter.kind]} ({parameter.name}); "
                "name each parameter."
            )
            raise CliDefinitionError(message)
