"""The model server of the benchmarks: a process of its own that writes prebuilt bytes.

``GET /connections`` tells how many connections were opened so far.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from scenarios import CROWD, Scenario, Script, write_script

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_script = cache(write_script)


class ModelServer:
    """Answers every request by the scenario in its path."""

    def __init__(self) -> None:
        self._connections = 0
        self._crowd = asyncio.Barrier(CROWD)

    async def serve(self) -> None:
        """Serve until the process is ended; the port is the first line of output."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=1024)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        path = head.split(b" ", 2)[1]
        if path == b"/connections":
            text = str(self._connections).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(text), text))
            return
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        scenario = Scenario(path.split(b"/")[1].decode())
        await self._write(writer, _script(scenario, body.count(b'"role":"assistant"')))

    async def _write(self, writer: asyncio.StreamWriter, script: Script) -> None:
        first, *rest = script.writes
        writer.write(_HEAD + first)
        if script.together > 1:
            await self._crowd.wait()
        for piece in rest:
            # Also without a pause this keeps two pieces apart on the wire.
            await asyncio.sleep(script.pause_seconds)
            writer.write(piece)
        await writer.drain()


@contextmanager
def running_server() -> Iterator[str]:
    """Run the server in a process of its own; gives its address without a path."""
    command = [sys.executable, str(Path(__file__).resolve())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


async def run() -> None:
    """Serve in the running loop."""
    await ModelServer().serve()


if __name__ == "__main__":
    asyncio.run(run())
