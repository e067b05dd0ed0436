"""How a value that does not fit is told: the path to it, what was expected and the type it has.

The value itself is never told, since it may be sensitive.
"""

import json
from collections.abc import Mapping

_MAX_SHOWN_KEY = 64
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (Mapping, "an object"),
    ((list, tuple), "an array"),
)


class DecodeMismatch(Exception):
    """A value does not fit. Raised and caught inside this package; callers see a public error.

    Args:
        problem: What is wrong, without the value itself.
        expected: What would have fit, when the value is of another kind altogether.
    """

    def __init__(self, problem: str, expected: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.expected = expected
        self.path: list[str | int] = []

    def under(self, step: str | int) -> "DecodeMismatch":
        """Note the key or index under which the value lies.

        Args:
            step: The key or index.

        Returns:
            This mismatch.
        """
        self.path.append(step)
        return self

    def tell(self, where: str) -> str:
        """Give the message.

        Args:
            where: The root of the path.
        """
        return f"{where}{''.join(map(_show_step, reversed(self.path)))}: {self.problem}"


def misfit(value: object, expected: str) -> DecodeMismatch:
    """Make the mismatch of a value that has another kind than expected.

    Args:
        value: The value; only its type is told.
        expected: With its article, for example ``an integer``.
    """
    return DecodeMismatch(f"expected {expected}, got {name_kind(value)}.", expected)


def name_kind(value: object) -> str:
    """Name the JSON type of a value with its article; a value that is not JSON by its class.

    Args:
        value: Any value.
    """
    if value is None:
        return "null"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), type(value).__name__)


def show_key(key: str) -> str:
    """Give a key as messages show it: quoted, and cut when it is long.

    Args:
        key: The key as it came.
    """
    return json.dumps(key if len(key) <= _MAX_SHOWN_KEY else key[:_MAX_SHOWN_KEY] + "...")


def _show_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    is_plain = step.isidentifier() and len(step) <= _MAX_SHOWN_KEY
    return f".{step}" if is_plain else f"[{show_key(step)}]"
