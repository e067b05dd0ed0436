"""Edges of the guards, one by one: numbers, places and shapes at which a guard could go wrong by one."""

import json
import re
from dataclasses import FrozenInstanceError, replace

import pytest

from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import ContextExposurePolicy, EvidenceExposurePolicy
from spakky.agent.guards.field_paths import path_reaches_value
from spakky.agent.guards.pattern_program import PatternProgram
from spakky.agent.guards.pattern_scanner import PatternScanner
from spakky.agent.guards.pattern_syntax import combine_flags
from spakky.agent.guards.redact import redact_text, sensitive_values
from spakky.agent.guards.sensitive import (
    CredentialRef,
    MaskingPolicy,
    SecretField,
    SecretRef,
    SensitiveFieldDescriptor,
    mask_text,
)
from spakky.agent.guards.stream_audit import BLOCK_SIZE, StreamAuditor
from spakky.agent.guards.stream_redaction import (
    DEFAULT_BUFFER_SIZE,
    StreamingRedactionPolicy,
    StreamingRedactionSession,
)
from spakky.agent.guards.stream_redactor import OutputPiece
from spakky.agent.guards.streaming_pattern import StreamingSensitivePattern
from spakky.agent.json_value import JsonValue

PIN = (SensitiveFieldDescriptor(("pin",), SecretField()),)


# ---------------------------------------------------------------- fields and texts


@pytest.mark.requirement("SAFE-9")
@pytest.mark.parametrize("depth", [1, 2, 31, 32])
def test_only_the_marked_values_are_collected_inside_lists(depth: int) -> None:
    value: JsonValue = {"pin": "1234", "name": "kim"}
    for _ in range(depth):
        value = [value]
    assert sensitive_values(value, PIN) == ("1234",)


@pytest.mark.requirement("SAFE-9")
@pytest.mark.parametrize("depth", [33, 34, 70])
def test_everything_is_collected_below_many_lists(depth: int) -> None:
    value: JsonValue = {"pin": "1234", "name": "kim"}
    for _ in range(depth):
        value = [value]
    assert sensitive_values(value, PIN) == ("1234", "name", "kim", "pin")


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("secret", ['é"x', "é\\n", "ü\n'\"", "plain"])
def test_a_value_is_found_as_json_writes_it(secret: str, ensure_ascii: bool) -> None:
    text = json.dumps({"a": f"<{secret}>"}, ensure_ascii=ensure_ascii)
    assert redact_text(text, [secret]).endswith('"<[REDACTED]>"}')


@pytest.mark.parametrize(
    ("value", "path", "reaches"),
    [
        ({}, ("*", "a"), True),
        ({}, ("a", "*"), False),
        ([], ("*", "a"), True),
        ({"a": {}}, ("a", "*", "b"), True),
        ({"a": {}}, ("a", "b", "*"), False),
        ({"a": {}, "b": {"c": 1}}, ("*", "c"), True),
    ],
)
def test_an_empty_container_fits_only_a_step_for_any_key(
    value: JsonValue, path: tuple[str, ...], reaches: bool
) -> None:
    assert path_reaches_value(value, path) is reaches


@pytest.mark.parametrize(
    ("text", "last_four", "first_last"),
    [
        ("", "****", "****"),
        ("a", "****", "****"),
        ("abc", "****c", "****"),
        ("abcd", "****cd", "a****d"),
        ("abcdefg", "****efg", "a****g"),
        ("abcdefgh", "****efgh", "a****h"),
        ("abcdefghijkl", "****ijkl", "a****l"),
    ],
)
def test_a_mask_shows_at_most_four_or_two_characters_of_a_text(
    text: str, last_four: str, first_last: str
) -> None:
    assert mask_text(text, MaskingPolicy.LAST_FOUR) == last_four
    assert mask_text(text, MaskingPolicy.FIRST_LAST) == first_last


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("flags", "added", "removed", "combined"),
    [
        (re.UNICODE, re.ASCII, 0, re.ASCII),
        (re.ASCII, re.UNICODE, 0, re.UNICODE),
        (re.ASCII, re.ASCII, 0, re.ASCII),
        (re.UNICODE | re.IGNORECASE, re.ASCII, 0, re.ASCII | re.IGNORECASE),
        (re.ASCII | re.IGNORECASE, re.DOTALL, 0, re.ASCII | re.IGNORECASE | re.DOTALL),
        (re.ASCII | re.IGNORECASE, 0, re.IGNORECASE, re.ASCII),
        (re.IGNORECASE | re.DOTALL, re.MULTILINE, re.DOTALL, re.IGNORECASE | re.MULTILINE),
        (0, re.IGNORECASE, 0, re.IGNORECASE),
        (re.UNICODE, 0, 0, re.UNICODE),
    ],
)
def test_flags_of_a_group_are_added_taken_away_or_put_in_the_place_of_another(
    flags: int, added: int, removed: int, combined: int
) -> None:
    assert combine_flags(flags, added, removed) == combined


