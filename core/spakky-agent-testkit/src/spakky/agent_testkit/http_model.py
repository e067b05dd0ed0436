"""A model server over real HTTP on 127.0.0.1, in this process or as a program of its own.

As a program: ``python -m spakky.agent_testkit.http_model --script file.json --port 0``. It prints its base URL in one
line and serves until it is interrupted or terminated. The script's form is told at ``parse_script``.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from spakky.agent.error import AgentValueError
from spakky.agent.json_value import JsonObject
from spakky.agent_testkit.http_answers import (
    BAD_REQUEST,
    NO_MORE_ANSWERS,
    NOT_FOUND,
    UNAUTHORIZED,
    Answer,
    ChatAnswer,
    ChatCall,
    ChatPart,
    ChatReasoning,
    ChatText,
    Ending,
    Framing,
    Piece,
    RawAnswer,
    chat,
    raw,
    render_answer,
    reply,
)
from spakky.agent_testkit.http_script import Record, parse_answer, parse_script
from spakky.agent_testkit.http_wire import ClientGoneError, Connection, RecordedRequest

__all__ = [
    "Answer",
    "AnswerSource",
    "ChatAnswer",
    "ChatCall",
    "ChatPart",
    "ChatReasoning",
    "ChatText",
    "Ending",
    "Framing",
    "HttpModelServer",
    "Piece",
    "RawAnswer",
    "RecordedRequest",
    "chat",
    "parse_answer",
    "parse_script",
    "raw",
    "reply",
    "serve_in_child",
]

type AnswerSource = Answer | Callable[[RecordedRequest], Answer]
"""An answer, or a function that makes it from the request."""


class HttpModelServer:
    """Serves ``/v1/chat/completions`` from a list of answers, and ``/v1/models``.

    Each completion takes the next answer; when there is none left it is answered with status 500. Use it with
    ``async with``.

    Attributes:
        requests: Every request, in the order in which they were complete.
        connections: How many connections were opened.
        disconnects: How many times a client went away before its answer was complete.

    Args:
        answers: The answers, or functions from a request to its answer.
        models: The names of the models; the first one stands in answers to requests that name none.
        api_key: The key that requests must bear; any or none when it is None.
        by_progress: Choose the answer by how many assistant messages the request holds, so that a process that was
            killed and asks again gets the answer it missed.
        port: The port to listen on; 0 lets the system choose.
    """

    def __init__(
        self,
        answers: Iterable[AnswerSource] = (),
        *,
        models: Sequence[str] = ("scripted-model",),
        api_key: str | None = None,
        by_progress: bool = False,
        port: int = 0,
    ) -> None:
        self.requests: list[RecordedRequest] = []
        self.connections = 0
        self.disconnects = 0
        self._answers = list(answers)
        self._models = tuple(models)
        self._api_key = api_key
        self._by_progress = by_progress
        self._port = port
        self._completions = 0
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        server = self._require_open()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()
        self._server = None

    @property
    def base_url(self) -> str:
        """The base URL with its ``/v1``.

        Raises:
            AgentValueError: The server does not run.
        """
        port = self._require_open().sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return len(self._tasks)

    def extend(self, *answers: AnswerSource) -> None:
        """Add answers at the end."""
        self._answers.extend(answers)

    async def wait_for_requests(self, count: int, *, timeout_seconds: float = 5) -> None:
        """Wait until so many requests have come in.

        Raises:
            TimeoutError: They did not come in time.
        """
        await self._wait(lambda: len(self.requests) >= count, timeout_seconds)

    async def wait_for_disconnects(self, count: int = 1, *, timeout_seconds: float = 5) -> None:
        """Wait until so many clients have gone away in the middle of an answer.

        Raises:
            TimeoutError: They did not in time.
        """
        await self._wait(lambda: self.disconnects >= count, timeout_seconds)

    async def _wait(self, is_there: Callable[[], bool], timeout_seconds: float) -> None:
        async with asyncio.timeout(timeout_seconds), self._changed:
            await self._changed.wait_for(is_there)

    def _require_open(self) -> asyncio.Server:
        if self._server is None:
            message = "The HttpModelServer does not run; use it with 'async with'."
            raise AgentValueError(message)
        return self._server

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve_client(Connection(reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve_client(self, connection: Connection) -> None:
        self.connections += 1
        try:
            while await self._serve_request(connection):
                continue
        except ClientGoneError:
            return
        except asyncio.CancelledError:
            return  # the server is closing; its caller waits for this task, and nothing else does
        finally:
            await connection.close()

    async def _serve_request(self, connection: Connection) -> bool:
        request = await connection.read_request()
        if request is None:
            return False
        self.requests.append(request)
        answer = self._choose(request)
        await self._tell()
        sending = asyncio.create_task(connection.send(answer))
        gone = asyncio.create_task(connection.wait_until_gone())
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                return sending.result()
        except ClientGoneError:
            await self._count_disconnect()
            return False
        finally:
            await _stop(sending, gone)
        await self._count_disconnect()
        return False

    def _choose(self, request: RecordedRequest) -> RawAnswer:
        if (
            self._api_key is not None
            and request.headers.get("authorization") != f"Bearer {self._api_key}"
        ):
            return reply(401, UNAUTHORIZED)
        route = (request.method, request.path.partition("?")[0])
        if route == ("GET", "/v1/models"):
            return reply(200, {"object": "list", "data": [_model(name) for name in self._models]})
        if route != ("POST", "/v1/chat/completions"):
            return reply(404, NOT_FOUND)
        body = request.json
        if body is None:
            return reply(400, BAD_REQUEST)
        index = _progress(body) if self._by_progress else self._completions
        self._completions += 1
        if index >= len(self._answers):
            return reply(500, NO_MORE_ANSWERS)
        source = self._answers[index]
        answer = source(request) if callable(source) else source
        return render_answer(answer, body, str(body.get("model") or self._models[0]))

    async def _count_disconnect(self) -> None:
        self.disconnects += 1
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@asynccontextmanager
async def serve_in_child(script: JsonObject, folder: Path) -> AsyncGenerator[str]:
    """Run the server as a child process, for tests in which this process may die; gives its base URL.

    Args:
        script: The script's content, see ``parse_script``.
        folder: Where the script's file is written.
    """
    path = folder / "http-model-script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    arguments = ("-m", "spakky.agent_testkit.http_model", "--script", str(path))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        # The pipe is there because it was asked for; the reader beside it is for the type checker.
        output = process.stdout or asyncio.StreamReader()
        async with asyncio.timeout(30):
            line = await output.readline()
        yield line.decode().strip()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _stop(*tasks: asyncio.Task[bool] | asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _model(name: str) -> JsonObject:
    return {"id": name, "object": "model", "created": 0, "owned_by": "spakky-agent-testkit"}


def _progress(body: JsonObject) -> int:
    messages = body.get("messages")
    if not isinstance(messages, Sequence):
        return 0
    return sum(isinstance(item, Mapping) and item.get("role") == "assistant" for item in messages)


async def serve_script(script: Record, port: int) -> None:
    """Serve a script until SIGINT or SIGTERM; prints the base URL first."""
    answers, options = parse_script(script)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with HttpModelServer(answers, by_progress=options["by_progress"], port=port) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await stop.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server as a program."""
    parser = argparse.ArgumentParser(prog="python -m spakky.agent_testkit.http_model")
    parser.add_argument("--script", type=Path, required=True, help="a JSON file with the answers")
    parser.add_argument("--port", type=int, default=0, help="the port; 0 lets the system choose")
    options = parser.parse_args(arguments)
    script = json.loads(options.script.read_text(encoding="utf-8"))
    asyncio.run(serve_script(script, options.port))


if __name__ == "__main__":
    main()
