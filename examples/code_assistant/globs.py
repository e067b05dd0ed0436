"""Name patterns over paths of the workspace. They are matched against paths that a walk found, and never open anything.

    *   any characters inside one component          **  any number of components
    ?   one character                                 [ab] one of these characters

A pattern without ``/`` is matched against the last component, so ``*.md`` finds files in every folder; ``./*.md`` only at
the top.
"""

from fnmatch import fnmatchcase

from code_assistant.confinement import PathRefusedError

MAX_PATTERN_CHARACTERS = 200


def check_pattern(pattern: str) -> tuple[str, ...]:
    """Give the components of a pattern.

    Raises:
        PathRefusedError: It is blank, too long, absolute, or leads upwards.
    """
    parts = tuple(pattern.split("/"))
    fits = pattern.strip() and len(pattern) <= MAX_PATTERN_CHARACTERS and "\x00" not in pattern
    if not fits or pattern.startswith(("/", "~")) or ".." in parts:
        message = (
            f"The pattern {pattern[:MAX_PATTERN_CHARACTERS]!r} is blank, too long or leads out of the workspace;"
            " give one like *.py or docs/**/*.md."
        )
        raise PathRefusedError(message)
    if len(parts) == 1:
        return ("**", pattern)
    return tuple(part for part in parts if part not in {"", "."})


def matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether a path fits a pattern; both as components. Takes time in proportion to the product of their lengths."""
    # reached[i]: the first i parts of the pattern fit the components read so far.
    reached = [True] + [False] * len(pattern)
    _skip_stars(pattern, reached)
    for component in path:
        following = [False] * (len(pattern) + 1)
        for index, part in enumerate(pattern):
            if part == "**":
                following[index] |= reached[index]
            elif reached[index] and fnmatchcase(component, part):
                following[index + 1] = True
        _skip_stars(pattern, following)
        reached = following
    return reached[-1]


def _skip_stars(pattern: tuple[str, ...], reached: list[bool]) -> None:
    for index, part in enumerate(pattern):
        if part == "**" and reached[index]:
            reached[index + 1] = True
