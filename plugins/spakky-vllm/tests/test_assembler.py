"""Tool calls out of the pieces of a stream: each row of the module's table."""

import pytest
from vllm_wire import DONE, Heard, call, call_part, delta, finish, read_body

from spakky.agent.contracts.model_stream import ModelStreamEventKind as Kind


def read(*chunks: bytes) -> Heard:
    heard = read_body(b"".join((*chunks, finish("tool_calls"), DONE)))
    assert heard.ended_once
    return heard


def text(path: str) -> str:
    return '{"path":"' + path + '"}'


@pytest.mark.requirement("VLLM-3", "MODEL-9")
def test_a_call_is_shown_as_it_comes_and_handed_over_at_the_end() -> None:
    heard = read(
        call(call_part(0, id="c1", name="read", arguments="")),
        call(call_part(0, arguments='{"path"')),
        call(call_part(0, arguments=':"a"}')),
    )

    assert heard.kinds == [
        Kind.TOOL_CALL_START,
        Kind.TOOL_CALL_ARGS_DELTA,
        Kind.TOOL_CALL_ARGS_DELTA,
        Kind.TOOL_CALL_END,
        Kind.TOOL_CALL_CANDIDATE,
        Kind.DONE,
    ]
    start = heard.events[0].tool_call
    assert start is not None
    assert (start.name, start.call_id, start.arguments) == ("read", "c1", {})
    assert all(item.tool_call is start for item in heard.events[:4])
    assert heard.calls == [("read", {"path": "a"}, "c1")]
    assert heard.argument_texts() == {"c1": text("a")}


@pytest.mark.requirement("VLLM-3")
def test_interleaved_calls_are_kept_apart_by_their_index() -> None:
    heard = read(
        call(call_part(0, id="a", name="read"), call_part(1, id="b", name="ping")),
        call(call_part(1, arguments='{"x"'), call_part(0, arguments='{"path":')),
        call(call_part(0, arguments='"p"}'), call_part(1, arguments=":1}")),
    )

    assert heard.calls == [("read", {"path": "p"}, "a"), ("ping", {"x": 1}, "b")]


@pytest.mark.requirement("VLLM-3")
def test_another_id_with_a_name_on_the_same_index_opens_a_call() -> None:
    """OP-A01."""
    heard = read(
        call(call_part(0, id="call_a", name="read", arguments=text("a"))),
        call(call_part(0, id="call_b", name="read", arguments=text("b"))),
    )

    assert heard.calls == [("read", {"path": "a"}, "call_a"), ("read", {"path": "b"}, "call_b")]
    assert heard.argument_texts()["call_a"] == text("a")


def test_another_id_without_a_name_goes_on_with_the_call() -> None:
    heard = read(
        call(call_part(0, id="x1", name="read", arguments='{"path":')),
        call(call_part(0, id="x2", name="", arguments='"a"}')),
    )

    assert heard.calls == [("read", {"path": "a"}, "x1")]


@pytest.mark.parametrize("names", [("read", "read", "read"), ("", "read", "read")])
@pytest.mark.requirement("VLLM-3")
def test_a_name_and_an_id_in_every_piece_are_set_and_not_joined(names: tuple[str, ...]) -> None:
    """OP-A02."""
    pieces = zip(names, ('{"pa', 'th":"a', '"}'), strict=True)
    heard = read(
        *(call(call_part(0, id="c1", name=name, arguments=piece)) for name, piece in pieces)
    )

    assert heard.calls == [("read", {"path": "a"}, "c1")]
    assert heard.argument_texts() == {"c1": text("a")}


def test_a_whole_call_is_followed_by_another_on_its_index_even_without_ids() -> None:
    heard = read(
        call(call_part(0, name="read", arguments=text("a"))),
        call(call_part(0, name="read", arguments=text("b"))),
        call(call_part(0, name="read", arguments=" ")),
    )

    assert heard.calls == [("read", {"path": "a"}, "call_0"), ("read", {"path": "b"}, "call_1")]


def test_calls_without_an_index_are_told_apart_by_id_and_by_name() -> None:
    heard = read(
        call(call_part(id="a", name="read", arguments='{"path":')),
        call(call_part(id="b", name="ping")),
        call(call_part(id="a", arguments='"a"}')),
        call(call_part(arguments="{}")),
        call(call_part(name="save", arguments='{"path":"')),
        call(call_part(name="save", arguments='s"}')),
        call(call_part(None, arguments=" ")),
    )

    assert heard.calls == [
        ("read", {"path": "a"}, "a"),
        ("ping", {}, "b"),
        ("save", {"path": "s"}, "call_2"),
    ]


