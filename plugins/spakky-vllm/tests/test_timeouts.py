"""Deadlines and cancellation, against a server that is slow on purpose."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from itertools import repeat

import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import DONE, Heard, ask, delta, finish, listen, text, usage

from spakky.agent.contracts.model_stream import ModelStreamEventKind as Kind
from spakky.plugins.vllm import VllmAgentModel, VllmModelError, VllmProfile

SOON = 0.15


@pytest.fixture
async def gate() -> AsyncIterator[asyncio.Event]:
    """Holds the server back until the test is over."""
    held = asyncio.Event()
    yield held
    held.set()


def make(server: ModelServer, **timeouts: float) -> VllmAgentModel:
    profile = VllmProfile.model_validate(
        {
            "base_url": server.base_url,
            "model": "m",
            "timeouts": timeouts,
            "retry": {"max_attempts": 1},
        }
    )
    return VllmAgentModel(profiles={"default": profile})


async def hear(model: VllmAgentModel) -> Heard:
    async with asyncio.timeout(5):
        heard = await listen(model, ask())
    await model.aclose()
    return heard


@pytest.mark.requirement("VLLM-6")
async def test_a_server_that_never_answers_is_a_timeout(
    server: ModelServer, gate: asyncio.Event
) -> None:
    server.reply(Reply([text("late")], before=gate.wait))

    heard = await hear(make(server, first_delta_seconds=SOON))

    assert heard.code == "agent.model.timeout"
    assert heard.errors[0].retryable
    assert "0.15 s for the first part" in heard.errors[0].message


@pytest.mark.requirement("VLLM-6")
async def test_headers_and_comments_are_no_first_delta(
    server: ModelServer, gate: asyncio.Event
) -> None:
    items = [b": wait\n\n", delta({"role": "assistant", "content": ""})]
    server.reply(Reply([*items, b": on\n\n", text("late")], between=after(3, gate)))

    assert (await hear(make(server, first_delta_seconds=SOON))).code == "agent.model.timeout"


def after(items: int, gate: asyncio.Event) -> "After":
    return After(items, gate)


class After:
    """Lets some items pass and then waits for the gate."""

    def __init__(self, items: int, gate: asyncio.Event) -> None:
        self.left = items
        self.gate = gate

    async def __call__(self) -> None:
        self.left -= 1
        if self.left <= 0:
            await self.gate.wait()


@pytest.mark.requirement("VLLM-6")
async def test_a_stream_that_falls_silent_is_a_timeout(
    server: ModelServer, gate: asyncio.Event
) -> None:
    server.reply(Reply([text("a"), text("b"), text("late")], between=after(2, gate)))

    heard = await hear(make(server, idle_seconds=SOON))

    assert heard.text == "ab"
    assert heard.code == "agent.model.timeout"
    assert "the next part" in heard.errors[0].message


@pytest.mark.requirement("VLLM-6")
async def test_comments_that_keep_a_connection_alive_are_no_deltas(server: ModelServer) -> None:
    def items() -> Iterator[bytes]:
        yield text("a")
        yield from repeat(b": ping\n\n")

    server.reply(Reply(items(), between=lambda: asyncio.sleep(0)))

    heard = await hear(make(server, idle_seconds=SOON))

    assert heard.text == "a"
    assert heard.code == "agent.model.timeout"


@pytest.mark.requirement("VLLM-6")
async def test_the_total_time_bounds_a_stream_that_never_ends(server: ModelServer) -> None:
    server.reply(Reply(repeat(text("a")), between=lambda: asyncio.sleep(0)))

    heard = await hear(make(server, total_seconds=SOON))

    assert heard.text
    assert heard.code == "agent.model.timeout"
    assert "the end of the request" in heard.errors[0].message


@pytest.mark.requirement("VLLM-6")
async def test_the_total_time_bounds_a_whole_answer(
    server: ModelServer, gate: asyncio.Event
) -> None:
    server.reply(Reply([b"{", b"}"], headers=JSON, between=after(1, gate)))
    model = make(server, total_seconds=SOON, first_delta_seconds=0.001)

    with pytest.raises(VllmModelError, match="the end of the request"):
        async with asyncio.timeout(5):
            await model.complete(ask())
    await model.aclose()


@pytest.mark.parametrize("last", ["nothing", "comments", "text"])
@pytest.mark.requirement("VLLM-6", "MODEL-12")
async def test_an_answer_is_complete_without_the_counts_that_never_come(
    server: ModelServer, gate: asyncio.Event, last: str
) -> None:
    def items() -> Iterator[bytes]:
        yield text("full")
        yield delta({"content": "!"}, "stop") if last == "text" else finish("stop")
        if last == "comments":
            yield from repeat(b": ping\n\n")
        yield DONE

    between = after(2, gate) if last != "comments" else lambda: asyncio.sleep(0)
    server.reply(Reply(items(), between=between))

    heard = await hear(make(server, usage_seconds=SOON))

    assert heard.kinds[-1] is Kind.DONE
    assert heard.usage is None
    assert heard.text == ("full!" if last == "text" else "full")


@pytest.mark.requirement("VLLM-6", "MODEL-12")
async def test_counts_that_come_after_the_end_of_the_text_are_waited_for(
    server: ModelServer, gate: asyncio.Event
) -> None:
    server.reply(Reply([text("a"), finish("stop"), usage(3, 1, 4), DONE], between=after(2, gate)))
    model = make(server)
    heard = Heard()
    async with asyncio.timeout(5), aclosing(model.stream(ask())) as events:
        async for item in events:
            heard.events.append(item)
            gate.set()

    assert heard.usage is not None
    assert heard.usage.total_tokens == 4
    await model.aclose()


@pytest.mark.requirement("VLLM-6")
async def test_a_slow_consumer_is_no_slow_server(server: ModelServer) -> None:
    server.reply(Reply([text("a"), text("b"), finish("stop"), DONE]))
    model = make(server, idle_seconds=0.05, first_delta_seconds=0.05)
    heard = Heard()
    async with aclosing(model.stream(ask())) as events:
        async for item in events:
            heard.events.append(item)
            await passing(0.1)

    assert heard.kinds == [Kind.TOKEN_DELTA, Kind.TOKEN_DELTA, Kind.DONE]
    await model.aclose()


async def passing(seconds: float) -> None:
    """Let the loop's own clock go on by so much."""
    loop = asyncio.get_running_loop()
    passed = loop.create_future()
    loop.call_later(seconds, passed.set_result, None)
    await passed


