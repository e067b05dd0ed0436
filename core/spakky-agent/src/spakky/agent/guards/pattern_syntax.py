"""The parts of a regular expression that can be followed in a stream: characters and conditions.

A character part is kept as the text of an expression for one character, so that Python's own ``re``
decides what it matches, case and categories included. A condition looks at the character before or
after one position. Everything that would need more text, or text that has gone, is refused.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# The parser has no public name. It is the only one that reads exactly what ``re`` reads; its node
# types have been the same from 3.12 to 3.14, and a node that is not known here is refused.
from re import _constants, _parser  # type: ignore[attr-defined]  # not in the type stubs
from typing import Any

# What a node of the parser holds depends on its operator: a number, a list, a tuple or nothing.
type NodeArgument = Any
type NodeList = list[tuple[object, NodeArgument]]

_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_NOT_DIGIT: r"\D",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_NOT_SPACE: r"\S",
    _constants.CATEGORY_WORD: r"\w",
    _constants.CATEGORY_NOT_WORD: r"\W",
}
_CHARACTER_NODES = frozenset(
    {_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN}
)
_REFUSED_NODES = {
    _constants.GROUPREF: "a back-reference needs the text of a group, which may have gone out",
    _constants.GROUPREF_EXISTS: "a conditional group is not followed in a stream",
    _constants.ATOMIC_GROUP: "an atomic group is not followed in a stream; use a plain group",
    _constants.POSSESSIVE_REPEAT: "a possessive repeat is not followed in a stream; use a greedy one",
}


class PatternRefusedError(Exception):
    """Says why an expression cannot be used on a stream. Never leaves this package."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A test at one position of a text, which looks at one character on each side at most.

    Attributes:
        see: Gives what has to be remembered of the character before; None is the text's beginning.
        holds: Decides from what was remembered and the character after; None is the text's end.
    """

    see: Callable[[str | None], bool]
    holds: Callable[[bool, str | None], bool]


def parse_expression(pattern: str) -> tuple[NodeList, int]:
    """Parse an expression into the standard library's nodes and the flags that hold for all.

    Raises:
        PatternRefusedError: It is no regular expression, or may match the empty text.
    """
    try:
        parsed = _parser.parse(pattern)
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"it is not a valid regular expression ({error})"
        raise PatternRefusedError(message) from error
    if parsed.getwidth()[0] == 0:
        message = "it may match the empty text; make it match at least one character"
        raise PatternRefusedError(message)
    return list(parsed), parsed.state.flags


def is_character(operator: object) -> bool:
    """Tell whether a node stands for exactly one character."""
    return operator in _CHARACTER_NODES


def refuse_node(operator: object) -> PatternRefusedError:
    """Give the error for a node that is not followed in a stream."""
    return PatternRefusedError(
        _REFUSED_NODES.get(operator, f"the construct {operator} is not followed in a stream")
    )


def character_source(operator: object, argument: NodeArgument, flags: int) -> str:
    """Give an expression for the one character that a node stands for, with its flags inside."""
    if operator is _constants.ANY:
        body = "."
    elif operator is _constants.IN:
        body = f"[{''.join(_set_member(*member) for member in argument)}]"
    else:
        caret = "^" if operator is _constants.NOT_LITERAL else ""
        body = f"[{caret}{_escape(argument)}]"
    letters = "".join(
        letter
        for letter, flag in (("a", re.ASCII), ("i", re.IGNORECASE), ("s", re.DOTALL))
        if flags & flag
    )
    return f"(?{letters}:{body})" if letters else body


def join_sources(sources: Sequence[str]) -> str:
    """Give an expression for a character that one of several expressions stands for."""
    if len(sources) == 1:
        return sources[0]
    # One set is searched for much faster than a choice between several.
    if all(source.startswith("[") and not source.startswith("[^") for source in sources):
        return f"[{''.join(source[1:-1] for source in sources)}]"
    return f"(?:{'|'.join(sources)})"


@lru_cache(maxsize=4096)
def character_matcher(source: str) -> Callable[[str], object]:
    """Give the test for an expression from ``character_source``; its result is true or false."""
    return re.compile(source).fullmatch


def make_condition(operator: object, argument: NodeArgument, flags: int) -> Condition:
    """Give the condition of an anchor, a word boundary or a look at one character.

    Raises:
        PatternRefusedError: It looks further than one character.
    """
    if operator is _constants.AT:
        return _anchor(argument, flags)
    direction, parts = argument
    test = _one_character_test(list(parts), flags, is_behind=direction < 0)
    expected = operator is _constants.ASSERT
    if direction < 0:
        return Condition(lambda before: test(before) is expected, lambda seen, _: seen)
    return Condition(_see_nothing, lambda _, after: test(after) is expected)


def combine_flags(flags: int, added: int, removed: int) -> int:
    """Give the flags inside a group that adds and removes some."""
    if added & (re.ASCII | re.UNICODE):
        flags &= ~(re.ASCII | re.UNICODE)
    return (flags | added) & ~removed


def _set_member(operator: object, argument: NodeArgument) -> str:
    if operator is _constants.NEGATE:
        return "^"
    if operator is _constants.CATEGORY:
        return _CATEGORIES[argument]
    if operator is _constants.RANGE:
        return f"{_escape(argument[0])}-{_escape(argument[1])}"
    return _escape(argument)


def _escape(code: int) -> str:
    return f"\\U{code:08x}"


def _see_nothing(_: str | None) -> bool:
    return False


def _anchor(kind: object, flags: int) -> Condition:
    by_line = bool(flags & re.MULTILINE)
    if kind in {_constants.AT_BOUNDARY, _constants.AT_NON_BOUNDARY}:
        is_word = character_matcher(r"(?a:\w)" if flags & re.ASCII else r"\w")
        differs = kind is _constants.AT_BOUNDARY
        return Condition(
            lambda before: before is not None and bool(is_word(before)),
            lambda seen, after: (seen != (after is not None and bool(is_word(after)))) is differs,
        )
    if kind in {_constants.AT_BEGINNING, _constants.AT_BEGINNING_STRING}:
        first_only = kind is _constants.AT_BEGINNING_STRING or not by_line
        return Condition(
            lambda before: before is None or (before == "\n" and not first_only),
            lambda seen, _: seen,
        )
    if kind is _constants.AT_END and not by_line:
        message = (
            "$ also matches before a last line break, which a stream shows too late; "
            r"write \Z for the end of the text, or use (?m) for the end of a line"
        )
        raise PatternRefusedError(message)
    at_line_end = kind is _constants.AT_END
    return Condition(
        _see_nothing, lambda _, after: after is None or (after == "\n" and at_line_end)
    )


def _one_character_test(
    parts: NodeList, flags: int, *, is_behind: bool
) -> Callable[[str | None], bool]:
    """Give the test of a look-around for the one character that it looks at."""
    options = [parts]
    if len(parts) == 1 and parts[0][0] is _constants.BRANCH:
        options = [list(option) for option in parts[0][1][1]]
    if len(parts) == 1 and parts[0][0] is _constants.SUBPATTERN:
        _, added, removed, inner = parts[0][1]
        flags = combine_flags(flags, added, removed)
        return _one_character_test(list(inner), flags, is_behind=is_behind)
    tests = [_option_test(option, flags, is_behind=is_behind) for option in options]
    return lambda character: any(test(character) for test in tests)


def _option_test(option: NodeList, flags: int, *, is_behind: bool) -> Callable[[str | None], bool]:
    operator, argument = option[0] if len(option) == 1 else (None, None)
    if is_character(operator):
        matches = character_matcher(character_source(operator, argument, flags))
        return lambda character: character is not None and bool(matches(character))
    edge = _constants.AT_BEGINNING_STRING if is_behind else _constants.AT_END_STRING
    if operator is _constants.AT and argument is edge:
        return lambda character: character is None
    side = "behind" if is_behind else "ahead"
    message = f"a look {side} may only look at one character; put the rest into the pattern"
    raise PatternRefusedError(message)
