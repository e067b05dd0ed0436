"""Server-sent events: a decoder from bytes, cut at any place, to the data of each event.

The decoder works on bytes because the text inside an event may hold any character: only CR, LF and CRLF end a line, while a
text iterator would also cut at U+2028, U+0085 and other line breaks of Unicode. What it does:

- a byte order mark at the very beginning is dropped;
- a line that begins with a colon is a comment and is skipped;
- ``data`` lines of one event are joined with LF; one space after the colon is not part of the value;
- ``event: error`` marks the event as a failure (``ErrorEventData``), and so does a line ``error: ...``, which some servers
  write in place of an event; every other field is skipped;
- a blank line ends the event; an event without data is not given out;
- the end of the body ends the last event too, because some servers write no blank line there.
"""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Longest event that is held in memory; a server that sends more is broken."""


class ErrorEventData(bytes):
    """The data of an event that the server itself names an error."""


class SseLimitError(ValueError):
    """An event is longer than ``MAX_EVENT_BYTES``."""


class SseDecoder:
    """Turns the chunks of one body into the data of its events.

    One decoder serves one body. ``feed`` takes the chunks in order, ``finish`` is called once at the end.
    """

    __slots__ = (
        "_between_events",
        "_data",
        "_data_bytes",
        "_error_event",
        "_first_line",
        "_held",
        "_held_bytes",
        "_overlong",
        "_skip_line_feed",
    )

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._error_event = False
        self._first_line = True
        self._skip_line_feed = False
        self._between_events = False
        self._overlong = ""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Give the data of every event that this chunk completes, in order.

        Args:
            chunk: The next bytes of the body; may be empty.

        Raises:
            SseLimitError: The chunk before made an event longer than the limit. The events that were whole by then were given.
        """
        if (
            self._between_events
            and chunk.startswith(b"data: ")
            and chunk.endswith(b"\n\n")
            and chunk.count(b"\n") == 2
            and b"\r" not in chunk
        ):
            # One whole event of one line in one chunk: what nearly every server writes for nearly every delta.
            return [chunk[6:-2]]
        self._between_events = False
        self._check_limit()
        return self._feed_lines(chunk)

    def _feed_lines(self, chunk: bytes) -> list[bytes]:
        if self._skip_line_feed and chunk:
            self._skip_line_feed = False
            if chunk[0] == 0x0A:
                chunk = chunk[1:]
        if b"\r" in chunk:
            # A CR at the very end ends its line now; a LF that opens the next chunk then belongs to it.
            self._skip_line_feed = chunk[-1] == 0x0D
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            self._hold(chunk)
            return []
        if self._held:
            chunk = b"".join((*self._held, chunk))
            self._held.clear()
        lines = chunk.split(b"\n")
        rest = lines.pop()
        self._held_bytes = 0
        events: list[bytes] = []
        for line in lines:
            if line:
                self._take_line(line)
            elif self._data:
                events.append(self._end_event())
            else:
                self._error_event = False
                self._first_line = False
        self._hold(rest)
        self._between_events = not (
            rest or self._data or self._error_event or self._skip_line_feed or self._overlong
        )
        return events

    def finish(self) -> list[bytes]:
        """End the body: give the last event, where the server left out the blank line after it.

        Raises:
            SseLimitError: An event is longer than the limit.
        """
        if self._held:
            line = b"".join(self._held)
            self._held.clear()
            self._take_line(line)
        self._check_limit()
        return [self._end_event()] if self._data else []

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._held.append(part)
        self._held_bytes += len(part)
        if self._held_bytes > MAX_EVENT_BYTES:
            self._overlong = f"A line of the event stream is longer than {MAX_EVENT_BYTES} bytes."

    def _end_event(self) -> bytes:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        self._data_bytes = 0
        if self._error_event:
            self._error_event = False
            return ErrorEventData(data)
        return data

    def _take_line(self, line: bytes) -> None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(BYTE_ORDER_MARK)
        if line.startswith(b"data:"):
            self._add_data(line[6:] if line[5:6] == b" " else line[5:])
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._add_data(b"")
        elif name == b"event":
            self._error_event = value.strip() == b"error"
        elif name == b"error":
            self._error_event = True
            self._add_data(value.removeprefix(b" "))

    def _add_data(self, value: bytes) -> None:
        self._data.append(value)
        # One more for each line, so that an endless row of empty lines meets the limit as well.
        self._data_bytes += len(value) + 1
        if self._data_bytes > MAX_EVENT_BYTES:
            self._overlong = f"An event of the stream is longer than {MAX_EVENT_BYTES} bytes."

    def _check_limit(self) -> None:
        if self._overlong:
            raise SseLimitError(self._overlong)
