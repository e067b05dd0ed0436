import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spakky.agent.error import AgentValueError
from spakky.agent.guards.stream_audit import BLOCK_SIZE
from spakky.agent.guards.stream_redaction import (
    HoldBack,
    StreamingRedactionAudit,
    StreamingRedactionAuditStatus,
    StreamingRedactionPolicy,
    StreamingRedactionSession,
    StreamingSensitivePattern,
)

KEY = StreamingSensitivePattern("key", "sk-[A-Za-z0-9]{16}")
GROWING_KEY = StreamingSensitivePattern("key", "sk-[A-Za-z0-9]{8,}")
MAIL = StreamingSensitivePattern("mail", r"user-\d+@corp\.io", "[MAIL]")
NUMBER = StreamingSensitivePattern("number", r"\d{6,}", "[NUM]")
BLOCK = StreamingSensitivePattern("pem", r"-----BEGIN KEY-----[\s\S]*?-----END KEY-----", "[PEM]")
PASSED = StreamingRedactionAuditStatus.PASSED


def wrong(value: object) -> Any:
    """Give a value of a type that the checker would refuse."""
    return value


def run_stream(
    policy: StreamingRedactionPolicy, pieces: Iterable[str], *, hold_back: HoldBack = "minimal"
) -> tuple[list[str], StreamingRedactionAudit]:
    """Redact the pieces of a text; give what went out, and the audit."""
    session = StreamingRedactionSession(policy, hold_back=hold_back)
    shown: list[str] = []
    for piece in pieces:
        shown += session.push(piece).chunks
    result = session.finish()
    assert result.audit is not None
    return shown + list(result.chunks), result.audit


def all_single_cuts(text: str) -> list[list[str]]:
    return [[text[:place], text[place:]] for place in range(len(text) + 1)]


def cut_at(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[begin:end] for begin, end in pairwise(places)]


@pytest.mark.requirement("STREAM-1", "STREAM-4")
def test_a_secret_cut_anywhere_is_replaced_and_no_part_of_it_goes_out() -> None:
    text = "key: sk-ABCDEFGH12345678 end."
    secret = "ABCDEFGH12345678"
    with_empty = [part for letter in text for part in (letter, "")]

    for pieces in [[text], list(text), with_empty, *all_single_cuts(text)]:
        shown, audit = run_stream(StreamingRedactionPolicy([KEY]), pieces)

        assert "".join(shown) == "key: [REDACTED] end."
        assert audit.status is PASSED
        assert (audit.detected_count, audit.redacted_count, audit.missed_count) == (1, 1, 0)
        assert not any(secret[place : place + 2] in piece for piece in shown for place in range(15))


@pytest.mark.requirement("STREAM-8")
def test_the_tail_of_a_growing_match_does_not_go_out() -> None:
    pieces = ["sk-ABCDEFGH", "SECRETTAIL1234"]

    shown, audit = run_stream(StreamingRedactionPolicy([GROWING_KEY]), pieces)

    assert shown == ["[REDACTED]"]
    assert audit.status is PASSED


@pytest.mark.requirement("STREAM-3", "STREAM-8")
def test_a_growing_match_longer_than_the_buffer_is_hidden_to_its_end() -> None:
    text = f"a sk-{'x' * 500} b"

    for pieces in ([text], list(text)):
        shown, audit = run_stream(StreamingRedactionPolicy([GROWING_KEY], buffer_size=12), pieces)

        assert "".join(shown) == "a [REDACTED] b"
        assert (audit.detected_count, audit.over_redacted_count) == (1, 0)


@pytest.mark.requirement("STREAM-3")
def test_a_match_that_outgrows_the_buffer_before_it_is_certain_is_swallowed_to_its_end() -> None:
    text = f"see -----BEGIN KEY-----{'k3y' * 100}-----END KEY----- and {'x' * 30}"

    for pieces in ([text], list(text), *all_single_cuts(text)[::20]):
        shown, audit = run_stream(StreamingRedactionPolicy([BLOCK], buffer_size=20), pieces)

        assert "".join(shown) == f"see [PEM] and {'x' * 30}"
        assert (audit.status, audit.over_redacted_count) == (PASSED, 0)


