"""Streams as they break adapters in the field, over real HTTP: whole writes, and one write for each byte."""

from collections.abc import Sequence

import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import DONE, Heard, ask, call, call_part, delta, event, finish, listen, text, usage

from spakky.agent.contracts.model_stream import ModelStreamEventKind as Kind
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.plugins.vllm import VllmAgentModel

BOTH_WAYS = pytest.mark.parametrize("one_byte", [False, True], ids=["whole", "bytes"])
UNUSUAL = "a\u2028b\u2029c\u0085d"


@pytest.fixture
def replay(server: ModelServer, model: VllmAgentModel) -> "Replay":
    return Replay(server, model)


class Replay:
    """Writes items, each in one write, and hears what the adapter makes of them."""

    def __init__(self, server: ModelServer, model: VllmAgentModel) -> None:
        self.server = server
        self.model = model

    async def __call__(
        self,
        items: Sequence[bytes],
        *,
        one_byte: bool = False,
        compressed: bool = False,
        ending: str = "well",
    ) -> Heard:
        self.server.reply(
            Reply(
                items,
                one_byte_writes=one_byte,
                compressed=compressed,
                cut=ending == "cut",
                reset=ending == "reset",
                close_delimited=ending == "close_delimited",
            )
        )
        return await listen(self.model, ask(tools=["read", "ping", "save"]))


@BOTH_WAYS
@pytest.mark.requirement("VLLM-2", "VLLM-3")
async def test_two_calls_on_one_index_are_two_calls(replay: Replay, one_byte: bool) -> None:
    """OP-A01."""
    heard = await replay(
        [
            call(call_part(0, id="call_a", name="read", arguments='{"path":"a"}')),
            call(call_part(0, id="call_b", name="read", arguments='{"path":"b"}')),
            finish("tool_calls"),
            DONE,
        ],
        one_byte=one_byte,
    )

    assert heard.calls == [("read", {"path": "a"}, "call_a"), ("read", {"path": "b"}, "call_b")]
    assert heard.argument_texts()["call_a"] == '{"path":"a"}'


@BOTH_WAYS
@pytest.mark.requirement("VLLM-3")
async def test_repeated_names_and_ids_make_one_call(replay: Replay, one_byte: bool) -> None:
    """OP-A02."""
    pieces = ('{"pa', 'th":"a', '"}')
    items = [call(call_part(0, id="c1", name="read", arguments=piece)) for piece in pieces]
    heard = await replay([*items, finish("tool_calls")], one_byte=one_byte)

    assert heard.calls == [("read", {"path": "a"}, "c1")]


@BOTH_WAYS
@pytest.mark.requirement("VLLM-3")
async def test_calls_count_whatever_the_finish_reason_says(replay: Replay, one_byte: bool) -> None:
    """OP-A03: what was streamed decides, not the label."""
    items = [
        call(call_part(0, id="c1", name="read", arguments='{"path":"a"}')),
        finish("stop"),
        DONE,
    ]
    heard = await replay(items, one_byte=one_byte)

    assert heard.calls == [("read", {"path": "a"}, "c1")]
    assert heard.done[0].metadata["finish_reason"] == "stop"


@pytest.mark.parametrize("arguments", [None, "", "  ", "null", "[1,2]", '"x"', "123"])
@pytest.mark.requirement("VLLM-3")
async def test_arguments_that_are_no_object_never_break_the_stream(
    replay: Replay, arguments: str | None
) -> None:
    """OP-A04."""
    part = call_part(0, id="c1", name="ping", arguments=arguments)
    heard = await replay([call(part), finish("tool_calls"), DONE])

    assert heard.calls == [("ping", {}, "c1")]
    is_wrong = arguments in {"[1,2]", '"x"', "123"}
    assert (heard.candidates[0].arguments_error is not None) is is_wrong


@pytest.mark.parametrize("content", [UNUSUAL, "한글🙂é"])
@pytest.mark.parametrize("way", ["whole", "bytes", "gzip"])
@pytest.mark.requirement("VLLM-3")
async def test_text_comes_through_byte_for_byte(replay: Replay, content: str, way: str) -> None:
    """OP-A05."""
    items = [text(content), text(content), finish("stop"), DONE]
    heard = await replay(items, one_byte=way == "bytes", compressed=way == "gzip")

    assert heard.text == content * 2
    assert heard.ended_once
    assert heard.done


