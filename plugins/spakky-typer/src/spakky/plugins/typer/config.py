"""Settings of an application's command line."""

from dataclasses import dataclass

from spakky.plugins.typer.error import CliDefinitionError
from spakky.plugins.typer.exits import ErrorExit


@dataclass(frozen=True, slots=True)
class CliSettings:
    """How the command line looks and ends.

    Attributes:
        name: The program's name in help texts; that of the started file when None.
        help: The text above the list of commands.
        add_completion: Whether there are options that install shell completion.
        cleanup_seconds: How long an interrupted command may take to end before it is abandoned.
        error_exits: Exit codes of errors, beside those that are registered as Pods. Those of errors that stop the
            application from starting must stand here, since there are no Pods then.

    Raises:
        CliDefinitionError: ``cleanup_seconds`` is not a number above zero.
    """

    name: str | None = None
    help: str | None = None
    add_completion: bool = True
    cleanup_seconds: float = 10.0
    error_exits: tuple[ErrorExit, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "error_exits", tuple(self.error_exits))
        if not 0 < self.cleanup_seconds < float("inf"):
            message = (
                "CliSettings.cleanup_seconds must be a finite number above zero, "
                f"not {self.cleanup_seconds!r}."
            )
            raise CliDefinitionError(message)
