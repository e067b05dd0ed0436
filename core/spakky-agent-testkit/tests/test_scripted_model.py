"""The scripted model plays its turns and remembers what it was asked."""

import asyncio
import json
from contextlib import aclosing

import pytest

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelCapability, ModelRequest, ModelSelection
from spakky.agent.contracts.model_stream import ModelStreamEvent, ModelStreamEventKind, ModelUsage
from spakky.agent.error import AgentModelError, AgentValueError
from spakky.agent_testkit.scripted_model import (
    ScriptedModel,
    ScriptExhaustedError,
    Turn,
    call,
    fail,
    gate,
    hang,
    raises,
    returns,
    say,
    structured,
    think,
    usage,
)

Kind = ModelStreamEventKind


def ask(*roles: ModelMessageRole) -> ModelRequest:
    return ModelRequest(tuple(ModelMessage(role, "text") for role in roles))


ASK = ask(ModelMessageRole.USER)


async def play(model: ScriptedModel, request: ModelRequest = ASK) -> list[ModelStreamEvent]:
    return [event async for event in model.stream(request)]


async def test_a_turn_is_played_in_order_and_ends_with_done() -> None:
    model = ScriptedModel(
        [[think("hm", chunk=1), say("Hello", chunk=2), say("!", as_message=True)]]
    )
    events = await play(model)
    assert [event.kind for event in events] == [
        Kind.REASONING_DELTA,
        Kind.REASONING_DELTA,
        Kind.TOKEN_DELTA,
        Kind.TOKEN_DELTA,
        Kind.TOKEN_DELTA,
        Kind.MESSAGE_DELTA,
        Kind.DONE,
    ]
    assert "".join(event.token_delta or event.message_delta or "" for event in events) == "Hello!"
    assert model.requests == [ASK]
    model.require_played()


async def test_a_call_has_start_pieces_end_and_the_whole_call() -> None:
    model = ScriptedModel([[call("read", {"path": "한"}, call_id="c1", chunk=4)]])
    events = await play(model)
    kinds = [event.kind for event in events]
    assert kinds == [
        Kind.TOOL_CALL_START,
        *[Kind.TOOL_CALL_ARGS_DELTA] * (len(events) - 4),
        Kind.TOOL_CALL_END,
        Kind.TOOL_CALL_CANDIDATE,
        Kind.DONE,
    ]
    pieces = [event.tool_call_args_delta or "" for event in events]
    assert json.loads("".join(pieces)) == {"path": "한"}
    assert all(len(piece) <= 4 for piece in pieces)
    whole = events[-2].tool_call
    assert whole is not None
    assert (whole.name, whole.arguments, whole.call_id) == ("read", {"path": "한"}, "c1")
    assert {event.tool_call.call_id for event in events if event.tool_call} == {"c1"}


async def test_calls_without_an_id_get_one_from_their_content() -> None:
    first, again, other = call("read", {"a": 1}), call("read", {"a": 1}), call("read", {"a": 2})
    ids = [turn[0].tool_call.call_id for turn in (first, again, other) if turn[0].tool_call]
    assert ids[0] == ids[1] != ids[2]


async def test_a_call_with_an_argument_error_holds_no_arguments() -> None:
    events = call("read", {"half": 1}, arguments_error="no object")
    whole = events[-1].tool_call
    assert whole is not None
    assert (whole.arguments, whole.arguments_error) == ({}, "no object")


async def test_usage_ends_a_turn() -> None:
    events = await play(ScriptedModel([[say("a"), usage(3, 4), say("never")]]))
    assert events[-1].usage == ModelUsage(3, 4, 7)
    assert len(events) == 2


async def test_a_failure_ends_a_turn_without_done() -> None:
    events = await play(
        ScriptedModel([[say("a"), fail("agent.model.x", "broken", retryable=True)]])
    )
    assert events[-1].error is not None
    assert (events[-1].error.code, events[-1].error.retryable) == ("agent.model.x", True)


async def test_a_turn_may_return_without_done() -> None:
    events = await play(ScriptedModel([[say("a"), returns()]]))
    assert [event.kind for event in events] == [Kind.TOKEN_DELTA]


async def test_a_turn_may_raise() -> None:
    model = ScriptedModel([[say("a"), raises(ConnectionError("gone"))]])
    with pytest.raises(ConnectionError, match="gone"):
        await play(model)
    assert (model.opened, model.closed) == (1, 1)


