"""A regular expression compiled for streams: a machine that reads one character at a time.

The machine follows the same choices in the same order as ``re`` does, so that it finds the same
matches, but it never goes back: the text before the current character is not needed. It says at
each character which beginnings may still become a match. Its steps are worked out when they are
first needed and then kept, so that a character costs one look-up. The number of kept steps is
bounded, and so is the time for a character, whatever the expression.
"""

from typing import assert_never

from spakky.agent.guards.pattern_builder import NodeBuilder, NodeKind
from spakky.agent.guards.pattern_syntax import character_matcher, join_sources

MAX_PREFIX_LENGTH = 3
"""How many characters of a match's beginning can be searched for."""

_MAX_MOVES = 16384
_MAX_PREFIX_SOURCES = 8

type Threads = tuple[tuple[int, int], ...]
"""Where the machine is: pairs of a node and the rank of the beginning that led there, in the order
in which ``re`` would try them.
"""


class MachineState:
    """Where a scan is between two characters; shared by all scans of a program and never changed.

    Attributes:
        threads: The open paths.
        seen: What the conditions remember of the character before.
        moves: The steps worked out so far, by the next character.
    """

    __slots__ = ("moves", "seen", "threads")

    def __init__(self, threads: Threads, seen: tuple[bool, ...]) -> None:
        self.threads = threads
        self.seen = seen
        self.moves: dict[str, Move] = {}


class Move:
    """What one character does to a state.

    Attributes:
        target: The state after it.
        keep: The ranks of the beginnings that stay open, in order; None when all do and no other
            joins. The rank after the last open one is the beginning at this character.
        before: The rank whose match ends before the character; -1 for none.
        after: The rank whose match ends after the character; -1 for none.
        is_plain: Whether nothing but the state changes.
    """

    __slots__ = ("after", "before", "is_plain", "keep", "target")

    def __init__(
        self, target: MachineState, keep: tuple[int, ...] | None, before: int, after: int
    ) -> None:
        self.target = target
        self.keep = keep
        self.before = before
        self.after = after
        self.is_plain = keep is None and before < 0 and after < 0


