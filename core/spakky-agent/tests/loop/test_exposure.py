"""How texts leave a run in each exposure mode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.evidence import AgentEvidenceKind
from spakky.agent.contracts.execution import StreamingExposureMode
from spakky.agent.guards.stream_redaction import (
    StreamingRedactionPolicy,
    StreamingSensitivePattern,
)
from spakky.agent.json_value import JsonObject
from spakky.agent.loop.exposure import Exposure, TextChannel

POLICY = StreamingRedactionPolicy([StreamingSensitivePattern("key", r"sk-[0-9]{4}")])
MODE = StreamingExposureMode
pieces = st.lists(st.text(" sk-0123", max_size=6), max_size=8)


def feed(channel: TextChannel, parts: list[str]) -> tuple[list[str], list[str]]:
    live = [chunk for part in parts for chunk in channel.push(part)]
    return live, list(channel.finish())


@pytest.mark.parametrize("mode", list(MODE))
def test_only_one_mode_shows_nothing_but_the_final_text(mode: StreamingExposureMode) -> None:
    assert Exposure(mode).shows_only_final is (mode is MODE.NO_STREAM_UNTIL_FINAL_GUARDED)


@pytest.mark.parametrize("mode", [MODE.LOW_LATENCY, MODE.BALANCED])
def test_without_patterns_every_piece_goes_out_at_once(mode: StreamingExposureMode) -> None:
    channel = Exposure(mode).open_channel()
    assert feed(channel, ["a", "b"]) == (["a", "b"], [])
    assert (channel.text, channel.audit) == ("ab", None)


@pytest.mark.parametrize(
    ("mode", "end"), [(MODE.STRICT, ["ab"]), (MODE.NO_STREAM_UNTIL_FINAL_GUARDED, [])]
)
@pytest.mark.parametrize("policy", [None, POLICY])
def test_a_held_text_goes_out_whole_or_not_at_all(
    mode: StreamingExposureMode, end: list[str], policy: StreamingRedactionPolicy | None
) -> None:
    channel = Exposure(mode, policy).open_channel()
    assert feed(channel, ["a", "b"]) == ([], end)
    assert channel.text == "ab"
    assert channel.audit is None


def test_an_empty_text_shows_nothing_in_strict_mode() -> None:
    assert feed(Exposure(MODE.STRICT).open_channel(), [""]) == ([], [])


def test_low_latency_holds_back_only_what_may_become_a_match() -> None:
    low = Exposure(MODE.LOW_LATENCY, POLICY).open_channel()
    assert "".join(low.push("hello ")) == "hello "
    assert low.push("sk-1") == ()
    balanced = Exposure(MODE.BALANCED, POLICY).open_channel()
    assert balanced.push("hello ") == ()


@pytest.mark.parametrize("mode", list(MODE))
@given(parts=pieces)
@pytest.mark.requirement("STREAM-4", "STREAM-8")
def test_no_mode_lets_a_match_out_and_every_mode_keeps_what_it_shows(
    mode: StreamingExposureMode, parts: list[str]
) -> None:
    channel = Exposure(mode, POLICY).open_channel()
    live, end = feed(channel, parts)
    shown = "".join(live + end)
    pattern = POLICY.patterns[0]
    expected, _ = pattern.redact("".join(parts))
    assert channel.text == expected
    assert shown in (channel.text, "")
    assert not pattern.find_matches(shown)


def test_a_match_leaves_an_audit_for_the_record() -> None:
    channel = Exposure(MODE.STRICT, POLICY).open_channel()
    feed(channel, ["key sk-1234."])
    assert channel.text == "key [REDACTED]."
    assert channel.audit is not None
    assert channel.audit.kind is AgentEvidenceKind.OUTPUT_GUARD
    assert "sk-1234" not in str(channel.audit.payload)


def test_a_complete_text_is_guarded_in_one_go() -> None:
    assert Exposure(MODE.BALANCED, POLICY).guard_text("sk-1234 ok") == "[REDACTED] ok"
    assert Exposure(MODE.BALANCED).guard_text("sk-1234") == "sk-1234"


@pytest.mark.requirement("STREAM-4")
def test_a_complete_value_is_guarded_in_every_text_and_key() -> None:
    value: JsonObject = {"sk-1234": ["a sk-1234", 1, None, True, {"n": 1.5}]}
    guarded = Exposure(MODE.BALANCED, POLICY).guard_value(value)
    assert guarded == {"[REDACTED]": ("a [REDACTED]", 1, None, True, {"n": 1.5})}
    assert Exposure(MODE.BALANCED).guard_value(value) is value
