"""Builds the nodes of a pattern machine from the parts of a regular expression."""

from dataclasses import dataclass
from enum import IntEnum
from re import _constants  # type: ignore[attr-defined]  # see pattern_syntax

from spakky.agent.guards.pattern_syntax import (
    Condition,
    NodeArgument,
    NodeList,
    PatternRefusedError,
    character_source,
    combine_flags,
    is_character,
    make_condition,
    parse_expression,
    refuse_node,
)

MAX_NODES = 4000
"""How many nodes one machine may have."""


class NodeKind(IntEnum):
    """What a node does: read a character, choose, test a condition, or end a match."""

    CHARACTER = 0
    SPLIT = 1
    CONDITION = 2
    MATCH = 3


@dataclass(slots=True)
class ProgramNode:
    """One node of the machine.

    Attributes:
        kind: What it does.
        target: The node after it; of a split the one that is tried first.
        other: Of a split the node that is tried second.
        source: Of a character node its expression.
        index: Of a condition node its place in the program's conditions.
    """

    kind: NodeKind
    target: int = 0
    other: int = 0
    source: str = ""
    index: int = 0


class NodeBuilder:
    """Turns an expression into nodes, from its end to its beginning.

    Args:
        pattern: The regular expression, in the syntax of ``re``.

    Attributes:
        nodes: The nodes; the first one is the match.
        conditions: The conditions that nodes name by their index.
        start: The node where the machine begins.

    Raises:
        PatternRefusedError: The expression is not valid or cannot be followed in a stream.
    """

    def __init__(self, pattern: str) -> None:
        parts, flags = parse_expression(pattern)
        self.nodes: list[ProgramNode] = [ProgramNode(NodeKind.MATCH)]
        self.conditions: list[Condition] = []
        self._refuse_open_beginning(parts)
        self.start = self._add_sequence(parts, flags, 0)

    @staticmethod
    def _refuse_open_beginning(parts: NodeList) -> None:
        operator, argument = parts[0]
        if operator in {_constants.MAX_REPEAT, _constants.MIN_REPEAT}:
            _, maximum, body = argument
            if maximum is _constants.MAXREPEAT and body[0][0] is _constants.ANY:
                message = (
                    "it begins with any number of any characters, so that every text would be "
                    "held back; let it begin with what the sensitive text begins with"
                )
                raise PatternRefusedError(message)

    def _add(self, node: ProgramNode) -> int:
        if len(self.nodes) >= MAX_NODES:
            message = f"it needs more than {MAX_NODES} steps; use smaller numbers of repeats"
            raise PatternRefusedError(message)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _add_sequence(self, parts: NodeList, flags: int, target: int) -> int:
        for operator, argument in reversed(parts):
            target = self._add_part(operator, argument, flags, target)
        return target

    def _add_part(self, operator: object, argument: NodeArgument, flags: int, target: int) -> int:
        if is_character(operator):
            source = character_source(operator, argument, flags)
            return self._add(ProgramNode(NodeKind.CHARACTER, target, source=source))
        if operator is _constants.SUBPATTERN:
            _, added, removed, body = argument
            return self._add_sequence(list(body), combine_flags(flags, added, removed), target)
        if operator is _constants.BRANCH:
            entries = [self._add_sequence(list(body), flags, target) for body in argument[1]]
            entry = entries.pop()
            while entries:
                entry = self._add(ProgramNode(NodeKind.SPLIT, entries.pop(), entry))
            return entry
        if operator in {_constants.MAX_REPEAT, _constants.MIN_REPEAT}:
            return self._add_repeat(operator, argument, flags, target)
        if operator in {_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT}:
            self.conditions.append(make_condition(operator, argument, flags))
            index = len(self.conditions) - 1
            return self._add(ProgramNode(NodeKind.CONDITION, target, index=index))
        raise refuse_node(operator)

    def _add_repeat(self, operator: object, argument: NodeArgument, flags: int, target: int) -> int:
        minimum, maximum, body = argument
        parts = list(body)
        is_greedy = operator is _constants.MAX_REPEAT
        if maximum is _constants.MAXREPEAT:
            entry = self._add_loop(parts, flags, target, is_greedy=is_greedy)
        else:
            entry = target
            for _ in range(maximum - minimum):
                once_more = self._add_sequence(parts, flags, entry)
                entry = self._add_choice(once_more, target, is_greedy=is_greedy)
        for _ in range(minimum):
            entry = self._add_sequence(parts, flags, entry)
        return entry

    def _add_loop(self, parts: NodeList, flags: int, target: int, *, is_greedy: bool) -> int:
        loop = self._add(ProgramNode(NodeKind.SPLIT))
        body = self._add_sequence(parts, flags, loop)
        node = self.nodes[loop]
        node.target, node.other = (body, target) if is_greedy else (target, body)
        return loop

    def _add_choice(self, body: int, target: int, *, is_greedy: bool) -> int:
        first, second = (body, target) if is_greedy else (target, body)
        return self._add(ProgramNode(NodeKind.SPLIT, first, second))
