"""Bounds of what is read, and of what is left over."""

import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import DONE, ask, delta, finish, listen, text

from spakky.plugins.vllm import VllmAgentModel, exchange, sse

ERROR_LINE = b'error: {"message": "last words"}'


@pytest.mark.parametrize("items", [[b"data: " + b"x" * 500], [b"data:\n" * 200, b"data:"]])
@pytest.mark.requirement("VLLM-6")
async def test_an_event_without_end_is_a_protocol_error(
    server: ModelServer, model: VllmAgentModel, monkeypatch: pytest.MonkeyPatch, items: list[bytes]
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 400 if len(items) == 1 else 200)
    server.reply(Reply(items))

    heard = await listen(model, ask())

    assert heard.code == "agent.model.protocol"
    assert not heard.errors[0].retryable
    assert "longer than" in heard.errors[0].message


@pytest.mark.requirement("VLLM-6")
async def test_an_event_without_end_after_some_text_is_told_after_the_text(
    server: ModelServer, model: VllmAgentModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 400)
    server.reply(Reply([text("a") + b"data: " + b"x" * 500]))

    heard = await listen(model, ask())

    assert heard.text == "a"
    assert heard.code == "agent.model.protocol"


@pytest.mark.requirement("VLLM-6")
async def test_a_whole_answer_without_end_is_a_protocol_error(
    server: ModelServer, model: VllmAgentModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_MAX_WHOLE_BYTES", 100)
    server.reply(Reply([b"{" + b" " * 200], headers=JSON))

    assert (await listen(model, ask())).code == "agent.model.protocol"


@pytest.mark.requirement("VLLM-6")
async def test_last_words_without_a_blank_line_are_heard(
    server: ModelServer, model: VllmAgentModel
) -> None:
    server.reply(Reply([text("a"), ERROR_LINE]))

    heard = await listen(model, ask())

    assert heard.code == "agent.model.server_error"
    assert "last words" in heard.errors[0].message


async def test_a_blank_beginning_does_not_hide_a_whole_answer(
    server: ModelServer, model: VllmAgentModel
) -> None:
    body = b'{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}'
    server.reply(Reply([b"\xef\xbb\xbf", b" \r\n", body], headers=JSON, one_byte_writes=True))

    assert (await listen(model, ask())).text == "ok"
    assert (await model.complete(ask())).content == "ok"


async def test_a_stream_in_place_of_a_whole_answer_is_put_together(
    server: ModelServer, model: VllmAgentModel
) -> None:
    server.reply(Reply([text("o"), text("k"), finish("stop"), DONE]))

    assert (await model.complete(ask())).content == "ok"


async def test_what_comes_after_the_end_mark_is_not_heard(
    server: ModelServer, model: VllmAgentModel
) -> None:
    for items in (
        [text("a") + finish("stop") + DONE + text("b")],
        [text("a"), finish("stop"), DONE, text("b")],
    ):
        server.reply(Reply(items))
        heard = await listen(model, ask())
        assert heard.text == "a"
        assert heard.ended_once


async def test_a_connection_that_stays_open_after_the_end_mark_holds_nobody_up(
    server: ModelServer, model: VllmAgentModel
) -> None:
    async def stay() -> None:
        await server.disconnected.wait()

    server.reply(Reply([text("a") + finish("stop") + DONE], between=stay))
    heard = await listen(model, ask())

    assert heard.done
    assert server.connections == 1


async def test_empty_parts_show_nothing(server: ModelServer, model: VllmAgentModel) -> None:
    server.reply(
        Reply(
            [
                delta({"content": [{"type": "image"}]}),
                delta({"reasoning": {}}),
                text("a"),
                finish("stop"),
            ]
        )
    )

    assert [item.token_delta for item in (await listen(model, ask())).events] == ["a", None]
