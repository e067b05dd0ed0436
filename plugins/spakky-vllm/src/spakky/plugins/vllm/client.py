"""HTTP clients: one pooled client per event loop, opened when it is first asked for.

A client belongs to the loop that used it first, while the container builds its Pods in one thread and may run services in the loop of
another. So nothing here is made before a request is; each loop gets its own client, shared by all profiles, and all loops share
one TLS context, which is what makes a client expensive.

A client is closed by ``aclose``, or by its loop when that shuts down: the client hangs on an asynchronous generator that the loop
knows, and ``asyncio.run`` and every other runner ends those before it closes the loop.
"""

import asyncio
import ssl
from asyncio import AbstractEventLoop, Semaphore
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from http.cookiejar import DefaultCookiePolicy
from threading import Lock
from urllib.request import getproxies
from weakref import WeakKeyDictionary

import httpx

from spakky.plugins.vllm.endpoint_profile import VllmProfile
from spakky.plugins.vllm.transports import HttpTransport, make_transport

# Servers of this kind commonly close an idle connection after five seconds; one that is dropped earlier is never found dead.
_KEEP_ALIVE_SECONDS = 4.0
_LIMITS = httpx.Limits(
    max_connections=None, max_keepalive_connections=100, keepalive_expiry=_KEEP_ALIVE_SECONDS
)

type TransportFactory = Callable[[], httpx.AsyncBaseTransport]


@dataclass(slots=True)
class LoopClient:
    """What one event loop uses.

    Attributes:
        http: The client.
        slots: The bound on concurrent requests, by profile.
    """

    http: httpx.AsyncClient
    slots: dict[str, Semaphore] = field(default_factory=dict)
    _keeper: AsyncGenerator[None] | None = None

    def slot(self, name: str, profile: VllmProfile) -> AbstractAsyncContextManager[None]:
        """Give what a request to a profile holds while it runs."""
        if profile.max_concurrency is None:
            return nullcontext()
        if name not in self.slots:
            self.slots[name] = Semaphore(profile.max_concurrency)
        return self.slots[name]


class ClientPool:
    """The clients of all event loops that use one model.

    Args:
        profiles: The servers that are asked through the clients.
        transport: Makes the transport of each client; None makes one of the given kind.
        kind: What carries the requests where no transport is given.
    """

    def __init__(
        self,
        profiles: Mapping[str, VllmProfile],
        transport: TransportFactory | None = None,
        kind: HttpTransport = HttpTransport.HTTPX,
    ) -> None:
        self._profiles = profiles
        self._transport = transport
        self._kind = kind
        self._lock = Lock()
        self._clients: WeakKeyDictionary[AbstractEventLoop, LoopClient] = WeakKeyDictionary()

    async def acquire(self) -> LoopClient:
        """Give the client of the running event loop; the first call of a loop opens it."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = LoopClient(self._build())
            keeper = self._keep(loop, client)
            client._keeper = keeper
            with self._lock:
                self._clients[loop] = client
            # The first step only reaches the yield; from there on the loop knows the generator and ends it when it shuts down.
            await anext(keeper)
        return client

    async def aclose(self) -> None:
        """Close every client; a later request opens a new one.

        The client of the running loop is closed when this returns. A client of a loop that runs elsewhere is closed there soon
        after, without waiting, since that loop may be the one that waits for us. One whose loop has ended is let go.
        """
        here = asyncio.get_running_loop()
        with self._lock:
            clients = list(self._clients.items())
            self._clients.clear()
        for loop, client in clients:
            if loop is here:
                await client.http.aclose()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(client.http.aclose(), loop)

    async def _keep(self, loop: AbstractEventLoop, client: LoopClient) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            with self._lock:
                self._clients.pop(loop, None)
            await client.http.aclose()

    def _build(self) -> httpx.AsyncClient:
        tls = self._tls_context()
        if self._transport is None:
            transport = make_transport(self._kind, tls, _LIMITS)
        else:
            transport = self._transport()
        # Every request brings its own timeout for connecting; the deadlines of the adapter do the rest.
        client = httpx.AsyncClient(
            verify=tls,
            limits=_LIMITS,
            transport=transport,
            timeout=httpx.Timeout(None),
        )
        # One client serves several servers; a cookie of one is nothing for the others.
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
        return client

    def _tls_context(self) -> ssl.SSLContext:
        secure = any(profile.base_url.startswith("https:") for profile in self._profiles.values())
        return full_tls_context() if secure or getproxies() else bare_tls_context()


@cache
def full_tls_context() -> ssl.SSLContext:
    """Give the process's one TLS context with the trusted authorities; loading them takes tens of milliseconds."""
    return httpx.create_ssl_context()


@cache
def bare_tls_context() -> ssl.SSLContext:
    """Give a TLS context that trusts nobody, for clients that speak plain HTTP only."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
