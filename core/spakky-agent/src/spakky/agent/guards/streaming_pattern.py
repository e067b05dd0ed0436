"""A sensitive pattern for streams, and a match of it."""

from dataclasses import dataclass, field

from spakky.agent.checks import require_text
from spakky.agent.error import AgentValueError
from spakky.agent.guards.pattern_program import PatternProgram
from spakky.agent.guards.pattern_scanner import PatternScanner
from spakky.agent.guards.pattern_syntax import PatternRefusedError
from spakky.agent.guards.sensitive import REDACTED_TEXT
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, freeze_object


@dataclass(frozen=True, slots=True)
class StreamingRedactionMatch:
    """Where a pattern matched. The matched text is not kept.

    Attributes:
        pattern_name: The pattern.
        start: The first character's place in the original text, from 0.
        end: The place after the last character.
        metadata: The pattern's metadata.
    """

    pattern_name: str
    start: int
    end: int
    metadata: JsonObject = EMPTY_OBJECT

    def to_payload(self) -> JsonObject:
        """Give the match as a JSON object."""
        return freeze_object(
            {
                "pattern_name": self.pattern_name,
                "start": self.start,
                "end": self.end,
                "metadata": self.metadata,
            }
        )


@dataclass(frozen=True, slots=True)
class StreamingSensitivePattern:
    r"""A regular expression for texts that must not be shown, and what stands in their place.

    The expression has the syntax and the matches of ``re``: characters and sets, groups, choices,
    greedy and lazy repeats, flags, ``\b``, ``\B``, ``\A``, ``\Z``, ``^``, ``(?m)$`` and looks at
    one character behind or ahead. It is run by a machine that reads each character once, in bounded
    time, so that no expression can stall a stream. What cannot be decided while the text is still
    coming is refused: back-references, longer looks, ``$`` without ``(?m)``, atomic and possessive
    constructs, expressions that may match the empty text, and such as begin with any number of any
    characters.

    Attributes:
        name: Names the pattern in audits.
        pattern: The regular expression.
        replacement: What stands in a match's place; used as it is, and never searched itself.
        metadata: Extra data, given on with each match.

    Raises:
        AgentValueError: A blank name, a replacement that is no text, or a refused expression.
    """

    name: str
    pattern: str
    replacement: str = REDACTED_TEXT
    metadata: JsonObject = EMPTY_OBJECT
    program: PatternProgram = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_text(self.name, "StreamingSensitivePattern.name")
        for value, where in ((self.pattern, "pattern"), (self.replacement, "replacement")):
            if not isinstance(value, str):
                kind = type(value).__name__
                message = f"The {where} of StreamingSensitivePattern {self.name!r} must be text, not {kind}."
                raise AgentValueError(message)
        object.__setattr__(self, "metadata", freeze_object(self.metadata))
        try:
            program = PatternProgram(self.pattern)
        except PatternRefusedError as refusal:
            message = f"StreamingSensitivePattern {self.name!r} cannot guard a stream: {refusal}."
            raise AgentValueError(message) from refusal
        object.__setattr__(self, "program", program)

    def redact(self, value: str) -> tuple[str, int]:
        """Give a whole text with the replacement for each match, and the number of matches."""
        parts: list[str] = []
        place = 0
        spans = self._find_spans(value)
        for start, end in spans:
            parts += [value[place:start], self.replacement]
            place = end
        parts.append(value[place:])
        return "".join(parts), len(spans)

    def find_matches(self, value: str) -> tuple[StreamingRedactionMatch, ...]:
        """Give the matches in a whole text: the leftmost one, then the leftmost after it, and so
        on.
        """
        return tuple(self.match_at(start, end) for start, end in self._find_spans(value))

    def match_at(self, start: int, end: int) -> StreamingRedactionMatch:
        """Give the value for a match at a place."""
        return StreamingRedactionMatch(self.name, start, end, self.metadata)

    def _find_spans(self, value: str) -> list[tuple[int, int]]:
        scanner = PatternScanner(self.program)
        scanner.feed(value, 0, len(value), 0, None)
        scanner.close(None, len(value))
        return list(scanner.matches)
