"""A real HTTP server on 127.0.0.1 that answers a model's requests with prepared bytes."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import msgspec

EVENT_STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


@dataclass(slots=True)
class Received:
    """A request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    connection: int

    @property
    def json(self) -> dict[str, object]:
        decoded: dict[str, object] = msgspec.json.decode(self.body)
        return decoded


@dataclass(slots=True)
class Reply:
    """What the server answers: a status, headers, and the body in the pieces in which it is written."""

    items: Iterable[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(EVENT_STREAM))
    one_byte_writes: bool = False
    compressed: bool = False
    reset: bool = False
    """Whether the connection is reset after the items, without an end of the body."""
    cut: bool = False
    """Whether the connection is closed after the items, without an end of the body."""
    close_delimited: bool = False
    """Whether the body has no length and ends where the connection does."""
    before: Callable[[], Awaitable[object]] | None = None
    """Is awaited before the status line."""
    between: Callable[[], Awaitable[object]] | None = None
    """Is awaited after each item."""


class ModelServer:
    """A small HTTP/1.1 server that answers with the replies it was given, the last one again and again."""

    def __init__(self) -> None:
        self.replies: list[Reply] = [Reply()]
        self.requests: list[Received] = []
        self.disconnected = asyncio.Event()
        self.connections = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._count = 0

    @property
    def base_url(self) -> str:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/v1"

    def reply(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self._count = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in tuple(self._writers):
            writer.transport.abort()
        async with asyncio.timeout(5):
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.connections += 1
        connection = self.connections
        try:
            while await self._serve_one(reader, writer, connection):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnected.set()
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _serve_one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        now = asyncio.get_running_loop().time()
        self.requests.append(Received(method, path, headers, body, now, connection))
        reply = self.replies[min(self._count, len(self.replies) - 1)]
        self._count += 1
        if reply.before is not None:
            await reply.before()
        await _write(writer, reply)
        return not (reply.reset or reply.cut or reply.close_delimited)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    if reply.status == 204:
        writer.write(b"HTTP/1.1 204 X\r\n\r\n")
        return
    headers = dict(reply.headers)
    if not reply.close_delimited:
        headers["transfer-encoding"] = "chunked"
    if reply.compressed:
        headers["content-encoding"] = "gzip"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode())
    compressor = zlib.compressobj(wbits=31) if reply.compressed else None
    for item in reply.items:
        body = item
        if compressor is not None:
            body = compressor.compress(item) + compressor.flush(zlib.Z_SYNC_FLUSH)
        _write_item(writer, reply, body)
        await writer.drain()
        if reply.between is not None:
            await reply.between()
    if reply.reset:
        writer.transport.abort()
        return
    if compressor is not None:
        _write_item(writer, reply, compressor.flush())
    if not (reply.cut or reply.close_delimited):
        writer.write(b"0\r\n\r\n")
    await writer.drain()


def _write_item(writer: asyncio.StreamWriter, reply: Reply, item: bytes) -> None:
    single = [item[at : at + 1] for at in range(len(item))]
    for piece in single if reply.one_byte_writes else [item]:
        if piece:
            size = b"" if reply.close_delimited else b"%x\r\n" % len(piece)
            writer.write(size + piece + (b"" if reply.close_delimited else b"\r\n"))
