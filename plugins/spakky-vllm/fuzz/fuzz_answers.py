"""Coverage-guided fuzzing: any bytes as an answer, cut anywhere, give events and at most one typed error, and no hang.

    pip install atheris
    python plugins/spakky-vllm/fuzz/make_corpus.py corpus
    python plugins/spakky-vllm/fuzz/fuzz_answers.py -timeout=10 -max_len=8192 -runs=1000000 corpus

The first byte of an input says the status and the compression, the second how the rest is cut.
"""

# ruff: noqa: S101 - a program whose checks are assertions; imports are instrumented

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import override

# It is installed for a fuzz run only, and has no types.
import atheris  # type: ignore[import-untyped]
import httpx

with atheris.instrument_imports(include=["spakky.plugins.vllm"]):
    from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
    from spakky.agent.contracts.model_request import (
        JsonSchemaConstraint,
        ModelRequest,
        ModelToolSpec,
        StructuredOutputSpec,
        ToolCallingSpec,
    )
    from spakky.agent.contracts.model_stream import ModelStreamEvent, ModelStreamEventKind
    from spakky.plugins.vllm import (
        ModelErrorCode,
        VllmAgentModel,
        VllmProfile,
        VllmRetry,
        VllmRuntime,
    )

STATUSES = (200, 200, 200, 200, 200, 400, 429, 500)
CODES = {code.value for code in ModelErrorCode}
ENDS = {ModelStreamEventKind.DONE, ModelStreamEventKind.ERROR}
SCHEMA = JsonSchemaConstraint({"type": "object", "properties": {"path": {"type": "string"}}})
REQUEST = ModelRequest(
    messages=(ModelMessage(ModelMessageRole.USER, "hi"),),
    structured_output=StructuredOutputSpec(SCHEMA),
    tool_calling=ToolCallingSpec((ModelToolSpec("read", SCHEMA), ModelToolSpec("save", SCHEMA))),
)


class Body(httpx.AsyncByteStream):
    """A body in pieces of one size."""

    def __init__(self, body: bytes, size: int) -> None:
        self._body = body
        self._size = size

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), self._size):
            yield self._body[at : at + self._size]


class Transport(httpx.AsyncBaseTransport):
    """Answers every request with the input of the moment."""

    def __init__(self) -> None:
        self.data = b""

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        head, size = self.data[0], self.data[1]
        headers = {"content-encoding": "gzip"} if head & 8 else {}
        stream = Body(self.data[2:], size or 4096)
        return httpx.Response(STATUSES[head & 7], headers=headers, stream=stream)


TRANSPORT = Transport()
MODEL = VllmAgentModel(
    profiles={"default": VllmProfile(model="m", retry=VllmRetry(max_attempts=1))},
    runtime=VllmRuntime(transport=lambda: TRANSPORT),
)
LOOP = asyncio.new_event_loop()


async def listen() -> list[ModelStreamEvent]:
    """Hear one answer to its end."""
    return [event async for event in MODEL.stream(REQUEST)]


def check_input(data: bytes) -> None:
    """Answer with the input, and check what holds for every answer."""
    if len(data) < 2:
        return
    TRANSPORT.data = data
    events = LOOP.run_until_complete(listen())
    assert [event.kind in ENDS for event in events].count(True) == 1
    assert events[-1].kind in ENDS
    error = events[-1].error
    assert error is None or (error.code in CODES and "\n" not in error.message)


if __name__ == "__main__":
    atheris.Setup(sys.argv, check_input)
    atheris.Fuzz()
