"""Exit codes are chosen by the nearest class, and errors are told in one line."""

import pytest
from spakky.core.common.error import AbstractSpakkyFrameworkError

from spakky.plugins.typer import (
    AbstractSpakkyTyperError,
    CliDefinitionError,
    CliSettings,
    ErrorExit,
    ExitCode,
)
from spakky.plugins.typer.exits import choose_exit_code, describe_error


class SilentError(AbstractSpakkyFrameworkError):
    message = "The class\nhas the sentence."


def test_the_nearest_class_of_an_error_gives_its_code() -> None:
    exits = (ErrorExit(Exception, 3), ErrorExit(LookupError, 4), ErrorExit(LookupError, 5))
    assert choose_exit_code(KeyError(), exits) == 4
    assert choose_exit_code(ValueError(), exits) == 3
    assert choose_exit_code(ValueError(), ()) == ExitCode.FAILED


@pytest.mark.parametrize("code", [0, -1, 2, 130, 256])
def test_reserved_and_impossible_codes_are_refused(code: int) -> None:
    with pytest.raises(CliDefinitionError, match=str(code)):
        ErrorExit(ValueError, code)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, int, "ValueError"])
def test_only_exceptions_have_exit_codes(kind: object) -> None:
    # The type is wrong by intention.
    with pytest.raises(CliDefinitionError, match="exception class"):
        ErrorExit(kind, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "expected", "line"),
    [
        (CliDefinitionError("one\n  two"), False, "Error: one two"),
        (SilentError(), False, "Error: The class has the sentence."),
        (SilentError(3, "x"), False, "Error: The class has the sentence.: (3, 'x')"),
        (ValueError("told"), True, "Error: told"),
        (ValueError(), True, "Error: unexpected ValueError (put --debug"),
        (ValueError("told"), False, "Error: unexpected ValueError: told (put --debug"),
    ],
)
def test_an_error_is_told_in_one_line(error: Exception, line: str, *, expected: bool) -> None:
    told = describe_error(error, expected=expected)
    assert told.startswith(line)
    assert "\n" not in told


def test_the_errors_of_the_plugin_are_errors_of_the_framework() -> None:
    assert issubclass(CliDefinitionError, AbstractSpakkyTyperError)
    assert issubclass(AbstractSpakkyTyperError, AbstractSpakkyFrameworkError)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_clean_up_has_a_bound(seconds: float) -> None:
    with pytest.raises(CliDefinitionError, match="cleanup_seconds"):
        CliSettings(cleanup_seconds=seconds)
