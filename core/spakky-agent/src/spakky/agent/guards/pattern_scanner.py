"""A scan of one pattern over a text that arrives in pieces."""

import re
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache

from spakky.agent.guards.pattern_program import MAX_PREFIX_LENGTH, Move, PatternProgram
from spakky.agent.guards.pattern_syntax import join_sources

type BeginningFinder = Callable[[str, int, int], "re.Match[str] | None"]
"""Searches ``text[begin:end]`` for a place where a match may begin. It may find too many places,
never too few, and takes the end of what it searches for the middle of a match.
"""


def make_beginning_finder(
    programs: Sequence[PatternProgram], prefix_length: int = MAX_PREFIX_LENGTH
) -> BeginningFinder:
    """Give the search for a place where a match of one of several programs may begin.

    Args:
        programs: What is looked for; at least one.
        prefix_length: How many characters of a match may be looked at.
    """
    return _compile_prefixes(
        tuple(sorted({program.prefix_sets(prefix_length) for program in programs}))
    )


@lru_cache(maxsize=1024)
def _compile_prefixes(prefixes: tuple[tuple[str, ...], ...]) -> BeginningFinder:
    firsts = join_sources(sorted({prefix[0] for prefix in prefixes}))
    # The set of all first characters stands in front, since only then the search skips quickly.
    rests = "|".join(f"(?<={prefix[0]}){_rest_source(prefix[1:])}" for prefix in prefixes)
    source = f"{firsts}(?:{rests})" if len(prefixes) > 1 else firsts + _rest_source(prefixes[0][1:])
    return re.compile(source).search


def _rest_source(sets: Sequence[str]) -> str:
    source = ""
    for item in reversed(sets):
        source = rf"(?:{item}{source}|\Z)"
    return source


class PatternScanner:
    """Finds the matches of a program in a text given piece by piece; the same as in one piece.

    Args:
        program: What to look for.
        prefix_length: How many characters it may look ahead for a beginning; it never reports one
            as open that it can see to fail.

    Attributes:
        starts: Where the beginnings lie that may still become a match or a longer one, ascending.
        matches: The matches found and not yet taken away, as start and end, in order. One is final
            when no open beginning lies at or before its start.
    """

    __slots__ = ("_find_beginning", "_program", "_state", "matches", "starts")

    def __init__(self, program: PatternProgram, *, prefix_length: int = MAX_PREFIX_LENGTH) -> None:
        self._program = program
        self._find_beginning = make_beginning_finder([program], prefix_length)
        self._state = program.idle_after(None)
        self.starts: list[int] = []
        self.matches: deque[tuple[int, int]] = deque()

    @property
    def has_final(self) -> bool:
        """Whether the first match will not change any more."""
        return bool(self.matches) and (not self.starts or self.starts[0] > self.matches[0][0])

    def first_open(self, default: int) -> int:
        """Give where the first thing begins that may still change or be taken away."""
        if self.matches:
            default = min(default, self.matches[0][0])
        return min(default, self.starts[0]) if self.starts else default

    def feed(self, text: str, begin: int, end: int, position: int, before: str | None) -> None:
        """Read ``text[begin:end]``.

        Args:
            text: Holds the next piece.
            begin: Where the piece begins in ``text``.
            end: Where it ends.
            position: Where it begins in the whole text.
            before: The character before it; None at the whole text's beginning.
        """
        program, starts = self._program, self.starts
        state = self._state
        offset = position - begin
        place = begin
        while place < end:
            if not starts:
                found = self._find_beginning(text, place, end)
                if found is None:
                    return
                place = found.start()
                state = program.idle_after(text[place - 1] if place > begin else before)
            character = text[place]
            move = state.moves.get(character) or program.move(state, character)
            if not move.is_plain:
                self._apply(move, offset + place)
            state = move.target
            place += 1
        self._state = state

    def close(self, after: str | None, position: int) -> None:
        """End the scan; every match is final then.

        Args:
            after: The character that comes next; None at the whole text's end.
            position: Where the scan ends in the whole text.
        """
        if self.starts:
            rank = self._program.match_before(self._state, after)
            if rank >= 0:
                self._add_match(self.starts[rank], position)
            self.starts.clear()

    def _apply(self, move: Move, position: int) -> None:
        starts = self.starts
        if move.before >= 0:
            self._add_match(starts[move.before], position)
        if move.keep is None and move.after < 0:
            return
        starts.append(position)
        if move.after >= 0:
            self._add_match(starts[move.after], position + 1)
        if move.keep is None:
            starts.pop()
        else:
            starts[:] = [starts[rank] for rank in move.keep]

    def _add_match(self, start: int, end: int) -> None:
        """Add a match; it takes the place of those that begin at or after its start."""
        matches = self.matches
        while matches and matches[-1][0] >= start:
            matches.pop()
        matches.append((start, end))