def test_a_piece_on_an_unknown_index_with_nothing_but_text_belongs_to_the_last_call() -> None:
    heard = read(
        call(call_part(0, id="a", name="read", arguments='{"path":')),
        call(call_part(1, arguments='"a"}')),
    )

    assert heard.calls == [("read", {"path": "a"}, "a")]


def test_an_index_may_be_a_text() -> None:
    heard = read(
        call(call_part("0", id="a", name="read"), call_part("1", id="b", name="ping")),
        call(call_part("0", arguments=text("a"))),
    )

    assert heard.calls == [("read", {"path": "a"}, "a"), ("ping", {}, "b")]


def test_text_that_comes_before_the_name_is_shown_after_it() -> None:
    heard = read(
        call(call_part(0, id="a", arguments='{"path"')),
        call(call_part(0, name="read")),
        call(call_part(0, arguments=':"a"}')),
    )

    assert heard.kinds[0] is Kind.TOOL_CALL_START
    assert heard.argument_texts() == {"a": text("a")}
    assert heard.calls == [("read", {"path": "a"}, "a")]


def test_a_call_without_a_name_is_handed_over_without_one() -> None:
    heard = read(call(call_part(0, id="a", arguments="{}")), call({"index": 1}))

    assert heard.calls == [("", {}, "a")]
    assert heard.kinds[:2] == [Kind.TOOL_CALL_START, Kind.TOOL_CALL_ARGS_DELTA]


def test_a_piece_that_opens_with_nothing_at_all_is_a_call_without_a_name() -> None:
    assert read(call({})).calls == [("", {}, "call_0")]


def test_ids_that_a_server_gives_twice_are_made_different() -> None:
    heard = read(
        call(call_part(0, id="0", name="read"), call_part(1, id="0", name="ping")),
        call(call_part(2, id="0_1", name="save")),
        call(call_part(3, id="0", name="ping")),
    )
    ids = [call_id for _, _, call_id in heard.calls]

    assert ids[:2] == ["0", "0_1"]
    assert len(set(ids)) == 4


def test_the_calls_of_a_whole_message_are_calls_of_their_own() -> None:
    parts = [
        call_part(name="read", arguments=text("a")),
        call_part(name="read", arguments=text("b")),
    ]
    body = delta(None, "tool_calls", message={"role": "assistant", "tool_calls": parts})
    heard = read_body(body)

    assert [arguments for _, arguments, _ in heard.calls] == [{"path": "a"}, {"path": "b"}]


NO_ARGUMENTS = [
    {},
    {"arguments": None},
    {"arguments": ""},
    {"arguments": "  "},
    {"arguments": "null"},
]
WRONG_ARGUMENTS = [
    ({"arguments": "[1,2]"}, "an array"),
    ({"arguments": '"x"'}, "a text"),
    ({"arguments": "123"}, "a number"),
    ({"arguments": "true"}, "a truth value"),
    ({"arguments": [1, 2]}, "an array"),
    ({"arguments": '{"path":'}, "not valid JSON"),
    ({"arguments": "{path: 1}"}, "not valid JSON"),
    ({"arguments": '{"n": NaN}'}, "not valid JSON"),
    ({"arguments": '{"n": 1e1000000000}'}, "not valid JSON"),
    ({"arguments": '{"s": "\\ud800"}'}, "not valid JSON"),
    ({"arguments": '{"n":' + "[" * 100_000}, "nested too deeply"),
]


@pytest.mark.parametrize("function", NO_ARGUMENTS)
@pytest.mark.requirement("VLLM-3")
def test_every_way_to_write_no_arguments_gives_no_arguments(function: dict[str, object]) -> None:
    """OP-A04."""
    heard = read(call(call_part(0, id="a", name="ping", **function)))

    assert heard.calls == [("ping", {}, "a")]
    assert heard.candidates[0].arguments_error is None


@pytest.mark.parametrize(("function", "reason"), WRONG_ARGUMENTS)
@pytest.mark.requirement("VLLM-3")
def test_wrong_arguments_are_told_apart_from_none(function: dict[str, object], reason: str) -> None:
    """OP-A04."""
    heard = read(call(call_part(0, id="a", name="ping", **function)))
    (candidate,) = heard.candidates

    assert candidate.arguments == {}
    assert candidate.arguments_error is not None
    assert reason in candidate.arguments_error
    assert "path" not in candidate.arguments_error


def test_arguments_that_a_server_has_decoded_are_taken_as_they_are() -> None:
    heard = read(call(call_part(0, id="a", name="read", arguments={"path": "é"})))

    assert heard.calls == [("read", {"path": "é"}, "a")]
    assert heard.argument_texts() == {"a": '{"path": "é"}'}
