"""Exit codes: which error ends the process with which number, and the one line that is told about it.

===== =======================================================================
code  meaning
===== =======================================================================
0     the command ended
1     an error without a code of its own, or the user aborted a prompt
2     wrong usage: unknown command, missing or wrong parameter
130   interrupted from the keyboard (SIGINT)
other what an ``ErrorExit`` says for the error, or ``typer.Exit(code)``
===== =======================================================================
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from spakky.core.common.error import AbstractSpakkyFrameworkError
from spakky.core.pod.interfaces.container import IContainer

from spakky.plugins.typer.error import CliDefinitionError


class ExitCode(IntEnum):
    """The codes that the command line itself gives."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class ErrorExit:
    """Gives an error type an exit code; register it as a Pod, or name it in the settings.

    The entry of the nearest class of an error counts.

    Attributes:
        error_type: The error, with its subclasses.
        code: The exit code, 1 to 255; not 2 and not 130, which have a meaning of their own.

    Raises:
        CliDefinitionError: No exception type, or a code outside the range.
    """

    error_type: type[Exception]
    code: int

    def __post_init__(self) -> None:
        if not isinstance(self.error_type, type) or not issubclass(self.error_type, Exception):
            message = f"ErrorExit.error_type must be an exception class, not {self.error_type!r}."
            raise CliDefinitionError(message)
        reserved = {ExitCode.USAGE, ExitCode.INTERRUPTED}
        if not 1 <= self.code <= 255 or self.code in reserved:
            message = (
                f"ErrorExit({self.error_type.__name__}).code must be 1 to 255, but not 2 or 130, "
                f"not {self.code}."
            )
            raise CliDefinitionError(message)


def find_error_exits(container: IContainer) -> tuple[ErrorExit, ...]:
    """Give the exits that are registered as Pods of a started container."""
    found = container.find(lambda pod: pod.is_family_with(ErrorExit))
    return tuple(item for item in found if isinstance(item, ErrorExit))


def choose_exit_code(error: Exception, exits: Iterable[ErrorExit]) -> int:
    """Give the exit code of an error: that of its nearest class, 1 without one; the first of equals counts."""
    codes: dict[type, int] = {}
    for entry in exits:
        codes.setdefault(entry.error_type, entry.code)
    for kind in type(error).__mro__:
        if kind in codes:
            return codes[kind]
    return ExitCode.FAILED


def describe_error(error: Exception, *, expected: bool) -> str:
    """Give one line about an error.

    Args:
        error: What was raised.
        expected: Whether an exit code was given to it; errors of the framework are always expected.
    """
    text = " ".join(str(error).split())
    if isinstance(error, AbstractSpakkyFrameworkError):
        return f"Error: {_framework_text(error, text)}"
    if expected and text:
        return f"Error: {text}"
    kind = type(error).__name__
    told = f"{kind}: {text}" if text else kind
    return f"Error: unexpected {told} (put --debug before the command to see where)"


def _framework_text(error: AbstractSpakkyFrameworkError, text: str) -> str:
    # Errors of the container hold values instead of a sentence, or nothing; their class has the sentence.
    if error.args and isinstance(error.args[0], str):
        return text
    told = " ".join(error.message.split())
    return f"{told}: {text}" if text else told