@pytest.mark.requirement("STREAM-3")
def test_what_turns_out_to_be_no_match_after_it_outgrew_the_buffer_stays_hidden_and_is_counted() -> (
    None
):
    text = f"id user-{'7' * 90} end 1 user-{'8' * 90}"
    policy = StreamingRedactionPolicy([MAIL], buffer_size=16)

    for pieces in ([text], list(text)):
        shown, audit = run_stream(policy, pieces)

        assert "".join(shown) == "id [MAIL] end 1 [MAIL]"
        assert (audit.status, audit.detected_count, audit.over_redacted_count) == (PASSED, 0, 2)


def test_a_match_that_ends_with_a_condition_after_it_outgrew_the_buffer_ends_exactly() -> None:
    token = StreamingSensitivePattern("token", r"<[a-z]+\d\b", "[T]")
    policy = StreamingRedactionPolicy([token], buffer_size=4)

    for text, expected in (
        ("a <abcdefgh1 b", "a [T] b"),
        ("a <abcdefgh1", "a [T]"),
        ("<abcdefgh1b c", "[T]b c"),
    ):
        for pieces in ([text], list(text)):
            assert "".join(run_stream(policy, pieces)[0]) == expected


@pytest.mark.requirement("STREAM-3", "STREAM-4")
@pytest.mark.parametrize("hold_back", ["minimal", "buffer"])
def test_no_more_than_the_buffer_is_ever_held_back(hold_back: HoldBack) -> None:
    text = f"see sk-ABC user-{'1' * 40} -----BEGIN KEY----- sk-ABCDEFGH12345678 {'x' * 50}"
    policy = StreamingRedactionPolicy([KEY, MAIL, BLOCK], buffer_size=10)
    session = StreamingRedactionSession(policy, hold_back=hold_back)

    for letter in text:
        session.push(letter)
        waiting = sum(map(len, session._outbox)) + session._redactor.held_count
        assert waiting <= 10


@pytest.mark.requirement("STREAM-1")
def test_text_that_only_began_like_a_secret_comes_out_in_full_at_the_end() -> None:
    for pieces in all_single_cuts("see sk-ABC"):
        shown, audit = run_stream(StreamingRedactionPolicy([KEY]), pieces)

        assert "".join(shown) == "see sk-ABC"
        assert audit.detected_count == 0


@pytest.mark.parametrize("patterns", [[MAIL, NUMBER], [NUMBER, MAIL]])
@pytest.mark.requirement("STREAM-1")
def test_overlapping_matches_are_replaced_once_by_the_one_that_begins_first(
    patterns: list[StreamingSensitivePattern],
) -> None:
    text = "mail user-123456@corp.io ok"

    for pieces in [[text], list(text), *all_single_cuts(text)]:
        shown, audit = run_stream(StreamingRedactionPolicy(patterns), pieces)

        assert "".join(shown) == "mail [MAIL] ok"
        assert (audit.status, audit.detected_count) == (PASSED, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1b", "a[DIGIT]b"),
        ("a12b", "a[DIGIT][DIGIT]b"),
        ("ax1b", "a[X]b"),
        ("ax1x1b", "a[X][X]b"),
        ("a1xb", "a[DIGIT]b"),
    ],
)
def test_matches_that_touch_are_joined_only_between_patterns(text: str, expected: str) -> None:
    patterns = [
        StreamingSensitivePattern("digit", r"\d", "[DIGIT]"),
        StreamingSensitivePattern("x", "x", "[X]"),
    ]

    for pieces in ([text], list(text)):
        assert "".join(run_stream(StreamingRedactionPolicy(patterns), pieces)[0]) == expected


def test_of_matches_that_begin_together_the_longer_one_names_the_replacement() -> None:
    short = StreamingSensitivePattern("short", "ab", "[S]")
    long = StreamingSensitivePattern("long", "abc+", "[L]")

    for patterns in ([short, long], [long, short]):
        policy = StreamingRedactionPolicy(patterns)
        for pieces in (["xabccy"], list("xabccy")):
            assert "".join(run_stream(policy, pieces)[0]) == "x[L]y"
    same = [short, StreamingSensitivePattern("same", "ab", "[T]")]
    assert "".join(run_stream(StreamingRedactionPolicy(same), ["xabx"])[0]) == "x[S]x"