@pytest.mark.requirement("VLLM-6")
async def test_the_total_time_goes_on_while_the_consumer_works(server: ModelServer) -> None:
    gate = asyncio.Event()
    server.reply(Reply([text("a"), text("b")], between=after(1, gate)))
    model = make(server, total_seconds=0.1)
    heard = Heard()
    async with asyncio.timeout(5), aclosing(model.stream(ask())) as events:
        async for item in events:
            heard.events.append(item)
            await passing(0.15)
    gate.set()

    assert heard.text == "a"
    assert heard.code == "agent.model.timeout"
    await model.aclose()


@pytest.mark.requirement("VLLM-6", "LOOP-27")
async def test_closing_the_iterator_cuts_the_request(
    server: ModelServer, gate: asyncio.Event
) -> None:
    server.reply(Reply(repeat(text("a")), between=lambda: asyncio.sleep(0)))
    model = make(server)
    async with asyncio.timeout(5), aclosing(model.stream(ask())) as events:
        async for _ in events:
            break
    async with asyncio.timeout(5):
        await server.disconnected.wait()
    await model.aclose()


@pytest.mark.parametrize("how", ["stream", "complete"])
@pytest.mark.requirement("VLLM-6", "CANCEL-2")
async def test_cancelling_the_task_cuts_the_request(
    server: ModelServer, gate: asyncio.Event, how: str
) -> None:
    asked = asyncio.Event()

    async def wait_between() -> None:
        asked.set()
        await passing(0.01)

    server.reply(Reply(repeat(b" "), headers=JSON, between=wait_between))
    model = make(server)
    work = listen(model, ask()) if how == "stream" else model.complete(ask())
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(5):
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.disconnected.wait()
    assert task.cancelled()
    await model.aclose()


@pytest.mark.requirement("VLLM-6")
async def test_a_deadline_leaves_no_cancellation_behind(
    server: ModelServer, gate: asyncio.Event
) -> None:
    server.reply(Reply([text("late")], before=gate.wait))
    model = make(server, first_delta_seconds=SOON)
    task = asyncio.current_task()
    assert task is not None
    async with asyncio.timeout(5):
        heard = await listen(model, ask())

    assert heard.code == "agent.model.timeout"
    assert task.cancelling() == 0
    await model.aclose()


@pytest.mark.requirement("VLLM-6")
async def test_a_place_that_never_becomes_free_is_a_timeout(
    server: ModelServer, gate: asyncio.Event
) -> None:
    profile = VllmProfile.model_validate(
        {
            "base_url": server.base_url,
            "model": "m",
            "max_concurrency": 1,
            "timeouts": {"total_seconds": SOON},
        }
    )
    model = VllmAgentModel(profiles={"default": profile})
    server.reply(Reply([text("a"), text("late")], between=after(1, gate)))
    async with asyncio.timeout(5), aclosing(model.stream(ask())) as first:
        await anext(first)
        heard = await listen(model, ask())
    assert len(server.requests) == 1
    assert heard.code == "agent.model.timeout"
    assert "for one of 1 places" in heard.errors[0].message
    server.reply(Reply([text("b"), finish("stop"), DONE]))
    assert (await listen(model, ask())).text == "b"
    await model.aclose()
