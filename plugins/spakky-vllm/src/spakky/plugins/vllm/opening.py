"""Opens an answer: takes a free place, sends the request, sends it again, and goes on to the next profile.

All of that happens before the first event is handed out. After it nothing is sent again, because the text would come twice.
"""

import logging
from contextlib import AsyncExitStack

from spakky.agent.contracts.model_request import ModelRequest
from spakky.agent.contracts.model_stream import ModelStreamEvent
from spakky.plugins.vllm.backoff import plan_delay
from spakky.plugins.vllm.client import ClientPool, LoopClient
from spakky.plugins.vllm.deadline import Deadline, DeadlinePassedError, DeadlinePhase
from spakky.plugins.vllm.endpoint import Endpoint, build_endpoint
from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError
from spakky.plugins.vllm.exchange import Call, Exchange
from spakky.plugins.vllm.request_body import prepare_request
from spakky.plugins.vllm.router import ProfileCatalog, Route
from spakky.plugins.vllm.runtime import VllmRuntime

_LOGGER = logging.getLogger(__name__)


class OpenAnswer:
    """An answer that has begun, with everything that it holds: connection, place and timer.

    Args:
        exchange: The request and its answer.
        held: Gives everything back.
    """

    __slots__ = ("_exchange", "_held")

    def __init__(self, exchange: Exchange, held: AsyncExitStack) -> None:
        self._exchange = exchange
        self._held = held

    async def read(self) -> list[ModelStreamEvent]:
        """Give the next events in order; an empty list when the answer has ended.

        Raises:
            VllmModelError: The answer broke off or tells a failure.
        """
        return await self._exchange.read()

    async def aclose(self) -> None:
        """Give everything back; an answer that has not ended is cut."""
        await self._held.aclose()


class AnswerOpener:
    """Opens answers of the configured servers.

    Args:
        catalog: The servers.
        pool: The HTTP clients.
        runtime: How to wait between attempts.
    """

    def __init__(self, catalog: ProfileCatalog, pool: ClientPool, runtime: VllmRuntime) -> None:
        self._catalog = catalog
        self._pool = pool
        self._runtime = runtime
        self._endpoints: dict[str, Endpoint] = {}

    def endpoint(self, route: Route) -> Endpoint:
        """Give the addresses and headers of a route's server."""
        endpoint = self._endpoints.get(route.name)
        if endpoint is None:
            endpoint = self._endpoints[route.name] = build_endpoint(route.profile)
        return endpoint

    async def open(self, request: ModelRequest, *, streamed: bool) -> OpenAnswer:
        """Ask, and give the answer once it has begun.

        Args:
            request: What is asked; its selection says whom.
            streamed: Whether the answer is asked for as a stream.

        Raises:
            VllmModelError: Nobody answered; the error is that of the last profile that was tried.
        """
        *others, last = self._catalog.plan_routes(request.model_selection)
        for route in others:
            try:
                return await self._open_route(route, request, streamed=streamed)
            except VllmModelError as error:
                if not error.retryable:
                    raise
                _LOGGER.warning(
                    "Profile %s failed with %s; the next one is asked.",
                    route.name,
                    error.error_code,
                )
        return await self._open_route(last, request, streamed=streamed)

    async def _open_route(
        self, route: Route, request: ModelRequest, *, streamed: bool
    ) -> OpenAnswer:
        prepared = prepare_request(request, route, streamed=streamed)
        call = Call(route.profile, self.endpoint(route), route.to_target(), prepared, streamed)
        client = await self._pool.acquire()
        async with AsyncExitStack() as held:
            deadline = Deadline(route.profile.timeouts.total_seconds)
            held.callback(deadline.close)
            await self._enter_slot(held, client, route, deadline)
            exchange = await self._attempt(call, client, deadline)
            held.push_async_callback(exchange.aclose)
            return OpenAnswer(exchange, held.pop_all())

    @staticmethod
    async def _enter_slot(
        held: AsyncExitStack, client: LoopClient, route: Route, deadline: Deadline
    ) -> None:
        slot = client.slot(route.name, route.profile)
        try:
            await deadline.wait(held.enter_async_context(slot))
        except DeadlinePassedError as error:
            raise route.to_target().fault(
                ModelErrorCode.TIMEOUT,
                f"Waited {error.seconds:g} s for one of {route.profile.max_concurrency} places, in vain,",
                "Try again, or raise the profile's max_concurrency.",
                retryable=True,
            ) from error

    async def _attempt(self, call: Call, client: LoopClient, deadline: Deadline) -> Exchange:
        """Send the request until an answer begins or the policy has enough."""
        attempts = 0
        while True:
            exchange = Exchange(call, client, deadline, self._runtime)
            try:
                await exchange.open()
            except VllmModelError as error:
                await exchange.aclose()
                attempts += 1
                await self._wait_for_next(call, deadline, attempts, error)
            except BaseException:
                await exchange.aclose()
                raise
            else:
                return exchange

    async def _wait_for_next(
        self, call: Call, deadline: Deadline, attempts: int, error: VllmModelError
    ) -> None:
        """Wait before the next attempt; when there is to be none, raise the error of the last one."""
        delay = plan_delay(call.profile.retry, attempts, error, self._runtime.chance())
        if delay is None or delay >= deadline.remaining():
            raise error
        deadline.expect(DeadlinePhase.TOTAL, None)
        try:
            await deadline.wait(self._runtime.sleep(delay))
        except DeadlinePassedError:
            raise error from None
