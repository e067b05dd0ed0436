"""One HTTP/1.1 connection of the model server: requests in, answers out, and whether the client is still there."""

import asyncio
import json
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from spakky.agent.json_value import JsonObject
from spakky.agent_testkit.http_answers import Ending, Framing, RawAnswer

_BLOCK_BYTES = 65536


class ClientGoneError(Exception):
    """The client closed or broke the connection."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that the server received.

    Attributes:
        method: The method.
        path: The path with its query.
        headers: The headers by their names in lower case; the last of equal names.
        body: The body's bytes.
        received_at: When it was complete, in seconds of the event loop's clock.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    received_at: float

    @property
    def json(self) -> JsonObject | None:
        """The body as a JSON object; None when it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


class Connection:
    """Reads requests from, and writes answers to, one client.

    Args:
        reader: What the client sends.
        writer: What the client gets.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()

    async def read_request(self) -> RecordedRequest | None:
        """Give the next request; None when the client closed the connection before one."""
        try:
            head = await self._take_until(b"\r\n\r\n")
        except ClientGoneError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await self._read_body(headers)
        now = asyncio.get_running_loop().time()
        return RecordedRequest(method, path, headers, body, now)

    async def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._take(int(headers.get("content-length", "0")))
        body = b""
        while size := int((await self._take_until(b"\r\n")).split(b";")[0], 16):
            body += await self._take(size)
            await self._take(2)
        await self._take_until(b"\r\n")
        return body

    async def _take_until(self, mark: bytes) -> bytes:
        while (end := self._buffer.find(mark)) < 0:
            await self._fill()
        taken = bytes(self._buffer[:end])
        del self._buffer[: end + len(mark)]
        return taken

    async def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._fill()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    async def _fill(self) -> None:
        try:
            block = await self._reader.read(_BLOCK_BYTES)
        except ConnectionError as error:
            raise ClientGoneError from error
        if not block:
            raise ClientGoneError
        self._buffer += block

    async def wait_until_gone(self) -> None:
        """Return when the client closes or breaks the connection; what it still sends is kept for the next request."""
        try:
            while True:
                await self._fill()
        except ClientGoneError:
            return

    async def send(self, answer: RawAnswer) -> bool:
        """Write an answer.

        Returns:
            Whether the connection can take another request.

        Raises:
            ClientGoneError: The client broke the connection.
        """
        if answer.before is not None:
            await answer.before.wait()
        try:
            await self._write(render_head(answer))
            for piece in answer.pieces:
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                    continue
                for block in _blocks(piece, one_byte=answer.one_byte_writes):
                    await self._write(_frame(block, answer.framing))
            return await self._end(answer)
        except ConnectionError as error:
            raise ClientGoneError from error

    async def _write(self, block: bytes) -> None:
        self._writer.write(block)
        await self._writer.drain()

    async def _end(self, answer: RawAnswer) -> bool:
        if answer.ending is Ending.RESET:
            sock: socket.socket = self._writer.get_extra_info("socket")
            # A linger time of zero makes the close a reset.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if answer.ending is not Ending.CLEAN or answer.framing is Framing.CLOSE:
            return False
        if answer.framing is Framing.CHUNKED:
            await self._write(b"0\r\n\r\n")
        return True

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return


def render_head(answer: RawAnswer) -> bytes:
    """Give the status line and headers of an answer."""
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {answer.status} {phrase}"]
    if answer.content_type:
        lines.append(f"content-type: {answer.content_type}")
    if answer.framing is Framing.CHUNKED:
        lines.append("transfer-encoding: chunked")
    elif answer.framing is Framing.LENGTH:
        size = sum(len(piece) for piece in answer.pieces if isinstance(piece, bytes))
        promised = size + 1 if answer.ending is Ending.CUT else size
        lines.append(f"content-length: {promised}")
    else:
        lines.append("connection: close")
    lines.extend(f"{name}: {value}" for name, value in answer.headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _blocks(piece: bytes, *, one_byte: bool) -> Iterator[bytes]:
    if not one_byte:
        if piece:
            yield piece
        return
    for index in range(len(piece)):
        yield piece[index : index + 1]


def _frame(block: bytes, framing: Framing) -> bytes:
    if framing is not Framing.CHUNKED:
        return block
    return b"%x\r\n%s\r\n" % (len(block), block)
