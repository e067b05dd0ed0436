"""Replaces the matches of several patterns in a text that arrives in pieces.

Matches are those of the original text. A match that overlaps one of another pattern, or touches it,
is joined with it, and the replacement of the one that begins first stands for both; of two that
begin together it is the longer one's, then the one's whose pattern comes first.

Text is held back only where a match may still be open, and never more than ``buffer_size``
characters. When an open beginning outgrows that, nothing raw goes out: the replacement does, and
the text is swallowed until the match has ended. If it then turns out to be no match, too much was
hidden; this is counted. All decisions depend on the text alone, not on how it was cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spakky.agent.guards.pattern_program import MAX_PREFIX_LENGTH
from spakky.agent.guards.pattern_scanner import PatternScanner
from spakky.agent.guards.streaming_pattern import StreamingSensitivePattern


@dataclass(slots=True)
class OutputPiece:
    """A piece of what goes out. Made for each piece of a stream: treat as read-only.

    Attributes:
        text: What goes out.
        start: Where in the original text it begins.
        is_replacement: Whether it stands for something hidden.
    """

    text: str
    start: int
    is_replacement: bool


def prefix_length_for(buffer_size: int) -> int:
    """Give how far a scan may look ahead for a beginning when so many characters are held back."""
    return min(MAX_PREFIX_LENGTH, buffer_size + 1)


class StreamRedactor:
    """The redaction of one stream.

    Args:
        patterns: What to hide.
        buffer_size: How many characters may be held back; at least 1.

    Attributes:
        over_redacted_count: How many beginnings outgrew the buffer and then were no match.
    """

    def __init__(self, patterns: Sequence[StreamingSensitivePattern], buffer_size: int) -> None:
        self._patterns = tuple(patterns)
        # A scan looks ahead no further than an overflow allows: else what overflows would depend on
        # how the text was cut.
        length = prefix_length_for(buffer_size)
        self._scanners = tuple(
            PatternScanner(pattern.program, prefix_length=length) for pattern in self._patterns
        )
        self._buffer_size = buffer_size
        self._position = 0
        # Everything before this place has gone out or was hidden; ``_held`` is the text after it.
        self._done = 0
        self._held = ""
        self._last: str | None = None
        self._region_end = -1
        self._region_pattern = -1
        self._swallower: PatternScanner | None = None
        self._swallow_start = 0
        self._pieces: list[OutputPiece] = []
        self.over_redacted_count = 0

    @property
    def held_count(self) -> int:
        """How many characters are held back."""
        return len(self._held)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held back and nothing is open."""
        return not self._held and not any(
            scanner.starts or scanner.matches for scanner in self._scanners
        )

    def skip(self, count: int, last: str) -> None:
        """Note text in which nothing begins and that went out unseen; only while idle.

        Args:
            count: How many characters.
            last: The last of them.
        """
        self._position += count
        self._done = self._position
        self._last = last

    def read(self, chunk: str) -> list[OutputPiece]:
        """Read the next piece of the text and give what may go out."""
        place, size = 0, len(chunk)
        while place < size:
            room = 1 if self._swallower is not None else self._buffer_size + 1 - len(self._held)
            end = min(place + room, size)
            for scanner in self._scanners:
                scanner.feed(chunk, place, end, self._position, self._last)
            self._held += chunk[place:end]
            self._position += end - place
            self._last = chunk[end - 1]
            place = end
            self._settle()
        return self._take_pieces()

    def close(self) -> list[OutputPiece]:
        """End the text and give the rest of what goes out."""
        for scanner in self._scanners:
            scanner.close(None, self._position)
        self._settle()
        return self._take_pieces()

    def _take_pieces(self) -> list[OutputPiece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _settle(self) -> None:
        if self._swallower is not None:
            self._swallow(self._swallower)
        if self._swallower is None:
            self._commit()
        while self._swallower is None and len(self._held) > self._buffer_size:
            self._overflow()

    def _commit(self) -> None:
        """Let out and hide all that is certain."""
        open_from = self._open_from()
        found = self._first_match()
        while found is not None and self._start_of(found) <= open_from:
            if self._is_contested(found):
                self._show(self._start_of(found))
                return
            if not self._hide_match(found):
                return
            found = self._first_match()
        self._show(open_from)

    def _open_from(self) -> int:
        """Give where the first beginning lies that may become a match or a longer one."""
        first = self._position
        for scanner in self._scanners:
            if scanner.starts and scanner.starts[0] < first:
                first = scanner.starts[0]
        return first

    def _first_match(self) -> int | None:
        """Give the scanner whose first match begins first; of several the longest, then the first."""
        best: int | None = None
        best_key = (0, 0)
        for index, scanner in enumerate(self._scanners):
            if scanner.matches:
                start, end = scanner.matches[0]
                if best is None or (start, -end) < best_key:
                    best, best_key = index, (start, -end)
        return best

    def _start_of(self, index: int) -> int:
        return self._scanners[index].matches[0][0]

    def _is_contested(self, index: int) -> bool:
        """Tell whether it is open which of several patterns that begin together is the longest."""
        start = self._start_of(index)
        contenders = [
            scanner
            for scanner in self._scanners
            if (scanner.starts and scanner.starts[0] == start)
            or (scanner.matches and scanner.matches[0][0] == start)
        ]
        is_open = any(scanner.starts and scanner.starts[0] == start for scanner in contenders)
        return is_open and len(contenders) > 1

    def _hide_match(self, index: int) -> bool:
        """Hide a scanner's first match; tell whether it was final and is taken away."""
        scanner = self._scanners[index]
        start, end = scanner.matches[0]
        self._hide(start, end, index)
        if scanner.has_final:
            scanner.matches.popleft()
            return True
        return False

    def _overflow(self) -> None:
        """Make room when too much is held back: hide from the first beginning on."""
        found = self._first_match()
        start = self._open_from()
        if found is not None and self._start_of(found) <= start:
            held = len(self._held)
            self._hide_match(found)
            if len(self._held) < held:
                self._commit()
                return
        index = next(
            place
            for place, scanner in enumerate(self._scanners)
            if scanner.starts and scanner.starts[0] == start
        )
        self._hide(start, self._position, index)
        self._swallower = self._scanners[index]
        self._swallow_start = start

    def _swallow(self, scanner: PatternScanner) -> None:
        """Decide about the one character that was read since the last decision."""
        start = self._swallow_start
        match_start, match_end = scanner.matches[0] if scanner.matches else (-1, -1)
        # An older match of this beginning, which outgrew the buffer, ended before ``_done``.
        if match_start == start and match_end >= self._done:
            self._swallower = None
        elif scanner.starts and scanner.starts[0] == start:
            self._region_end = self._position
            self._advance(self._position)
        else:
            self._swallower = None
            self.over_redacted_count += 1

    def _show(self, end: int) -> None:
        if end > self._done:
            text = self._held[: end - self._done]
            self._pieces.append(OutputPiece(text, self._done, is_replacement=False))
            self._advance(end)

    def _hide(self, start: int, end: int, index: int) -> None:
        self._show(start)
        touches = start == self._region_end and index != self._region_pattern
        if start >= self._region_end and not touches:
            text = self._patterns[index].replacement
            self._pieces.append(OutputPiece(text, start, is_replacement=True))
            self._region_pattern = index
        self._region_end = max(self._region_end, end)
        self._advance(end)

    def _advance(self, end: int) -> None:
        if end > self._done:
            self._held = self._held[end - self._done :]
            self._done = end