def test_a_contest_between_patterns_is_decided_when_the_buffer_is_full() -> None:
    short = StreamingSensitivePattern("short", "ab", "[S]")
    long = StreamingSensitivePattern("long", "abc{40}", "[L]")
    text = f"ab{'c' * 40} ab{'c' * 20}!"

    for pieces in ([text], list(text)):
        shown, audit = run_stream(StreamingRedactionPolicy([long, short], buffer_size=8), pieces)

        assert "".join(shown) == "[S] [S]!"
        assert audit.status is PASSED


@pytest.mark.requirement("STREAM-1")
def test_a_replacement_that_matches_a_pattern_is_not_redacted_again() -> None:
    patterns = [
        StreamingSensitivePattern("key", "sk-[A-Z]{3}", "123456 sk-AAA"),
        StreamingSensitivePattern("number", r"\d{6}", "[NUM]"),
    ]
    text = "a sk-ABC 999999"

    for pieces in [[text], *all_single_cuts(text)]:
        shown, audit = run_stream(StreamingRedactionPolicy(patterns), pieces)

        assert "".join(shown) == "a 123456 sk-AAA [NUM]"
        assert audit.status is PASSED


def test_conditions_at_the_edges_of_hidden_text_look_at_the_original() -> None:
    patterns = [
        StreamingSensitivePattern("word", r"\bcat\b", "[CAT]"),
        StreamingSensitivePattern("number", r"\d+", "[N]"),
    ]
    text = "1cat cat2 cat 3 cat"

    for pieces in [[text], list(text), *all_single_cuts(text)]:
        shown, audit = run_stream(StreamingRedactionPolicy(patterns), pieces)

        assert "".join(shown) == "[N]cat cat[N] [CAT] [N] [CAT]"
        assert audit.status is PASSED


@pytest.mark.requirement("STREAM-3")
def test_no_chunk_is_longer_than_the_policy_says() -> None:
    policy = StreamingRedactionPolicy([KEY], emit_chunk_size=4)
    text = "a long clean text, key: sk-ABCDEFGH12345678 end."

    for pieces in ([text], list(text)):
        shown, _ = run_stream(policy, pieces)

        assert "".join(shown) == "a long clean text, key: [REDACTED] end."
        assert max(map(len, shown)) <= 4
        assert all(shown)


def test_a_session_that_holds_back_its_buffer_is_always_that_far_behind() -> None:
    session = StreamingRedactionSession(
        StreamingRedactionPolicy([KEY], buffer_size=4), hold_back="buffer"
    )

    assert session.push("abcdefgh").chunks == ("abcd",)
    assert session.push("ij").chunks == ("ef",)
    assert session.push("").chunks == ()
    assert session.finish().chunks == ("ghij",)


def test_clean_text_goes_out_at_once() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([KEY, NUMBER]))

    assert session.push("nothing to hide").chunks == ("nothing to hide",)
    assert session.push("").chunks == ()
    assert session.finish().chunks == ()


def test_a_match_whose_longer_form_outgrew_the_buffer_is_hidden_once() -> None:
    optional = StreamingSensitivePattern("optional", "ab(?:c*d)?", "[AB]")
    text = f"x ab{'c' * 20}! ab{'c' * 20}d!"

    for pieces in ([text], list(text)):
        shown, audit = run_stream(StreamingRedactionPolicy([optional], buffer_size=4), pieces)

        assert "".join(shown) == "x [AB]! [AB]!"
        assert (audit.detected_count, audit.over_redacted_count) == (2, 1)


def test_long_clean_text_is_audited_in_bounded_blocks() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([KEY]))
    for _ in range(1000):
        session.push("only clean words go by here. ")
        assert session._clean_count < BLOCK_SIZE

    audit = session.finish().audit
    assert audit is not None
    assert audit.original_char_count == audit.emitted_char_count == 29_000


def test_a_session_without_patterns_passes_the_text_and_audits_it() -> None:
    shown, audit = run_stream(StreamingRedactionPolicy(()), ["a", "sk-ABCDEFGH12345678"])

    assert shown == ["a", "sk-ABCDEFGH12345678"]
    assert (audit.status, audit.original_char_count) == (PASSED, 20)


