"""The looser parts of the wire."""

import pytest
from vllm_wire import DONE, delta, event, finish, read_body, text

from spakky.agent.contracts.model_stream import ModelUsage
from spakky.plugins.vllm.wire import (
    Delta,
    WireFormatError,
    describe_error,
    parse_chunk,
    parse_json,
    read_arguments,
    read_index,
    read_reasoning,
    read_text,
    read_usage,
)


def deep(levels: int = 100_000) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a", "a"),
        (None, ""),
        (7, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "output_text", "text": "a"}], "a"),
        ([{"type": "image"}, "x", None, {"type": "text"}, {"type": "text", "text": 7}], ""),
        ([{"type": ["text"], "text": "a"}], ""),
    ],
)
def test_a_content_is_a_text_or_parts(content: object, said: str) -> None:
    assert read_text(content) == said


def test_reasoning_may_be_a_part_of_the_content() -> None:
    parts = [
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "wh"}, {"type": "text", "text": "y"}],
        },
        {"type": "reasoning", "text": "?"},
        {"type": "text", "text": "so"},
    ]
    heard = read_body(delta({"content": parts}) + finish("stop"))

    assert (heard.reasoning, heard.text) == ("why?", "so")
    assert read_reasoning(Delta(reasoning={"a": 1}, reasoning_content="r")) == "r"


@pytest.mark.parametrize(
    ("value", "index"),
    [
        (3, 3),
        ("3", 3),
        (None, None),
        ("x", None),
        ("", None),
        (True, None),
        (1.5, None),
        ("9" * 5000, None),
        ("²", None),
    ],
)
def test_an_index_is_a_number_or_digits(value: object, index: int | None) -> None:
    assert read_index(value) == index


@pytest.mark.requirement("MODEL-12")
def test_counts_are_read_where_they_are_counts() -> None:
    details = {
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }

    assert read_usage(
        {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14, **details}
    ) == ModelUsage(9, 5, 14, 3, 4)
    odd = {
        "prompt_tokens": "9",
        "completion_tokens": -1,
        "total_tokens": True,
        "prompt_tokens_details": 7,
    }
    assert read_usage(odd) is None
    assert read_usage(None) is None


def test_what_is_nested_too_deeply_is_a_format_error() -> None:
    for act in (
        lambda: parse_chunk(b'{"usage":' + b"[" * 100_000),
        lambda: parse_json("[" * 100_000),
        lambda: read_arguments(deep()),
        lambda: describe_error({"message": deep()}),
    ):
        with pytest.raises(WireFormatError, match="nested too deeply"):
            act()


def test_half_a_surrogate_pair_is_a_format_error() -> None:
    with pytest.raises(WireFormatError, match="surrogate"):
        parse_json('"\ud800"')


def test_a_format_error_does_not_quote_the_bytes() -> None:
    with pytest.raises(WireFormatError) as raised:
        parse_chunk(b'{"choices": "secret-value"}')

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"x",
        b"7",
        b"[]",
        b"null",
        b'{"choices":7}',
        b'{"choices":[7]}',
        b'{"choices":[{"delta":"x"}]}',
        b'{"a":"\xff"}',
    ],
)
@pytest.mark.requirement("VLLM-6")
def test_an_event_that_is_no_chunk_is_a_protocol_error(data: bytes) -> None:
    heard = read_body(text("a") + b"data: " + data + b"\n\n" + finish("stop"))

    if data == b'{"a":"\xff"}':
        # Bytes of fields that nobody reads are not looked at.
        assert heard.errors == []
    else:
        assert heard.code == "agent.model.protocol"
        assert heard.text == "a"
        assert not heard.errors[0].retryable


@pytest.mark.parametrize(
    "done", [DONE, b"data: [DONE] \n\n", b"data:[DONE]\n\n", b"data:  [DONE]\n\n"]
)
def test_the_end_mark_may_have_blanks_around_it(done: bytes) -> None:
    heard = read_body(text("a") + finish("stop") + done + text("after"))

    assert heard.text == "a"
    assert heard.done


def test_a_failure_that_is_empty_is_none() -> None:
    heard = read_body(
        event({"error": None, "choices": []}) + event({"error": {}}) + text("a") + finish("stop")
    )

    assert heard.errors == []


def test_the_first_reason_counts_and_an_empty_one_does_not() -> None:
    heard = read_body(delta({"content": "a"}, "") + delta({}, "stop") + delta({}, "length"))

    assert heard.done[0].metadata["finish_reason"] == "stop"


def test_probabilities_of_the_tokens_come_with_the_end() -> None:
    first, second = {"token": "a", "logprob": -1.0}, {"token": "b", "logprob": -2.0}
    heard = read_body(
        delta({"content": "a"}, logprobs={"content": [first]})
        + delta({"content": "b"}, "stop", logprobs={"content": [second]})
        + delta({}, logprobs={"content": None})
        + delta({}, logprobs=[])
    )

    assert heard.done[0].metadata["logprobs"] == [first, second]


def test_the_name_of_the_answer_is_taken_where_it_is_a_text() -> None:
    heard = read_body(
        event({"id": 7, "model": 8, "choices": []})
        + event({"id": "c1", "model": "", "choices": []})
        + text("a")
        + finish("stop")
    )

    assert heard.done[0].metadata["response_id"] == "c1"
    assert read_body(event({"id": "x", "model": "served"}) + finish("stop")).done[0].metadata == {
        "finish_reason": "stop",
        "model": "served",
        "response_id": "x",
    }


def test_a_structured_answer_is_decoded_before_the_end() -> None:
    heard = read_body(text('{"a"') + text(":1}") + finish("stop"), structured=True)
    whole = read_body(text("7") + finish("length"), structured=True)
    none = read_body(text("so") + finish("stop"), structured=True)

    assert heard.events[-2].structured_output == {"a": 1}
    assert len(whole.events) == len(none.events) == 2
