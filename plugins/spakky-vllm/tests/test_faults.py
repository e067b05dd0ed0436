"""What failures mean, and that their words hold no secret."""

import ssl
from datetime import UTC, datetime

import httpx
import pytest
from vllm_wire import TARGET

from spakky.plugins.vllm.faults import (
    describe_body,
    plan_http_fault,
    plan_stream_fault,
    plan_transport_fault,
    read_retry_after,
)
from spakky.plugins.vllm.target import MAX_DETAIL_CHARACTERS, Target
from spakky.plugins.vllm.wire import WireError

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"This model\'s maximum context length is 2048 tokens. However, your prompt contains 3000"}}',
        b'{"error":{"code":400,"message":"x","type":"exceed_context_size_error"}}',
        b'{"error":{"message":"x","code":"context_length_exceeded"}}',
        b'{"error":{"message":"the request exceeds the available context size"}}',
        b'{"message":"input length exceeds the maximum allowed context window of 8192"}',
        b'{"error":{"message":"Prompt is too long"}}',
        b'{"error":{"message":"The input (70 tokens) is longer than the model\'s context length (60 tokens)."}}',
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422, 500])
@pytest.mark.requirement("VLLM-6")
def test_an_overlong_input_is_told_in_many_words(body: bytes, status: int) -> None:
    """OP-A11."""
    fault = plan_http_fault(status, body, TARGET)

    assert fault.error_code == "agent.model.context_overflow"
    assert not fault.retryable


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"max_tokens=10 cannot be greater than max_model_len=5","param":"max_tokens"}}',
        b'{"error":{"message":"maximum context length","param":"max_tokens"}}',
        b'{"error":{"message":"temperature is out of range"}}',
    ],
)
def test_other_words_about_lengths_are_no_overlong_input(body: bytes) -> None:
    assert plan_http_fault(400, body, TARGET).error_code == "agent.model.invalid_request"


def test_a_used_up_quota_is_not_worth_another_try() -> None:
    body = b'{"error":{"message":"no money","type":"insufficient_quota"}}'

    fault = plan_http_fault(429, body, TARGET)

    assert fault.error_code == "agent.model.rate_limit"
    assert not fault.retryable


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":{"message":"a"}}', "a"),
        (b'{"error":"b"}', "b"),
        (b'{"detail":"c"}', "c"),
        (b'{"detail":[{"msg":"d"}]}', '[{"msg": "d"}]'),
        (b'{"message":"e"}', "e"),
        (b'[{"error":{"message":"f"}}]', "f"),
        (b'{"error":{"error":{"error":{"error":{"error":{"message":"deep"}}}}}}', ""),
        (b"plain words", "plain words"),
        (b'"quoted"', "quoted"),
        (b"  <!DOCTYPE html><html>", "the body is an HTML page"),
        (b"[]", ""),
        (b"7", ""),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_every_body_is_described(body: bytes, words: str) -> None:
    assert describe_body(body).message == words


@pytest.mark.parametrize(
    ("told", "code", "retryable"),
    [
        (WireError("x", code=502), "server_error", True),
        (WireError("x", code="503"), "server_error", True),
        (WireError("x", code=400), "server_error", False),
        (WireError("x"), "server_error", False),
        (WireError("x", type="overloaded_error"), "server_error", True),
        (WireError("x", code="server_error"), "server_error", True),
        (WireError("x", code=429), "rate_limit", True),
        (WireError("x", code="context_length_exceeded"), "context_overflow", False),
    ],
)
@pytest.mark.requirement("VLLM-6")
def test_a_failure_inside_a_stream_keeps_its_code(
    told: WireError, code: str, retryable: bool
) -> None:
    """OP-A07."""
    fault = plan_stream_fault(told, TARGET)

    assert (fault.error_code, fault.retryable) == (f"agent.model.{code}", retryable)


def test_a_failure_without_words_is_named_by_what_it_has() -> None:
    assert ": boom" in str(plan_stream_fault(WireError(type="boom"), TARGET))
    assert ": 17" in str(plan_stream_fault(WireError(code=17), TARGET))


def test_a_certificate_that_cannot_be_verified_is_not_tried_again() -> None:
    error = httpx.ConnectError("x")
    error.__cause__ = OSError("y")
    error.__cause__.__context__ = ssl.SSLCertVerificationError("z")

    fault = plan_transport_fault(error, TARGET, answering=False)

    assert fault.error_code == "agent.model.unavailable"
    assert not fault.retryable
    assert "certificate" in str(fault)


def test_a_chain_of_causes_that_bites_its_tail_ends() -> None:
    one, two = OSError("1"), OSError("2")
    one.__context__, two.__context__ = two, one

    assert plan_transport_fault(one, TARGET, answering=False).retryable


def test_broken_compression_is_a_fault_of_the_answer() -> None:
    fault = plan_transport_fault(httpx.DecodingError("x"), TARGET, answering=True)

    assert fault.error_code == "agent.model.protocol"
    assert not fault.retryable


@pytest.mark.parametrize(
    "detail",
    [
        "key sk-top-secret here",
        "Bearer abc.def-123",
        "authorization: Basic dXNlcjpwYXNz",
        "at https://user:hunter2@host/v1",
        "Incorrect API key provided: sk-proj-abc123***xyz",
        '{"api_key": "hunter2"}',
        "x-api-key=hunter2",
        "access_token: hunter2",
    ],
)
@pytest.mark.requirement("VLLM-6")
def test_words_of_a_server_are_cleaned_of_credentials(detail: str) -> None:
    cleaned = TARGET.clean(detail)

    for secret in ("sk-", "abc.def", "dXNl", "hunter2", "xyz"):
        assert secret not in cleaned
    assert "[REDACTED]" in cleaned


def test_an_empty_secret_replaces_nothing() -> None:
    assert Target("p", "m", "http://h", ("",)).clean("as it is") == "as it is"


def test_words_of_a_server_are_one_line_of_bounded_length() -> None:
    long = TARGET.clean("a\r\n\tb\u2028c\x00" + "x" * 30_000)

    assert long.startswith("a b c x")
    assert len(long) == MAX_DETAIL_CHARACTERS
    assert long.endswith("…")


def test_a_secret_at_the_place_of_the_cut_is_not_left_in_part() -> None:
    cleaned = TARGET.clean("x" * (MAX_DETAIL_CHARACTERS - 6) + " sk-top-secret")

    assert "sk-" not in cleaned


def test_a_message_names_what_where_and_what_next() -> None:
    fault = plan_http_fault(404, b'{"error":{"message":"no such model."}}', TARGET)

    assert str(fault) == (
        "The model server knows no such model or route (HTTP 404) at http://server:1/v1, model 'm' (profile 'default'):"
        " no such model. Check the model's name, and that the base URL is the part before /chat/completions."
    )
    assert "sk-top-secret" not in repr(TARGET)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        (
            {
                "retry-after": "Thu, 01 Jan 2026 08:00:05 GMT",
                "date": "Thu, 01 Jan 2026 08:00:00 GMT",
            },
            5.0,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "9" * 30}, None),
        ({"retry-after": "Thu, 99 Jan 99999999999 08:00:05 GMT"}, None),
    ],
)
@pytest.mark.requirement("VLLM-6")
def test_the_wait_that_a_server_asks_for_is_read(
    headers: dict[str, str], seconds: float | None
) -> None:
    """OP-A11."""
    assert read_retry_after(httpx.Headers(headers), NOW) == seconds
