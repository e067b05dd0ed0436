"""The audit of a redacted stream: what matched in the original, against what went out.

It keeps places, never text, and only those that are not decided yet. It does not trust the
redaction: it looks for the matches in the original itself, and it also searches what went out.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spakky.agent.error import AgentOutputGuardError
from spakky.agent.guards.pattern_scanner import PatternScanner
from spakky.agent.guards.redact import merge_spans
from spakky.agent.guards.stream_redactor import OutputPiece
from spakky.agent.guards.streaming_pattern import StreamingRedactionMatch, StreamingSensitivePattern
from spakky.agent.json_value import JsonObject, freeze_object

BLOCK_SIZE = 4096
"""How many characters are looked at together."""

MAX_WINDOW = 4 * BLOCK_SIZE
"""How much of the original is kept at most, to compare it with what went out later."""


class StreamingRedactionAuditStatus(StrEnum):
    """Whether everything that matched was hidden."""

    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StreamingRedactionAudit:
    """What the audit of one stream found. It holds places and counts, never a piece of the text.

    Attributes:
        status: FAILED when a match got out, whole or in part.
        detected_count: How many matches the original text had.
        redacted_count: How many of them were hidden entirely.
        missed_matches: Those of which something got out.
        buffer_size: How many characters could be held back.
        emitted_char_count: How many characters went out, replacements included.
        original_char_count: How many characters the original had.
        over_redacted_count: How often text was hidden because a match that outgrew the buffer might
            have begun, and then was none. A larger buffer makes this rarer.
    """

    status: StreamingRedactionAuditStatus
    detected_count: int
    redacted_count: int
    missed_matches: tuple[StreamingRedactionMatch, ...]
    buffer_size: int
    emitted_char_count: int
    original_char_count: int
    over_redacted_count: int = 0

    @property
    def missed_count(self) -> int:
        """How many matches got out, whole or in part."""
        return len(self.missed_matches)

    def to_evidence_payload(self) -> JsonObject:
        """Give the audit as the payload of evidence."""
        return freeze_object(
            {
                "status": self.status.value,
                "detected_count": self.detected_count,
                "redacted_count": self.redacted_count,
                "missed_count": self.missed_count,
                "missed_matches": [match.to_payload() for match in self.missed_matches],
                "buffer_size": self.buffer_size,
                "emitted_char_count": self.emitted_char_count,
                "original_char_count": self.original_char_count,
                "over_redacted_count": self.over_redacted_count,
            }
        )

    def to_error_payload(self) -> JsonObject:
        """Give the audit as an error: code, message, whether to try again, and the audit itself."""
        return freeze_object(
            {
                "code": AgentOutputGuardError.code,
                "message": self.describe_failure(),
                "retryable": False,
                "metadata": self.to_evidence_payload(),
            }
        )

    def describe_failure(self) -> str:
        """Say for people what got out, by the names of the patterns."""
        names = ", ".join(sorted({repr(match.pattern_name) for match in self.missed_matches}))
        return (
            f"{self.missed_count} sensitive match(es) of {names or 'no pattern'} got past the "
            "redaction of a stream; check the patterns and treat what was shown as disclosed."
        )


class StreamAuditor:
    """Follows one stream on both sides of its redaction.

    The text is looked at in blocks, which costs far less than in small pieces; a block and what the
    redaction holds back is all that is kept of it.

    Args:
        patterns: What had to be hidden.
        buffer_size: How many characters could be held back.
    """

    def __init__(self, patterns: Sequence[StreamingSensitivePattern], buffer_size: int) -> None:
        self._patterns = tuple(patterns)
        self._buffer_size = buffer_size
        self._replacements = frozenset(pattern.replacement for pattern in self._patterns)
        self._originals = tuple(PatternScanner(pattern.program) for pattern in self._patterns)
        self._strays = tuple(PatternScanner(pattern.program) for pattern in self._patterns)
        self._stray_end = -1
        self._stray_last: str | None = None
        self._chunks: list[str] = []
        self._pieces: list[OutputPiece] = []
        self._waiting_count = 0
        self._window = ""
        self._window_start = 0
        self._emitted_count = 0
        self._settled_to = 0
        self._raw_ranges: list[tuple[int, int]] = []
        self._undecided: list[tuple[int, int, int]] = []
        self._detected_count = 0
        self._missed: dict[tuple[int, int, int], None] = {}

    def see(self, chunk: str, pieces: Sequence[OutputPiece]) -> None:
        """Note the next piece of the original text, and what went out after it."""
        self._chunks.append(chunk)
        self._pieces += pieces
        self._waiting_count += len(chunk)
        if self._waiting_count >= BLOCK_SIZE:
            self._look()

    def close(self, *, over_redacted_count: int = 0) -> StreamingRedactionAudit:
        """End the stream and give the audit.

        Args:
            over_redacted_count: How often the redaction hid more than a match.
        """
        self._look()
        original_count = self._window_start + len(self._window)
        for scanner in self._originals:
            scanner.close(None, original_count)
        self._end_stray()
        self._settled_to = original_count
        self._decide()
        missed = tuple(
            self._patterns[index].match_at(start, end) for start, end, index in sorted(self._missed)
        )
        failed = StreamingRedactionAuditStatus.FAILED
        return StreamingRedactionAudit(
            status=failed if missed else StreamingRedactionAuditStatus.PASSED,
            detected_count=self._detected_count,
            redacted_count=max(0, self._detected_count - len(missed)),
            missed_matches=missed,
            buffer_size=self._buffer_size,
            emitted_char_count=self._emitted_count,
            original_char_count=original_count,
            over_redacted_count=over_redacted_count,
        )

    def _look(self) -> None:
        """Look at the block that has come together."""
        block = "".join(self._chunks)
        position = self._window_start + len(self._window)
        before = self._window[-1] if self._window else None
        for scanner in self._originals:
            scanner.feed(block, 0, len(block), position, before)
        self._window += block
        for piece in self._pieces:
            self._look_at_piece(piece)
        self._decide()
        # The last character stays, since a condition may look back at it.
        dropped = max(0, min(self._settled_to - self._window_start, len(self._window) - 1))
        self._window = self._window[max(dropped, len(self._window) - MAX_WINDOW) :]
        self._window_start = position + len(block) - len(self._window)
        self._chunks.clear()
        self._pieces.clear()
        self._waiting_count = 0

    def _look_at_piece(self, piece: OutputPiece) -> None:
        self._emitted_count += len(piece.text)
        # What calls itself a replacement is one only when its text is.
        if piece.is_replacement and piece.text in self._replacements:
            self._end_stray()
            self._settled_to = max(self._settled_to, piece.start)
            return
        end = piece.start + len(piece.text)
        place = piece.start - self._window_start
        if place >= 0 and self._window.startswith(piece.text, place):
            self._end_stray()
        else:
            self._look_at_stray(piece)
        if self._raw_ranges and self._raw_ranges[-1][1] == piece.start:
            self._raw_ranges[-1] = (self._raw_ranges[-1][0], end)
        else:
            self._raw_ranges.append((piece.start, end))
        self._settled_to = max(self._settled_to, end)

    def _look_at_stray(self, piece: OutputPiece) -> None:
        """Search a text that went out and is not the original at its place."""
        for scanner in self._strays:
            scanner.feed(piece.text, 0, len(piece.text), piece.start, self._stray_last)
        self._stray_last = piece.text[-1:] or self._stray_last
        self._stray_end = piece.start + len(piece.text)

    def _end_stray(self) -> None:
        if self._stray_end < 0:
            return
        for index, scanner in enumerate(self._strays):
            scanner.close(None, self._stray_end)
            for start, end in scanner.matches:
                self._missed[start, end, index] = None
            scanner.matches.clear()
        self._stray_end, self._stray_last = -1, None

    def _decide(self) -> None:
        """Decide about the matches of the original whose text has gone out or was hidden."""
        open_from = self._settled_to
        for index, scanner in enumerate(self._originals):
            while scanner.has_final:
                start, end = scanner.matches.popleft()
                self._undecided.append((start, end, index))
                self._detected_count += 1
            open_from = scanner.first_open(open_from)
        waiting: list[tuple[int, int, int]] = []
        ranges = merge_spans(self._raw_ranges)
        for match in self._undecided:
            start, end, _ = match
            place = bisect_left(ranges, (end, end)) - 1
            if place >= 0 and ranges[place][1] > start:
                self._missed[match] = None
            elif end > self._settled_to:
                waiting.append(match)
                open_from = min(open_from, start)
        self._undecided = waiting
        self._raw_ranges = [span for span in ranges if span[1] > open_from]