@pytest.mark.parametrize(
    "expression", [r"x(?=(?:a|\Z)b)", r"(?<=(?:a|b)c)x", r"x(?!ab)", r"x(?=a|bc)"]
)
def test_a_look_at_more_than_one_character_is_refused(expression: str) -> None:
    with pytest.raises(AgentValueError, match="one character"):
        StreamingSensitivePattern("key", expression)


@pytest.mark.parametrize(
    "repeats", ["{1,3}", "{2,5}", "{3,6}", "{5}", "{0,2}", "{4,}", "?", "*", "+"]
)
@pytest.mark.parametrize("count", [1, 2, 5, 9, 20])
def test_repeats_are_bounded_as_in_re(repeats: str, count: int) -> None:
    expression, text = f"x(?:ab){repeats}", "x" + "ab" * count + "."
    scanner = PatternScanner(PatternProgram(expression))
    for place, character in enumerate(text):
        before = text[place - 1] if place else None
        scanner.feed(character, 0, 1, place, before)
    scanner.close(None, len(text))
    assert list(scanner.matches) == [match.span() for match in re.finditer(expression, text)]


def test_a_match_is_final_once_nothing_at_or_before_its_start_is_open() -> None:
    scanner = PatternScanner(PatternProgram("ab+"))
    assert not scanner.has_final
    scanner.matches.append((4, 7))
    for starts, final in (([], True), ([5, 9], True), ([4, 9], False), ([3, 9], False)):
        scanner.starts[:] = starts
        assert scanner.has_final is final


def test_the_first_thing_that_is_open_may_be_a_match_a_beginning_or_neither() -> None:
    scanner = PatternScanner(PatternProgram("ab+"))
    assert scanner.first_open(9) == 9
    scanner.starts[:] = [5, 6]
    assert scanner.first_open(9) == 5
    assert scanner.first_open(3) == 3
    scanner.matches.append((4, 7))
    assert scanner.first_open(9) == 4
    scanner.starts.clear()
    assert scanner.first_open(9) == 4
    assert scanner.first_open(2) == 2


# ---------------------------------------------------------------- the audit


def raw(text: str, start: int) -> OutputPiece:
    return OutputPiece(text, start, is_replacement=False)


def hidden(start: int) -> OutputPiece:
    return OutputPiece("[REDACTED]", start, is_replacement=True)


def missed(auditor: StreamAuditor) -> list[tuple[int, int]]:
    return [(match.start, match.end) for match in auditor.close().missed_matches]


def auditor_of(expression: str, buffer_size: int = 64) -> StreamAuditor:
    return StreamAuditor([StreamingSensitivePattern("key", expression)], buffer_size)


@pytest.mark.requirement("STREAM-9")
@pytest.mark.parametrize("leaks", [0, 1, 2, 3])
def test_a_leak_between_matches_that_were_hidden_is_found(leaks: int) -> None:
    auditor = auditor_of("k[0-9]")
    text = "a k0 b k1 c k2 d k3 e"
    pieces: list[OutputPiece] = []
    for number, part in enumerate(re.split("(k[0-9])", text)):
        start = text.index(part, sum(len(piece) for piece in re.split("(k[0-9])", text)[:number]))
        is_key = number % 2 == 1
        pieces.append(hidden(start) if is_key and number // 2 != leaks else raw(part, start))
    auditor.see(text, pieces)
    start = text.index(f"k{leaks}")
    assert missed(auditor) == [(start, start + 2)]


@pytest.mark.requirement("STREAM-9")
def test_a_match_of_one_character_at_the_very_beginning_is_waited_for() -> None:
    auditor = auditor_of("x")
    auditor.see("x" + "c" * BLOCK_SIZE, [])
    auditor.see("", [raw("x", 0)])
    assert missed(auditor) == [(0, 1)]


@pytest.mark.requirement("STREAM-9")
@pytest.mark.parametrize("start", [0, 4, 5, 300])
@pytest.mark.parametrize("expression", ["ab+", r"ab+\b", r"ab+(?!b)", r"ab+\Z"])
def test_a_text_of_unknown_origin_is_searched_with_its_own_places(
    start: int, expression: str
) -> None:
    auditor = auditor_of(expression)
    auditor.see("", [raw("abb", start)])
    assert missed(auditor) == [(start, start + 3)]


@pytest.mark.requirement("STREAM-9")
def test_a_condition_looks_back_at_one_character_of_a_text_of_unknown_origin() -> None:
    auditor = auditor_of("(?<=a)bc")
    auditor.see("", [raw("xa", 0), raw("", 2), raw("bc", 2)])
    assert missed(auditor) == [(2, 4)]


@pytest.mark.requirement("STREAM-9")
@pytest.mark.parametrize("gap", [0, 1, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1])
def test_a_leak_is_found_wherever_the_blocks_of_the_audit_end(gap: int) -> None:
    auditor = auditor_of(r"\bsk-[a-z]{4}\b")
    text = "c" * gap + " sk-abcd "
    for place, character in enumerate(text):
        auditor.see(character, [raw(character, place)])
    assert missed(auditor) == [(gap + 1, gap + 8)]


# ---------------------------------------------------------------- the session

GROWING = StreamingSensitivePattern("key", "sk-[a-z]{4,}")


@pytest.mark.requirement("STREAM-1")
def test_what_is_held_back_for_a_match_counts_as_part_of_what_is_kept() -> None:
    session = StreamingRedactionSession(
        StreamingRedactionPolicy([GROWING], buffer_size=8), hold_back="buffer"
    )
    shown = ""
    for count, character in enumerate("some text sk-ab and sk-abcdef.", 1):
        shown += "".join(session.push(character).chunks)
        if count <= 19:
            assert len(shown) == max(0, count - 8)
    rest = "".join(session.finish().chunks)
    assert shown + rest == "some text sk-ab and [REDACTED]."


@pytest.mark.requirement("STREAM-1")
def test_a_match_that_may_only_grow_is_replaced_as_soon_as_it_is_one() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([GROWING]))
    assert session.push("sk-abc").chunks == ()
    assert session.push("d").chunks == ("[REDACTED]",)
    assert session.push("ef").chunks == ()
    assert session.push(".").chunks == (".",)


