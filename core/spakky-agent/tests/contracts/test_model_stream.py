"""Answers and stream events show no sensitive value once guarded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.model_guard import parse_json_text, plan_output_guard
from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.contracts.model_stream import (
    ModelError,
    ModelResponse,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.sensitive import PII, SecretField, SensitiveField, SensitiveFieldDescriptor

MAIL = SensitiveFieldDescriptor(("email",), SensitiveField(PII.EMAIL))
WHOLE = SensitiveFieldDescriptor((), SecretField())
RAW = "ann@example.org"

# Any: the tests put values of wrong types in.
WRONG: Any = "wrong"
NO_TEXT: Any = None


@pytest.mark.requirement("SAFE-5")
def test_an_answer_hides_a_marked_value_in_every_channel() -> None:
    response = ModelResponse(
        f"I wrote to {RAW}.",
        {"email": RAW, "ok": True},
        [ModelToolCall("send", {"email": RAW, "text": f"for {RAW}"}, "c1")],
        ModelUsage(1, 2, 3),
        {"echo": f"<{RAW}>"},
    )
    guarded = response.guarded((MAIL,))
    assert RAW not in repr(guarded)
    assert guarded.content == "I wrote to [REDACTED]."
    assert guarded.usage == response.usage
    assert [call.call_id for call in guarded.tool_calls] == ["c1"]


@pytest.mark.requirement("SAFE-5")
@pytest.mark.parametrize("content", [f'{{"email": "{RAW}"}}', f' [{{"email": "{RAW}"}}]'])
def test_an_answer_whose_text_is_json_is_guarded_by_paths(content: str) -> None:
    guarded = ModelResponse(content).guarded((MAIL,))
    assert RAW not in guarded.content
    assert "email" in guarded.content
    assert parse_json_text(guarded.content)[1]


def test_an_answer_without_anything_to_hide_is_given_as_it_is() -> None:
    response = ModelResponse('{"n": [1, 2]}', {"n": [1, 2]}, (ModelToolCall("a", {"x": [1]}),))
    assert response.guarded((MAIL,)) is response
    assert response.guarded(()) is response
    allowed = EvidenceExposurePolicy(include_pii_values=True)
    shown = ModelResponse(RAW, {"email": RAW})
    assert shown.guarded((MAIL,), allowed) is shown


def test_an_answer_that_is_secret_as_a_whole_shows_nothing() -> None:
    guarded = ModelResponse("some text", {"a": "b"}).guarded((WHOLE,))
    assert guarded.content == "[REDACTED]"
    assert "b" not in str(guarded.structured_output)


CHANNELS = ("token_delta", "message_delta", "reasoning_delta", "tool_call_args_delta")


@pytest.mark.requirement("SAFE-5")
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_stream_event_hides_a_value_of_its_call_in_every_text(channel: str) -> None:
    texts: dict[str, Any] = {channel: f"mail {RAW} now"}
    event = ModelStreamEvent(
        ModelStreamEventKind.TOOL_CALL_CANDIDATE,
        tool_call=ModelToolCall("send", {"email": RAW}),
        **texts,
    )
    assert RAW not in repr(event.guarded((MAIL,)))


@pytest.mark.requirement("SAFE-5")
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_stream_event_whose_text_is_json_is_guarded_by_paths(channel: str) -> None:
    texts: dict[str, Any] = {channel: f'{{"email": "{RAW}", "n": 1}}'}
    guarded = ModelStreamEvent(ModelStreamEventKind.MESSAGE_DELTA, **texts).guarded((MAIL,))
    assert RAW not in repr(guarded)
    assert '"n": 1' in repr(guarded)


@pytest.mark.requirement("SAFE-5")
def test_a_stream_event_hides_a_value_in_output_error_and_metadata() -> None:
    event = ModelStreamEvent(
        ModelStreamEventKind.ERROR,
        structured_output={"email": RAW},
        error=ModelError("agent.model.failed", f"cannot reach {RAW}", metadata={"to": RAW}),
        usage=ModelUsage(1),
        metadata={"to": [RAW]},
    )
    guarded = event.guarded((MAIL,))
    assert RAW not in repr(guarded)
    assert (guarded.kind, guarded.usage) == (event.kind, event.usage)


def test_a_piece_of_argument_text_is_replaced_since_it_has_no_paths() -> None:
    kind = ModelStreamEventKind.TOOL_CALL_ARGS_DELTA
    event = ModelStreamEvent(kind, tool_call_args_delta='{"email": "ann@')
    assert event.guarded((MAIL,)).tool_call_args_delta == "[REDACTED]"
    blank = ModelStreamEvent(kind, tool_call_args_delta=" ")
    assert blank.guarded((MAIL,)) is blank


def test_a_stream_event_without_anything_to_hide_is_given_as_it_is() -> None:
    event = ModelStreamEvent(
        ModelStreamEventKind.TOKEN_DELTA,
        token_delta="hello [1] {x",
        message_delta="",
        tool_call_args_delta='{"a',
    )
    assert event.guarded(()) is event
    assert event.guarded((MAIL,), EvidenceExposurePolicy(include_pii_values=True)) is event
    plain = ModelStreamEvent(ModelStreamEventKind.TOKEN_DELTA, "hello {x", message_delta="")
    assert plain.guarded((MAIL,)) is plain


def test_a_token_that_is_secret_as_a_whole_is_replaced() -> None:
    event = ModelStreamEvent(ModelStreamEventKind.TOKEN_DELTA, token_delta="abc")
    assert event.guarded((WHOLE,)).token_delta == "[REDACTED]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.requirement("SAFE-4")
@given(secret=st.integers(10**11, 10**12).map("s{}".format), value=JSON, before=st.text(max_size=5))
def test_no_guarded_answer_holds_the_raw_value(secret: str, value: Any, before: str) -> None:
    response = ModelResponse(
        before + secret,
        {"email": [secret, value], "rest": {"x": [value, before + secret]}},
        (ModelToolCall("t", {"email": secret, "v": value}),),
    )
    guarded = response.guarded((MAIL,))
    assert secret not in repr(guarded)
    assert guarded.guarded((MAIL,)) == guarded.guarded((MAIL,))
    assert response.guarded((MAIL,)) == guarded


def test_only_objects_and_arrays_count_as_json_text() -> None:
    assert parse_json_text(' {"a": [1]}') == ({"a": [1]}, True)
    assert parse_json_text("[]") == ([], True)
    for text in ("", "1", '"x"', "null", "{", "[1", "{a}", "[" * 100_000):
        assert parse_json_text(text) == (None, False)


def test_a_guard_without_hidden_fields_leaves_everything() -> None:
    guard = plan_output_guard((MAIL,), EvidenceExposurePolicy(include_pii_values=True), ({"a": 1},))
    assert guard.guard_argument_text("{") == "{"
    assert guard.guard_text("x") == "x"
    assert guard.guard_optional_text(None) is None
    assert guard.guard_value([1]) == [1]


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: ModelUsage(input_tokens=-1), "ModelUsage.input_tokens"),
        (lambda: ModelUsage(output_tokens=WRONG), "ModelUsage.output_tokens"),
        (lambda: ModelUsage(total_tokens=True), "ModelUsage.total_tokens"),
        (lambda: ModelUsage(cached_input_tokens=-1), "ModelUsage.cached_input_tokens"),
        (lambda: ModelUsage(reasoning_tokens=-1), "ModelUsage.reasoning_tokens"),
        (lambda: ModelError("", "x"), "ModelError.code"),
        (lambda: ModelError("x", NO_TEXT), "ModelError.message"),
        (lambda: ModelResponse(NO_TEXT), "ModelResponse.content"),
        (lambda: ModelResponse("", tool_calls=WRONG), "ModelResponse.tool_calls"),
    ],
)
def test_a_part_of_an_answer_outside_its_range_is_refused(build: Any, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        build()


@pytest.mark.requirement("MODEL-10", "MODEL-12")
def test_an_event_needs_its_kind_only_and_usage_counts_what_is_known() -> None:
    event = ModelStreamEvent(ModelStreamEventKind.DONE)
    assert event.token_delta is None
    assert ModelUsage(1, 2, 3).total_tokens == 3
    assert ModelUsage().total_tokens is None
    assert ModelError("code", "").message == ""
