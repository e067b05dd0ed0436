"""A transport of httpx that speaks through aiohttp, whose parser in C takes a third of the time; needs the extra ``aiohttp``.

Everything above it stays as it is: requests, responses and errors are those of httpx.

    what aiohttp raises                                     what comes out
    --------------------------------------------------------------------------------------
    no connection in time                                   httpx.ConnectTimeout
    no connection, no such host, a certificate              httpx.ConnectError
    a connection that ends before the answer's head         httpx.RemoteProtocolError
    an answer that is no HTTP                               httpx.RemoteProtocolError
    a body that breaks off                                  httpx.RemoteProtocolError, httpx.ReadError
    a request that cannot be written                        httpx.LocalProtocolError, httpx.UnsupportedProtocol
"""

import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import override
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from yarl import URL

# The first that fits counts, so a class comes before its bases.
_FAULTS: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout),
    (aiohttp.SocketTimeoutError, httpx.ReadTimeout),
    (aiohttp.ServerTimeoutError, httpx.ReadTimeout),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.ClientSSLError, httpx.ConnectError),
    (aiohttp.ServerDisconnectedError, httpx.RemoteProtocolError),
    (aiohttp.ClientHttpProxyError, httpx.ProxyError),
    (aiohttp.ClientResponseError, httpx.RemoteProtocolError),
    (aiohttp.ClientPayloadError, httpx.RemoteProtocolError),
    (aiohttp.NonHttpUrlClientError, httpx.UnsupportedProtocol),
    (aiohttp.InvalidURL, httpx.UnsupportedProtocol),
    (aiohttp.ClientConnectionError, httpx.ReadError),
    (aiohttp.ClientError, httpx.ReadError),
    (ConnectionError, httpx.ReadError),
    (ValueError, httpx.LocalProtocolError),
)


@contextmanager
def told_as_httpx() -> Iterator[None]:
    """Turn what aiohttp raises into the error of httpx that stands for it."""
    try:
        yield
    except Exception as error:
        for kind, told in _FAULTS:
            if isinstance(error, kind):
                raise told(str(error)) from error
        raise


class AiohttpStream(httpx.AsyncByteStream):
    """The body of an answer, in the pieces in which it comes from the network.

    Args:
        response: The answer whose head has been read.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @override
    async def __aiter__(self) -> AsyncGenerator[bytes]:
        read = self._response.content.readany
        try:
            with told_as_httpx():
                while piece := await read():
                    yield piece
        except RuntimeError as error:
            # What a reader says whose connection was closed from this side, when the model is closed for example.
            raise httpx.ReadError(str(error)) from error

    @override
    async def aclose(self) -> None:
        # A connection whose answer was read to its end has been given back by then; any other is cut.
        self._response.close()


class AiohttpTransport(httpx.AsyncBaseTransport):
    """One pool of connections of the event loop in which its first request is made.

    Args:
        tls: What servers' certificates are checked with.
        limits: As httpx takes them; ``max_keepalive_connections`` is without effect.
    """

    def __init__(self, tls: ssl.SSLContext, limits: httpx.Limits) -> None:
        self._tls = tls
        self._limits = limits
        self._session: aiohttp.ClientSession | None = None

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timeout = request.extensions.get("timeout", {})
        url = str(request.url)
        with told_as_httpx():
            response = await self._open().request(
                request.method,
                # It is encoded already, and must go out as it is.
                URL(url, encoded=True),
                headers=[
                    (name.decode("ascii"), value.decode("latin-1"))
                    for name, value in request.headers.raw
                ],
                data=await request.aread() or None,
                allow_redirects=False,
                proxy=_find_proxy(request.url),
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    sock_connect=timeout.get("connect"),
                    sock_read=timeout.get("read"),
                ),
                server_hostname=request.extensions.get("sni_hostname"),
            )
        return httpx.Response(
            response.status,
            headers=list(response.raw_headers),
            stream=AiohttpStream(response),
            extensions={"http_version": b"HTTP/1.1"},
        )

    @override
    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=self._limits.max_connections or 0,
                keepalive_timeout=self._limits.keepalive_expiry,
                ssl=self._tls,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                # httpx has its own of all of these.
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("accept", "accept-encoding", "content-type", "user-agent"),
            )
        return self._session


def _find_proxy(url: httpx.URL) -> str | None:
    """Give the proxy that the environment names for an address; httpx leaves that to its own transports."""
    proxies = getproxies()
    if not proxies or proxy_bypass(url.host):
        return None
    return proxies.get(url.scheme) or proxies.get("all")