@pytest.mark.requirement("STREAM-1")
@pytest.mark.parametrize("lead", [0, 1, 300])
def test_a_contest_is_settled_alike_wherever_in_the_text_it_is_held(lead: int) -> None:
    short = StreamingSensitivePattern("short", "ab", "[SHORT]")
    long = StreamingSensitivePattern("long", "abcd", "[LONG]")
    for text, told in (("abcd", "[LONG]"), ("abce", "[SHORT]ce"), ("abab", "[SHORT][SHORT]")):
        session = StreamingRedactionSession(StreamingRedactionPolicy([short, long]))
        pieces = ["x" * lead, *text, "."]
        shown = [chunk for piece in pieces for chunk in session.push(piece).chunks]
        result = session.finish()
        assert "".join([*shown, *result.chunks]) == "x" * lead + told + "."
        assert result.audit is not None
        assert result.audit.missed_count == 0
        assert result.audit.over_redacted_count == 0


# ---------------------------------------------------------------- anchors and defaults


@pytest.mark.parametrize("expression", ["(?m)^ab$", r"(?m)\Aab", "^ab", r"ab\Z", r"(?m)ab\Z"])
@pytest.mark.parametrize("text", ["ab", "\nab\n", "\tab", "c\nab\nab", "ab\nc", "xab", "ab\n"])
def test_anchors_hold_where_those_of_re_do(expression: str, text: str) -> None:
    scanner = PatternScanner(PatternProgram(expression))
    for place, character in enumerate(text):
        scanner.feed(character, 0, 1, place, text[place - 1] if place else None)
    scanner.close(None, len(text))
    assert list(scanner.matches) == [match.span() for match in re.finditer(expression, text)]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("aaab|ab", "aab"),
        ("aaab|ab", "aaaab ab"),
        (r"aaab|ab\Z", "aab"),
        (r"aab\b|b\b", "ab"),
        (r"aabc|ab\b", "aab"),
    ],
)
def test_a_later_beginning_matches_when_an_earlier_one_fails(expression: str, text: str) -> None:
    scanner = PatternScanner(PatternProgram(expression))
    scanner.feed(text, 0, len(text), 0, None)
    scanner.close(None, len(text))
    assert list(scanner.matches) == [match.span() for match in re.finditer(expression, text)]


def test_the_defaults_of_policies_show_no_metadata_of_schemas_and_keep_that_of_evidence() -> None:
    assert ContextExposurePolicy().include_sensitive_schema_metadata is False
    assert EvidenceExposurePolicy().include_sensitive_metadata is True
    assert DEFAULT_BUFFER_SIZE == 64
    audit = StreamAuditor([], 1).close()
    assert audit == replace(audit, over_redacted_count=0)


@pytest.mark.parametrize(
    "value",
    [
        ContextExposurePolicy(),
        EvidenceExposurePolicy(),
        SecretField(),
        SecretRef("a"),
        CredentialRef("a"),
        PIN[0],
        StreamingRedactionPolicy(()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_guard_relies_on_cannot_be_changed(value: object) -> None:
    name = next(iter(value.__dataclass_fields__))  # type: ignore[attr-defined]  # all are dataclasses
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)