class PatternProgram:
    """A compiled expression. It may be used by any number of scans at once.

    Args:
        pattern: The regular expression, in the syntax of ``re``.

    Raises:
        PatternRefusedError: The expression is not valid or cannot be followed in a stream.
    """

    def __init__(self, pattern: str) -> None:
        built = NodeBuilder(pattern)
        self._nodes, self._conditions, self._start = built.nodes, built.conditions, built.start
        self._states: dict[tuple[Threads, tuple[bool, ...]], MachineState] = {}
        self._move_count = 0
        self._prefix_sets = self._make_prefix_sets()
        self._idle_states: dict[str | None, MachineState] = {}

    def prefix_sets(self, length: int) -> tuple[str, ...]:
        """Give expressions for the first characters of a match, as far as they are certain.

        Args:
            length: How many are wanted at most; 1 to ``MAX_PREFIX_LENGTH``.
        """
        return self._prefix_sets[:length]

    def idle_after(self, character: str | None) -> MachineState:
        """Give the state without open paths after a character; None stands for the beginning."""
        if not self._conditions:
            character = None
        state = self._idle_states.get(character)
        if state is None:
            state = self._idle_states[character] = self._state((), character)
        return state

    def move(self, state: MachineState, character: str) -> Move:
        """Give what a character does to a state."""
        move = state.moves.get(character)
        return self._work_out(state, character) if move is None else move

    def match_before(self, state: MachineState, character: str | None) -> int:
        """Give the rank whose match ends here when that character, or the end, comes next; or -1."""
        return self._resolve(state, character, [], set())

    def _make_prefix_sets(self) -> tuple[str, ...]:
        sets: list[str] = []
        nodes = {self._start}
        for _ in range(MAX_PREFIX_LENGTH):
            leaves, may_end = self._reach(nodes)
            sources = sorted({self._nodes[node].source for node in leaves})
            # A long choice is slower to search for than to follow.
            if may_end or (sets and len(sources) > _MAX_PREFIX_SOURCES):
                break
            sets.append(join_sources(sources))
            nodes = {self._nodes[node].target for node in leaves}
        return tuple(sets)

    def _reach(self, nodes: set[int]) -> tuple[set[int], bool]:
        """Give the character nodes that come next, taking every condition to hold."""
        waiting, visited, leaves, may_end = list(nodes), set[int](), set[int](), False
        while waiting:
            index = waiting.pop()
            if index in visited:
                continue
            visited.add(index)
            node = self._nodes[index]
            match node.kind:
                case NodeKind.CHARACTER:
                    leaves.add(index)
                case NodeKind.SPLIT:
                    waiting += [node.target, node.other]
                case NodeKind.CONDITION:
                    waiting.append(node.target)
                case NodeKind.MATCH:
                    may_end = True
                case _:
                    assert_never(node.kind)
        return leaves, may_end

    def _state(self, threads: Threads, before: str | None) -> MachineState:
        seen = tuple(condition.see(before) for condition in self._conditions)
        key = (threads, seen)
        state = self._states.get(key)
        if state is None:
            state = self._states.setdefault(key, MachineState(threads, seen))
        return state

    def _work_out(self, state: MachineState, character: str) -> Move:
        if self._move_count >= _MAX_MOVES:
            self._forget()
        self._move_count += 1
        leaves: list[tuple[int, int]] = []
        visited: set[int] = set()
        before = self._resolve(state, character, leaves, visited)
        rank_count = 1 + max((rank for _, rank in state.threads), default=-1)
        self._expand(self._start, rank_count, leaves, visited, (state.seen, character))
        threads, after = self._consume(leaves, character)
        kept = sorted({rank for _, rank in threads})
        new_ranks = {rank: place for place, rank in enumerate(kept)}
        target = self._state(tuple((node, new_ranks[rank]) for node, rank in threads), character)
        keep = None if kept == list(range(rank_count)) else tuple(kept)
        move = Move(target, keep, before, after)
        state.moves[character] = move
        return move

    def _forget(self) -> None:
        """Drop what was worked out; scans go on from their states, whose moves are emptied."""
        for state in [*self._states.values(), *self._idle_states.values()]:
            state.moves.clear()
        self._states.clear()
        self._idle_states.clear()
        self._move_count = 0

    def _resolve(
        self,
        state: MachineState,
        character: str | None,
        leaves: list[tuple[int, int]],
        visited: set[int],
    ) -> int:
        """Decide the waiting conditions; collect the character nodes; give the matched rank or -1."""
        for node, rank in state.threads:
            if self._expand(node, rank, leaves, visited, (state.seen, character)):
                return rank
        return -1

    def _consume(
        self, leaves: list[tuple[int, int]], character: str
    ) -> tuple[list[tuple[int, int]], int]:
        threads: list[tuple[int, int]] = []
        visited: set[int] = set()
        for index, rank in leaves:
            node = self._nodes[index]
            if not character_matcher(node.source)(character):
                continue
            if self._expand(node.target, rank, threads, visited, None):
                return threads, rank
        return threads, -1

    def _expand(
        self,
        index: int,
        rank: int,
        leaves: list[tuple[int, int]],
        visited: set[int],
        known: tuple[tuple[bool, ...], str | None] | None,
    ) -> bool:
        """Add the nodes at which a path waits, first choice first; tell whether it reached a match.

        Args:
            index: Where the path is.
            rank: The rank of its beginning.
            leaves: Gets the nodes; a path that comes second to a node adds nothing.
            visited: The nodes reached so far.
            known: What conditions remember and the next character; None lets conditions wait.
        """
        waiting = [index]
        while waiting:
            index = waiting.pop()
            if index in visited:
                continue
            visited.add(index)
            node = self._nodes[index]
            if node.kind is NodeKind.MATCH:
                return True
            if node.kind is NodeKind.SPLIT:
                waiting += [node.other, node.target]
            elif node.kind is NodeKind.CONDITION and known is not None:
                seen, after = known
                if self._conditions[node.index].holds(seen[node.index], after):
                    waiting.append(node.target)
            else:
                leaves.append((index, rank))
        return False