@BOTH_WAYS
@pytest.mark.parametrize("line_end", [b"\r\n", b"\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.requirement("VLLM-3")
async def test_the_framing_of_events_may_use_all_that_is_allowed(
    replay: Replay, one_byte: bool, line_end: bytes, mark: bytes
) -> None:
    """OP-A06."""
    first = text("o").removeprefix(b"data: ").rstrip(b"\n")
    items = [
        b": wait\n\n",
        b":\n\n",
        b"event: message\nid: 7\nretry: 1000\ndata:" + first + b"\n\n",
        b": again\n\n",
        b'data: {"id":"c","choices":[{"index":0,\n'
        b'data: "delta":{"content":"k"},"finish_reason":null}]}\n\n',
        finish("stop"),
        b"data: [DONE]",
    ]
    items = [item.replace(b"\n", line_end) for item in items]
    heard = await replay([mark + items[0], *items[1:]], one_byte=one_byte)

    assert heard.text == "ok"
    assert heard.kinds[-1] is Kind.DONE


UPSTREAM = {"code": 502, "message": "upstream gone"}


@BOTH_WAYS
@pytest.mark.parametrize(
    ("items", "message"),
    [
        (
            [text("par"), event({"id": "c", "choices": [], "error": UPSTREAM}), DONE],
            "upstream gone",
        ),
        ([event({"error": {"message": "quota exceeded"}}), DONE], "quota exceeded"),
        (
            [
                text("par"),
                event(
                    {
                        "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}],
                        "error": UPSTREAM,
                    }
                ),
            ],
            "upstream gone",
        ),
        ([text("par"), delta({}, "error", error=UPSTREAM)], "upstream gone"),
        ([event({"error": {"code": "502", "message": "as a text"}})], "as a text"),
        ([event({"error": "only words"})], "only words"),
        ([event({"object": "error", "message": "old style", "code": 400})], "old style"),
        ([event({"detail": "of another framework"})], "of another framework"),
        ([b'event: error\ndata: {"message": "named"}\n\n'], "named"),
        ([b"event: error\ndata: no JSON\n\n"], "no JSON"),
        ([b'error: {"code": 500, "message": "a line of its own"}\n\n'], "a line of its own"),
        ([text("par"), finish("error"), DONE], "'error'"),
        ([text("par"), finish("abort"), DONE], "'abort'"),
    ],
)
@pytest.mark.requirement("VLLM-6")
async def test_a_failure_told_inside_a_stream_is_a_failure(
    replay: Replay, items: list[bytes], message: str, one_byte: bool
) -> None:
    """OP-A07."""
    heard = await replay(items, one_byte=one_byte)

    assert heard.code == "agent.model.server_error"
    assert message in heard.errors[0].message
    assert heard.ended_once
    assert heard.text == ("par" if items[0] == text("par") else "")


@BOTH_WAYS
@pytest.mark.requirement("VLLM-6")
async def test_a_refusal_is_told_with_its_words(replay: Replay, one_byte: bool) -> None:
    """OP-A07, the fourth case."""
    items = [
        delta({"refusal": "cannot ", "content": None}),
        delta({"refusal": "help"}),
        finish("stop"),
    ]
    heard = await replay(items, one_byte=one_byte)

    assert heard.code == "agent.model.refusal"
    assert "cannot help" in heard.errors[0].message
    assert not heard.done


@BOTH_WAYS
@pytest.mark.parametrize("ending", ["cut", "reset", "close_delimited", "well"])
@pytest.mark.parametrize(
    "items",
    [
        [call(call_part(0, id="c1", name="read", arguments='{"path":"a'))],
        [text("half")],
        [text("half"), b'data: {"choices":[{"delta":{"con'],
        [text("half"), DONE],
    ],
    ids=["call", "text", "half an event", "no reason"],
)
@pytest.mark.requirement("VLLM-6")
async def test_a_stream_that_just_stops_is_never_done(
    replay: Replay, items: list[bytes], ending: str, one_byte: bool
) -> None:
    """OP-A08."""
    heard = await replay(items, one_byte=one_byte, ending=ending)

    assert heard.code == "agent.model.protocol"
    assert heard.errors[0].retryable
    assert heard.ended_once
    assert heard.candidates == []
    assert len(replay.server.requests) == 1


@pytest.mark.parametrize("ending", ["cut", "reset", "close_delimited", "well"])
@pytest.mark.requirement("VLLM-6")
async def test_a_finish_reason_makes_a_stream_complete_however_it_ends(
    replay: Replay, ending: str
) -> None:
    """OP-A08, the third case."""
    heard = await replay([text("full"), finish("stop")], ending=ending)

    assert heard.text == "full"
    assert heard.kinds[-1] is Kind.DONE


@BOTH_WAYS
@pytest.mark.parametrize(
    "choices", [{"choices": []}, {"choices": None}, {}], ids=["empty", "null", "absent"]
)
@pytest.mark.requirement("VLLM-3", "MODEL-11", "MODEL-12")
async def test_chunks_without_choices_bring_the_usage(
    replay: Replay, choices: dict[str, object], one_byte: bool
) -> None:
    """OP-A09."""
    first = {
        "id": "",
        "object": "",
        "created": 0,
        "model": "",
        "prompt_filter_results": [],
        "usage": None,
    }
    counts = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    items = [
        event({**first, **choices}),
        delta({"role": "assistant", "content": ""}),
        text("hi"),
        finish("stop"),
        event({"id": "c", **choices, "usage": counts}),
        DONE,
    ]
    heard = await replay(items, one_byte=one_byte)

    assert heard.text == "hi"
    assert heard.usage == ModelUsage(3, 1, 4)
    assert heard.kinds == [Kind.TOKEN_DELTA, Kind.DONE]
    assert not replay.model.capability.supports_reasoning
    assert heard.done[0].metadata == {"finish_reason": "stop", "model": "m", "response_id": "c"}


CUT = call_part(0, id="c1", name="save", arguments='{"path":"x","content":"hel')
COMPLETE = call_part(0, id="c1", name="save", arguments='{"path":"x"}')
SECOND_CUT = call_part(1, id="c2", name="save", arguments='{"path":"y')


@pytest.mark.parametrize("parts", [[CUT], [COMPLETE, SECOND_CUT], [COMPLETE]])
@pytest.mark.requirement("VLLM-6")
async def test_a_call_that_the_token_limit_may_have_cut_is_not_handed_over(
    replay: Replay, parts: list[dict[str, object]]
) -> None:
    """OP-A10."""
    heard = await replay([call(*parts), finish("length"), usage(1, 2, 3), DONE])

    assert heard.code == "agent.model.truncated"
    assert "length" in heard.errors[0].message
    assert heard.candidates == []
    assert Kind.TOOL_CALL_END not in heard.kinds


@pytest.mark.requirement("VLLM-6")
async def test_a_cut_call_with_another_reason_cannot_be_run(replay: Replay) -> None:
    """OP-A10, the fourth case."""
    heard = await replay([call(CUT), finish("tool_calls"), DONE])

    assert heard.candidates[0].arguments_error is not None
    assert heard.candidates[0].arguments == {}


@pytest.mark.requirement("VLLM-3")
async def test_text_that_the_token_limit_cut_is_done_and_says_so(replay: Replay) -> None:
    heard = await replay([text("half a sen"), finish("length"), DONE])

    assert heard.done[0].metadata["finish_reason"] == "length"


@pytest.mark.requirement("VLLM-6")
async def test_a_filtered_answer_is_an_error_of_its_own(replay: Replay) -> None:
    heard = await replay([text("so far"), finish("content_filter"), DONE])

    assert heard.code == "agent.model.content_filter"


@BOTH_WAYS
@pytest.mark.requirement("VLLM-3", "MODEL-9")
async def test_reasoning_comes_under_two_names_and_counts_once(
    replay: Replay, one_byte: bool
) -> None:
    """OP-A13."""
    items = [
        delta({"reasoning": "r1", "content": None}),
        delta({"reasoning_content": "r2"}),
        delta({"reasoning": "r3", "reasoning_content": "r3"}),
        delta({"content": "ans"}),
        finish("stop"),
    ]
    heard = await replay(items, one_byte=one_byte)

    assert heard.reasoning == "r1r2r3"
    assert heard.text == "ans"
    assert heard.kinds == [*[Kind.REASONING_DELTA] * 3, Kind.TOKEN_DELTA, Kind.DONE]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
@pytest.mark.requirement("VLLM-3")
async def test_reasoning_of_a_whole_answer_is_kept_apart_from_its_text(
    server: ModelServer, model: VllmAgentModel, field: str
) -> None:
    """OP-A13."""
    message = {"role": "assistant", "content": "ans", field: "why"}
    body = {
        "id": "r",
        "model": "served",
        "choices": [{"message": message, "finish_reason": "stop"}],
    }
    server.reply(Reply([event(body)[6:]], headers=JSON))

    answer = await model.complete(ask())

    assert answer.content == "ans"
    assert answer.metadata == {
        "finish_reason": "stop",
        "model": "served",
        "response_id": "r",
        "reasoning": "why",
    }


@pytest.mark.requirement("VLLM-3")
async def test_only_the_first_of_several_answers_is_read(replay: Replay) -> None:
    items = [
        event(
            {
                "choices": [
                    {"index": 1, "delta": {"content": "no"}},
                    {"index": 0, "delta": {"content": "y"}},
                ]
            }
        ),
        event({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}),
        event({"choices": [{"delta": {"content": "es"}}]}),
        finish("stop"),
        event({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}),
        DONE,
    ]
    heard = await replay(items)

    assert heard.text == "yes"
    assert heard.done[0].metadata["finish_reason"] == "stop"
