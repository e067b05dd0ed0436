"""One client per event loop, opened late and closed early."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any, Self

import httpx
import pytest
from vllm_server import ModelServer, Reply
from vllm_wire import DONE, Heard, ask, finish, listen, text

from spakky.plugins.vllm import VllmAgentModel, VllmProfile, VllmRuntime
from spakky.plugins.vllm.client import ClientPool, bare_tls_context, full_tls_context

GOOD = Reply([text("ok"), finish("stop"), DONE])


class OtherLoop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.loop.shutdown_asyncgens(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        self.loop.close()

    # What comes back is whatever the coroutine gives.
    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        async with asyncio.timeout(5):
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))


async def test_requests_of_one_loop_share_client_and_connection(
    server: ModelServer, model: VllmAgentModel
) -> None:
    server.reply(GOOD)
    client = await model._pool.acquire()
    for _ in range(3):
        assert (await listen(model, ask())).text == "ok"

    assert await model._pool.acquire() is client
    assert server.connections == 1


@pytest.mark.requirement("VLLM-2")
async def test_one_model_serves_several_event_loops(
    server: ModelServer, model: VllmAgentModel
) -> None:
    server.reply(GOOD)
    with OtherLoop() as other:
        here, there = await asyncio.gather(listen(model, ask()), other.run(listen(model, ask())))
        assert here.text == there.text == "ok"
        assert server.connections == 2
        assert await other.run(model._pool.acquire()) is not await model._pool.acquire()


async def test_closing_closes_the_clients_of_every_loop(
    server: ModelServer, model: VllmAgentModel
) -> None:
    server.reply(GOOD)
    await listen(model, ask())
    here = await model._pool.acquire()
    with OtherLoop() as other:
        await other.run(listen(model, ask()))
        there = await other.run(model._pool.acquire())
        await model.aclose()
        assert here.http.is_closed
        async with asyncio.timeout(5):
            while not there.http.is_closed:
                await other.run(asyncio.sleep(0))
        assert (await listen(model, ask())).text == "ok"
        assert await model._pool.acquire() is not here


def test_a_loop_that_shuts_down_closes_its_client() -> None:
    model = VllmAgentModel(base_url="http://127.0.0.1:1/v1", model="m")

    async def acquire() -> httpx.AsyncClient:
        return (await model._pool.acquire()).http

    client = asyncio.run(acquire())

    assert client.is_closed
    assert len(model._pool._clients) == 0


async def test_the_client_of_a_loop_that_has_ended_without_a_shutdown_is_let_go() -> None:
    pool = ClientPool({"default": VllmProfile(model="m")})
    loop = asyncio.new_event_loop()
    await asyncio.to_thread(loop.run_until_complete, pool.acquire())

    await pool.aclose()

    assert len(pool._clients) == 0
    await asyncio.to_thread(loop.run_until_complete, loop.shutdown_asyncgens())
    loop.close()


async def test_plain_http_loads_no_authorities_and_https_shares_one_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = ClientPool({"default": VllmProfile(model="m")})
    secure = ClientPool({"default": VllmProfile(model="m", base_url="https://h/v1")})

    assert plain._tls_context() is bare_tls_context()
    assert secure._tls_context() is full_tls_context()
    assert bare_tls_context().get_ca_certs() == []
    assert bare_tls_context().check_hostname
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert plain._tls_context() is full_tls_context()


async def test_no_more_requests_run_at_a_time_than_the_profile_allows(server: ModelServer) -> None:
    profile = VllmProfile(base_url=server.base_url, model="m", max_concurrency=2)
    model = VllmAgentModel(profiles={"default": profile})
    running = 0
    most = 0

    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)

    async def leave() -> None:
        nonlocal running
        running -= 1

    server.reply(Reply([text("a"), finish("stop") + DONE], before=count, between=None))
    server.replies[0].between = leave_after(2, leave)
    heard: list[Heard] = await asyncio.gather(*(listen(model, ask()) for _ in range(6)))

    assert [item.text for item in heard] == ["a"] * 6
    assert most <= 2
    assert len(server.requests) == 6
    await model.aclose()


def leave_after(items: int, leave: Any) -> Any:
    """Call something after each so-manieth item."""
    seen = 0

    async def between() -> None:
        nonlocal seen
        seen += 1
        if seen % items == 0:
            await leave()

    return between


async def test_a_cookie_of_one_server_is_not_kept(
    server: ModelServer, model: VllmAgentModel
) -> None:
    good = Reply([text("ok"), finish("stop"), DONE])
    good.headers["set-cookie"] = "a=b"
    server.reply(good)
    for _ in range(2):
        await listen(model, ask())

    assert "cookie" not in server.requests[1].headers


async def test_closing_while_a_request_runs_ends_it_with_a_typed_error(server: ModelServer) -> None:
    gate = asyncio.Event()
    server.reply(Reply([text("a"), text("late")], between=gate.wait))
    model = VllmAgentModel(base_url=server.base_url, model="m")
    async with asyncio.timeout(5), aclosing(model.stream(ask())) as events:
        await anext(events)
        await model.aclose()
        rest = [item async for item in events]
    gate.set()

    assert [item.error.code for item in rest if item.error] == ["agent.model.protocol"]


async def test_a_client_that_was_closed_meanwhile_is_a_typed_error(server: ModelServer) -> None:
    class ClosingTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await model.aclose()
            message = "Cannot send a request, as the client has been closed."
            raise RuntimeError(message)

    runtime = VllmRuntime(transport=ClosingTransport, sleep=lambda _: asyncio.sleep(0))
    model = VllmAgentModel(base_url=server.base_url, model="m", runtime=runtime)

    heard = await listen(model, ask())

    assert heard.code == "agent.model.unavailable"
    assert "closed" in heard.errors[0].message
