"""The decoder of server-sent events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.plugins.vllm import sse
from spakky.plugins.vllm.sse import ErrorEventData, SseDecoder, SseLimitError


def decode(*chunks: bytes) -> list[bytes]:
    decoder = SseDecoder()
    return [data for chunk in chunks for data in decoder.feed(chunk)] + decoder.finish()


def cut(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a \n\n", [b" a "]),
        (b"data\n\n", [b""]),
        (b"data:\ndata: x\n\n", [b"\nx"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": comment\n\n:\n\ndata: a\n\n", [b"a"]),
        (b"event: message\nid: 7\nretry: 1000\nother: x\nfield\ndata: a\n\n", [b"a"]),
        (b"event: message\n\n", []),
        (b"\n\n\n", []),
        (b"", []),
        (b"data: a", [b"a"]),
        (b"data: a\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: \xef\xbb\xbfa\n\n", [b"\xef\xbb\xbfa"]),
        (b"\n\xef\xbb\xbfdata: lost\n\ndata: a\n\n", [b"a"]),
        (
            "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
            ["a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode()],
        ),
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.requirement("VLLM-3")
def test_events_are_found_with_every_line_end_whole_and_in_single_bytes(
    body: bytes, expected: list[bytes], line_end: bytes
) -> None:
    """OP-A05, OP-A06."""
    written = body.replace(b"\n", line_end)

    assert decode(written) == expected
    assert decode(*cut(written)) == expected


def test_a_line_feed_after_a_carriage_return_is_no_second_line_end() -> None:
    assert decode(b"data: a\r", b"\ndata: b\r", b"", b"\n\r", b"\ndata: c\r\n\r\n") == [
        b"a\nb",
        b"c",
    ]


def test_an_event_that_its_server_calls_an_error_is_marked() -> None:
    events = decode(b"event: error\ndata: x\n\ndata: y\n\nevent: error\n\ndata: z\n\n")

    assert events == [b"x", b"y", b"z"]
    assert [type(item) is ErrorEventData for item in events] == [True, False, False]


def test_a_line_named_error_counts_as_an_event_that_is_an_error() -> None:
    (only,) = decode(b'error: {"message": "no"}\n\n')

    assert type(only) is ErrorEventData
    assert only == b'{"message": "no"}'


def test_an_endless_line_and_an_endless_event_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)

    with pytest.raises(SseLimitError, match="longer than 100 bytes"):
        decode(b"data: ", *[b"x" * 30] * 4)
    with pytest.raises(SseLimitError, match="longer than 100 bytes"):
        decode(b"data:\n" * 101)


def test_events_before_an_endless_one_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    decoder = SseDecoder()

    assert decoder.feed(b"data: a\n\ndata: " + b"x" * 200) == [b"a"]
    with pytest.raises(SseLimitError, match="longer than 100 bytes"):
        decoder.feed(b"x")
    with pytest.raises(SseLimitError, match="longer than 100 bytes"):
        decoder.finish()


@given(
    events=st.lists(st.binary().filter(lambda data: b"\r" not in data and b"\n" not in data)),
    cuts=st.lists(st.integers(0, 400)),
)
def test_what_was_written_is_read_however_it_is_cut(events: list[bytes], cuts: list[int]) -> None:
    body = b"".join(b"data: " + data + b"\n\n" for data in events)
    places = sorted({0, len(body), *(place for place in cuts if place < len(body))})
    chunks = [body[start:end] for start, end in pairwise(places)]

    assert decode(*chunks) == events