async def test_a_gate_holds_the_stream_until_its_event() -> None:
    opened, reached = asyncio.Event(), asyncio.Event()
    model = ScriptedModel([[say("a"), gate(opened, reached=reached), say("b")]])
    task = asyncio.create_task(play(model))
    async with asyncio.timeout(5):
        await reached.wait()
        assert (model.opened, model.closed) == (1, 0)
        assert not task.done()
        opened.set()
        assert len(await task) == 3
    assert model.closed == 1


async def test_an_open_gate_lets_the_stream_through() -> None:
    opened = asyncio.Event()
    opened.set()
    assert len(await play(ScriptedModel([[gate(opened), say("b")]]))) == 2


async def test_closing_ends_a_hanging_stream() -> None:
    reached = asyncio.Event()
    model = ScriptedModel([[say("a"), hang(reached=reached)]])
    task = asyncio.create_task(play(model))
    async with asyncio.timeout(5):
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (model.opened, model.closed) == (1, 1)


async def test_an_early_close_is_counted() -> None:
    model = ScriptedModel([say("abc", chunk=1)])
    async with aclosing(model.stream(ASK)) as events:
        await anext(events)
    assert (model.opened, model.closed) == (1, 1)


async def test_a_turn_may_be_made_from_its_request() -> None:
    model = ScriptedModel([lambda request: say(request.messages[0].role.value)])
    assert (await play(model))[0].token_delta == "user"


async def test_asking_too_often_is_an_error_that_says_what_was_asked() -> None:
    model = ScriptedModel([say("a")])
    await play(model)
    with pytest.raises(ScriptExhaustedError, match=r"1 turns.*asked 2 times.*user: 'text'"):
        await play(model)
    with pytest.raises(ScriptExhaustedError):
        model.require_played()
    with pytest.raises(ScriptExhaustedError, match="no message"):
        await play(model, ask())


async def test_turns_that_were_not_asked_for_are_found() -> None:
    model = ScriptedModel([say("a")])
    model.extend(say("b"), say("c"))
    await play(model)
    assert model.remaining == 2
    with pytest.raises(ScriptExhaustedError, match="3 turns"):
        model.require_played()


async def test_by_progress_a_request_gets_the_same_turn_each_time() -> None:
    model = ScriptedModel([say("a"), say("b")], by_progress=True)
    later = ask(ModelMessageRole.USER, ModelMessageRole.ASSISTANT, ModelMessageRole.TOOL)
    assert (await play(model, later))[0].token_delta == "b"
    assert (await play(model, later))[0].token_delta == "b"
    assert (await play(model))[0].token_delta == "a"
    too_late = ask(*[ModelMessageRole.ASSISTANT] * 2)
    with pytest.raises(ScriptExhaustedError):
        await play(model, too_late)


async def test_complete_answers_from_the_same_script() -> None:
    turn: Turn = [
        think("hm"),
        say("te"),
        say("xt"),
        call("t", {"a": 1}, call_id="c"),
        structured({"b": 2}),
    ]
    turn = [*turn, usage(1, 2, metadata={"finish_reason": "stop"})]
    model = ScriptedModel([turn, say("more")])
    response = await model.complete(ASK)
    assert response.content == "text"
    assert [(item.name, item.arguments) for item in response.tool_calls] == [("t", {"a": 1})]
    assert response.structured_output == {"b": 2}
    assert response.usage == ModelUsage(1, 2, 3)
    assert response.metadata == {"finish_reason": "stop"}
    assert (await model.complete(ASK)).content == "more"


async def test_complete_raises_a_scripted_failure() -> None:
    model = ScriptedModel([[fail("agent.model.rate_limit", "slow down", retryable=True)]])
    with pytest.raises(AgentModelError, match="slow down") as caught:
        await model.complete(ASK)
    assert (caught.value.error_code, caught.value.retryable) == ("agent.model.rate_limit", True)


def test_capabilities_are_chosen_by_the_selection() -> None:
    default, big, small = (
        ModelCapability(),
        ModelCapability(context_window_tokens=100),
        ModelCapability(context_window_tokens=10),
    )
    model = ScriptedModel(capability=default, capabilities={"big": big, "small": small})
    assert model.capability is default
    assert model.capability_for() is default
    assert model.capability_for(ModelSelection(provider="big", model="small")) is small
    assert model.capability_for(ModelSelection(profile="big", model="small")) is big
    assert model.capability_for(ModelSelection(model="unknown")) is default


def test_an_empty_text_is_one_delta_and_a_chunk_has_a_size() -> None:
    assert len(say("", chunk=3)) == 1
    with pytest.raises(AgentValueError, match="chunk"):
        say("text", chunk=0)
