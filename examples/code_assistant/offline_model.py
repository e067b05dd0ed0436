"""The offline demo model: a small HTTP server on 127.0.0.1 that answers chat completions with the offline planner.

It speaks the protocol of OpenAI-compatible servers as far as the agent's adapter uses it: ``/v1/models`` and
``/v1/chat/completions``, whole or as a stream of server-sent events, with tool calls. It keeps nothing of a request.
"""

import asyncio
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from code_assistant.planner import Decision, plan_answer

OFFLINE_MODEL = "offline-planner"
"""The name under which the planner is offered."""

_MAX_HEADER_BYTES = 64_000
_MAX_BODY_BYTES = 64_000_000
_READ_SECONDS = 60.0
_PIECE = re.compile(r"\s*\S+\s*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")

type Body = Mapping[str, object]


class _BadRequestError(Exception):
    """A request that is not understood; the message goes to the client."""


class OfflineModelServer:
    """Serves until the block of its ``async with`` ends."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, limit=_MAX_HEADER_BYTES
        )
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def base_url(self) -> str:
        """The address, as a client is configured with it."""
        sockets = () if self._server is None else self._server.sockets
        port = sockets[0].getsockname()[1] if sockets else 0
        return f"http://127.0.0.1:{port}/v1"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request and close; the client notices the end of a body by that."""
    try:
        async with asyncio.timeout(_READ_SECONDS):
            method, path, body = await _read_request(reader)
        for piece in _answer(method, path, body):
            writer.write(piece)
            await writer.drain()
    except (_BadRequestError, ValueError) as error:
        writer.write(_json_answer(400, {"error": {"message": str(error), "type": "bad_request"}}))
    except (ConnectionError, EOFError, TimeoutError):
        pass  # the client went away
    finally:
        writer.close()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError:
        message = "The header is too long."
        raise _BadRequestError(message) from None
    first, *lines = head.split("\r\n")
    method, _, rest = first.partition(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, colon, value in (line.partition(":") for line in lines)
        if colon
    }
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= _MAX_BODY_BYTES:
        message = f"The body must have at most {_MAX_BODY_BYTES} bytes."
        raise _BadRequestError(message)
    return method, rest.partition(" ")[0].partition("?")[0], await reader.readexactly(length)


def _answer(method: str, path: str, body: bytes) -> Iterator[bytes]:
    if (method, path) == ("GET", "/v1/models"):
        models = [{"id": OFFLINE_MODEL, "object": "model", "created": 0, "owned_by": "demo"}]
        yield _json_answer(200, {"object": "list", "data": models})
        return
    if (method, path) != ("POST", "/v1/chat/completions"):
        yield _json_answer(404, {"error": {"message": f"There is no {method} {path}."}})
        return
    request = json.loads(body)
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        message = "The body must be an object with messages."
        raise _BadRequestError(message)
    decision = plan_answer([item for item in request["messages"] if isinstance(item, Mapping)])
    wire_name = _wire_name(decision, request)
    if request.get("stream") is True:
        yield from _stream(decision, wire_name)
    else:
        yield _json_answer(200, _whole(decision, wire_name))


def _wire_name(decision: Decision, request: Body) -> str:
    """Give the name under which the client offers the tool: servers' rules do not allow dots in names."""
    if decision.call is None:
        return ""
    wanted = _FOREIGN.sub("_", decision.call.name)
    tools = request.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        match tool:
            case {"function": {"name": str(name)}} if _FOREIGN.sub("_", name) == wanted:
                return name
            case _:
                continue
    return decision.call.name


def _stream(decision: Decision, wire_name: str) -> Iterator[bytes]:
    yield _head(200, "text/event-stream")
    answer_id = f"chatcmpl-{secrets.token_hex(8)}"
    yield _event(answer_id, {"role": "assistant", "content": ""})
    for piece in _PIECE.findall(decision.text):
        yield _event(answer_id, {"content": piece})
    if decision.call is not None:
        arguments = json.dumps(dict(decision.call.arguments), ensure_ascii=False)
        start = {"name": wire_name, "arguments": ""}
        call = {"index": 0, "id": f"call_{secrets.token_hex(8)}", "type": "function"}
        yield _event(answer_id, {"tool_calls": [{**call, "function": start}]})
        for begin in range(0, len(arguments), 400):
            part = {"index": 0, "function": {"arguments": arguments[begin : begin + 400]}}
            yield _event(answer_id, {"tool_calls": [part]})
    yield _event(answer_id, {}, _finish_reason(decision))
    yield b"data: [DONE]\n\n"


def _event(answer_id: str, delta: Body, finish_reason: str | None = None) -> bytes:
    chunk = {
        "id": answer_id,
        "object": "chat.completion.chunk",
        "created": 0,
        "model": OFFLINE_MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"


def _whole(decision: Decision, wire_name: str) -> Body:
    message: dict[str, object] = {"role": "assistant", "content": decision.text}
    if decision.call is not None:
        arguments = json.dumps(dict(decision.call.arguments), ensure_ascii=False)
        function = {"name": wire_name, "arguments": arguments}
        call = {"id": f"call_{secrets.token_hex(8)}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": 0,
        "model": OFFLINE_MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(decision)}],
    }


def _finish_reason(decision: Decision) -> str:
    return "stop" if decision.call is None else "tool_calls"


def _head(status: int, content_type: str, length: int | None = None) -> bytes:
    reason = {200: "OK", 400: "Bad Request", 404: "Not Found"}[status]
    size = "" if length is None else f"content-length: {length}\r\n"
    return (
        f"HTTP/1.1 {status} {reason}\r\ncontent-type: {content_type}\r\n{size}connection: close\r\n\r\n"
    ).encode()


def _json_answer(status: int, value: Body) -> bytes:
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return _head(status, "application/json", len(body)) + body