def test_long_streams_keep_only_a_bounded_part_of_the_text() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([KEY, NUMBER]))
    for number in range(4000):
        session.push(f"line {number} sk-ABCDEFGH12345678 and 123456789, clean words follow here. ")
        session.push("no match, only clean words that go out at once. ")
        kept = len(session._auditor._window) + session._clean_count + session._redactor.held_count
        assert kept <= 3 * BLOCK_SIZE
        assert len(session._auditor._raw_ranges) <= BLOCK_SIZE

    audit = session.finish().audit
    assert audit is not None
    assert (audit.status, audit.detected_count) == (PASSED, 12_000)


@pytest.mark.requirement("STREAM-9")
def test_a_session_is_used_once() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([KEY]))
    session.finish()

    with pytest.raises(AgentValueError, match="finished"):
        session.push("more")
    with pytest.raises(AgentValueError, match="finished"):
        session.finish()


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: StreamingRedactionPolicy([KEY], buffer_size=0), "buffer_size"),
        (lambda: StreamingRedactionPolicy([KEY], buffer_size=True), "buffer_size"),
        (lambda: StreamingRedactionPolicy([KEY], emit_chunk_size=0), "emit_chunk_size"),
        (lambda: StreamingRedactionPolicy([wrong("sk-")]), "patterns"),
        (lambda: StreamingRedactionPolicy([KEY], failure_mode=wrong("raise")), "failure_mode"),
        (
            lambda: StreamingRedactionSession(
                StreamingRedactionPolicy([KEY]), hold_back=wrong("all")
            ),
            "hold_back",
        ),
        (
            lambda: StreamingRedactionSession(StreamingRedactionPolicy([KEY])).push(wrong(b"x")),
            "bytes",
        ),
    ],
)
@pytest.mark.requirement("STREAM-3")
def test_bad_input_is_refused_by_its_name(build: Callable[[], object], word: str) -> None:
    with pytest.raises(AgentValueError, match=word):
        build()


PATTERN_SETS = [
    ["a|ab", "bc"],
    ["ab(?:c*d)?", "c+"],
    ["(?:ab)+", "ba"],
    [r"\bab\b", "b c"],
    ["sk-[a-c]{2,}", "-[a-d]+!"],
    ["a[ab]*c", "b[bc]*d", "abc"],
    ["aa", "aaa", "aab+"],
    ["[a-c]+!", "b+"],
    ["a.*?d", "c d"],
]


def merge_matches(patterns: list[StreamingSensitivePattern], text: str) -> str:
    """Redact a whole text with ``re``: the union of all matches, each stretch replaced once."""
    found = sorted(
        (match.start(), -match.end(), order)
        for order, pattern in enumerate(patterns)
        for match in re.finditer(pattern.pattern, text)
    )
    shown, place, leader = "", 0, -1
    region_end = -1
    for start, negative_end, order in found:
        if not (start < region_end or (start == region_end and order != leader)):
            shown += text[place:start] + patterns[order].replacement
            leader = order
        region_end = place = max(region_end, -negative_end)
    return shown + text[place:]


@pytest.mark.parametrize("expressions", PATTERN_SETS)
@given(
    data=st.data(),
    text=st.text(alphabet="abcdsk-! ", max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    buffer_size=st.sampled_from([1, 2, 3, 5, 8, 64]),
    hold_back=st.sampled_from(["minimal", "buffer"]),
)
@settings(max_examples=150)
@pytest.mark.requirement("STREAM-1", "STREAM-4")
def test_the_output_depends_on_the_text_and_not_on_its_cuts(
    expressions: list[str],
    data: st.DataObject,
    text: str,
    cuts: list[int],
    buffer_size: int,
    hold_back: HoldBack,
) -> None:
    order = data.draw(st.permutations(range(len(expressions))))
    patterns = [StreamingSensitivePattern(f"p{i}", expressions[i], f"[{i}]") for i in order]
    policy = StreamingRedactionPolicy(patterns, buffer_size=buffer_size)

    whole, whole_audit = run_stream(policy, [text])
    cut, cut_audit = run_stream(policy, cut_at(text, cuts), hold_back=hold_back)
    single, single_audit = run_stream(policy, text)

    assert "".join(whole) == "".join(cut) == "".join(single)
    assert whole_audit == cut_audit == single_audit
    assert whole_audit.status is PASSED
    if buffer_size == 64:
        assert "".join(whole) == merge_matches(patterns, text)
        assert whole_audit.over_redacted_count == 0
