"""The transport over aiohttp: what it sends, what it gives, and its failures as those of httpx."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import aiohttp
import httpx
import pytest
from vllm_server import ModelServer, Reply

from spakky.plugins.vllm import HttpTransport
from spakky.plugins.vllm.aiohttp_transport import AiohttpTransport, told_as_httpx
from spakky.plugins.vllm.transports import make_transport

LIMITS = httpx.Limits(max_connections=None, keepalive_expiry=4.0)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = make_transport(HttpTransport.AIOHTTP, tls, LIMITS)
    async with httpx.AsyncClient(transport=transport, timeout=5) as open_client:
        yield open_client


async def test_a_request_goes_out_as_httpx_made_it(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.reply(Reply([b"one", b"two"], status=201, headers={"x-name": "value"}))

    response = await client.post(
        f"{server.base_url}/a%2Fb?q=%20c", content=b"body", headers={"x-mine": "yes"}
    )

    [received] = server.requests
    assert (received.method, received.path, received.body) == ("POST", "/v1/a%2Fb?q=%20c", b"body")
    assert received.headers["x-mine"] == "yes"
    assert received.headers["user-agent"].startswith("python-httpx/")
    assert "cookie" not in received.headers
    assert (response.status_code, response.content) == (201, b"onetwo")
    assert response.headers["x-name"] == "value"


async def test_a_connection_is_used_again_after_a_whole_answer_and_not_after_a_part(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.reply(Reply([b"x"] * 3))
    for _ in range(2):
        await client.get(server.base_url)
    assert server.connections == 1

    hold = asyncio.Event()
    server.reply(Reply([b"x"] * 3, between=hold.wait), Reply([b"y"]))
    async with client.stream("GET", server.base_url) as response:
        assert await anext(response.aiter_raw()) == b"x"
    hold.set()
    await client.get(server.base_url)

    assert server.connections == 2


async def test_nobody_listening_is_a_connect_error(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.ConnectError):
        await client.get("http://127.0.0.1:1/")


async def test_an_unknown_host_is_a_connect_error(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.ConnectError):
        await client.get("http://no-such-host.invalid/")


async def test_an_unknown_scheme_is_an_unsupported_protocol(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.UnsupportedProtocol):
        await client.get("gopher://127.0.0.1/")


async def test_a_body_that_breaks_off_is_a_protocol_error(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.reply(Reply([b"x"], cut=True))

    with pytest.raises(httpx.RemoteProtocolError):
        await client.get(server.base_url)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"], ids=["none", "no HTTP"])
async def test_an_answer_that_is_no_http_is_a_protocol_error(
    client: httpx.AsyncClient, answer: bytes
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_a_read_that_takes_too_long_is_a_read_timeout(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    hold = asyncio.Event()
    server.reply(Reply([b"x", b"y"], between=hold.wait))

    with pytest.raises(httpx.ReadTimeout):
        await client.get(server.base_url, timeout=httpx.Timeout(5, read=0.01))
    hold.set()


async def test_a_server_that_speaks_no_tls_is_a_connect_error(client: httpx.AsyncClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(httpx.ConnectError):
            await client.get(f"https://127.0.0.1:{port}/")


async def test_a_proxy_of_the_environment_is_asked(
    client: httpx.AsyncClient, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "localhost")

    await client.get("http://model.invalid/v1/models")

    [received] = server.requests
    assert received.path == "http://model.invalid/v1/models"


async def test_a_host_that_needs_no_proxy_is_asked_itself(
    client: httpx.AsyncClient, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    await client.get(server.base_url)

    assert len(server.requests) == 1


async def test_a_transport_that_was_never_used_can_be_closed() -> None:
    await AiohttpTransport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), LIMITS).aclose()


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (aiohttp.ConnectionTimeoutError(), httpx.ConnectTimeout),
        (aiohttp.SocketTimeoutError(), httpx.ReadTimeout),
        (aiohttp.ServerDisconnectedError(), httpx.RemoteProtocolError),
        (aiohttp.ClientOSError(), httpx.ReadError),
        (ConnectionResetError(), httpx.ReadError),
        (ValueError("a header with a line end"), httpx.LocalProtocolError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_is_told_as_httpx_tells_it(
    raised: Exception, told: type[httpx.TransportError]
) -> None:
    with pytest.raises(told), told_as_httpx():
        raise raised


def test_a_fault_of_the_program_stays_what_it_is() -> None:
    with pytest.raises(TypeError), told_as_httpx():
        raise TypeError
