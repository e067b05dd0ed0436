"""CPU time per streamed delta: the adapter's own code alone, and the adapter beside a loop written by hand on httpx.

Run it with ``uv run python plugins/spakky-vllm/benchmarks/per_delta.py``. The server runs in a process of its own and writes prebuilt
bytes; all figures are CPU time of the client's process, the least of several runs, in microseconds per delta.
"""

# ruff: noqa: T201 - a script that prints its figures

import asyncio
import json
import multiprocessing
import sys
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection

import httpx

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelRequest
from spakky.agent.contracts.model_stream import ModelStreamEvent
from spakky.plugins.vllm import VllmAgentModel
from spakky.plugins.vllm.answer import AnswerReader
from spakky.plugins.vllm.request_body import PreparedRequest
from spakky.plugins.vllm.sse import SseDecoder
from spakky.plugins.vllm.target import Target
from spakky.plugins.vllm.tool_names import ToolNameMap

DELTAS = 2000
RUNS = 7
REQUEST = ModelRequest(messages=(ModelMessage(ModelMessageRole.USER, "hi"),))
TARGET = Target("default", "m", "http://127.0.0.1/v1")


def chunk(delta: dict[str, object], reason: str | None = None) -> bytes:
    """Give a chunk as a vLLM server writes it."""
    choice = {
        "index": 0,
        "delta": delta,
        "logprobs": None,
        "finish_reason": reason,
        "token_ids": None,
    }
    head = {
        "id": "chatcmpl-988ab5d9e206ec15",
        "object": "chat.completion.chunk",
        "created": 1796050163,
        "model": "m",
    }
    return (
        b"data: "
        + json.dumps({**head, "choices": [choice]}, separators=(",", ":")).encode()
        + b"\n\n"
    )


DELTA = chunk({"content": " token"})
END = chunk({}, "stop") + b"data: [DONE]\n\n"


def serve(pipe: Connection) -> None:
    """Answer every request with the same stream; one write per delta, or eight deltas in each write."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                writer.close()
                return
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            per_write = 8 if b"eight" in body or b"eight" in head else 1
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            piece = DELTA * per_write
            framed = b"%x\r\n%s\r\n" % (len(piece), piece)
            for _ in range(DELTAS // per_write):
                writer.write(framed)
                # A step of the loop between two writes keeps them apart on the wire.
                await asyncio.sleep(0)
            writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(END), END))
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def measure_own_code() -> float:
    """Give the time of decoding events and making ours from them, without any network."""
    best = float("inf")
    for _ in range(RUNS):
        decoder = SseDecoder()
        reader = AnswerReader(PreparedRequest(b"", ToolNameMap(()), structured=False), TARGET)
        began = time.process_time()
        for _ in range(DELTAS):
            events: list[ModelStreamEvent] = []
            for data in decoder.feed(DELTA):
                reader.feed(data, events)
        best = min(best, time.process_time() - began)
    return best / DELTAS * 1e6


async def by_hand(client: httpx.AsyncClient, url: str, model: str) -> int:
    """Read a stream as one would by hand."""
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": True}
    seen = 0
    async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                seen += bool(delta.get("content"))
    return seen


async def by_adapter(model: VllmAgentModel) -> int:
    """Read the same stream through the adapter."""
    seen = 0
    async for event in model.stream(REQUEST):
        seen += event.token_delta is not None
    return seen


async def best_of(work: Callable[[], Awaitable[int]]) -> float:
    """Give the least CPU time per delta of several runs."""
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        seen = await work()
        best = min(best, time.process_time() - began)
        if seen != DELTAS:
            message = f"{seen} deltas came, not {DELTAS}."
            raise RuntimeError(message)
    return best / DELTAS * 1e6


async def compare(port: int) -> None:
    """Print the adapter beside the loop written by hand."""
    url = f"http://127.0.0.1:{port}/v1"
    for name in ("one", "eight"):
        model = VllmAgentModel(base_url=url, model=name)
        async with httpx.AsyncClient(timeout=None) as client:  # noqa: S113 - the server is ours
            hand = await best_of(lambda: by_hand(client, url, name))  # noqa: B023 - awaited in this turn
            own = await best_of(lambda: by_adapter(model))  # noqa: B023 - likewise
        await model.aclose()
        print(
            f"{name:>5} per write: httpx by hand {hand:6.2f}   adapter {own:6.2f}   ratio {own / hand:.2f}"
        )


def main() -> None:
    """Run all measurements."""
    print(
        f"Python {sys.version.split()[0]}, httpx {httpx.__version__}; microseconds of CPU per delta"
    )
    print(f"own code alone: {measure_own_code():.2f}")
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    try:
        asyncio.run(compare(ours.recv()))
    finally:
        server.terminate()
        server.join(5)


if __name__ == "__main__":
    main()
