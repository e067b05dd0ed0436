"""One HTTP request for one answer: send it, check it, and read the answer in batches of events. Input and output only.

What bytes mean is decided in ``sse`` and ``answer``, what failures mean in ``faults``. The body itself says what it is: one that
begins with ``{`` is a whole answer (servers that do not stream, and failures told with status 200), anything else is read as
a stream of events; content types in the field are not to be relied on.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

from spakky.agent.contracts.model_stream import ModelStreamEvent
from spakky.plugins.vllm.answer import AnswerReader
from spakky.plugins.vllm.client import LoopClient
from spakky.plugins.vllm.deadline import Deadline, DeadlinePassedError, DeadlinePhase
from spakky.plugins.vllm.endpoint import Endpoint
from spakky.plugins.vllm.endpoint_profile import VllmProfile
from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError
from spakky.plugins.vllm.faults import plan_http_fault, plan_transport_fault, read_retry_after
from spakky.plugins.vllm.request_body import PreparedRequest
from spakky.plugins.vllm.runtime import VllmRuntime
from spakky.plugins.vllm.sse import SseDecoder, SseLimitError
from spakky.plugins.vllm.target import Target

_MAX_ERROR_BYTES = 64 * 1024
_MAX_WHOLE_BYTES = 64 * 1024 * 1024
_DRAIN_SECONDS = 0.1
_BLANK = b" \t\r\n\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one server, ready to be sent any number of times.

    Attributes:
        profile: The server.
        endpoint: Its addresses and headers.
        target: The server and model as messages name them.
        request: What is sent.
        streamed: Whether a stream was asked for.
    """

    profile: VllmProfile
    endpoint: Endpoint
    target: Target
    request: PreparedRequest
    streamed: bool


class Exchange:
    """One request and its answer. Whoever opened it closes it.

    Args:
        call: What is sent and where.
        client: The client of the running event loop.
        deadline: The deadlines of the call; they outlast this attempt.
        runtime: The clock for dates in headers.
    """

    def __init__(
        self, call: Call, client: LoopClient, deadline: Deadline, runtime: VllmRuntime
    ) -> None:
        self._call = call
        self._client = client
        self._deadline = deadline
        self._runtime = runtime
        self._reader = AnswerReader(call.request, call.target)
        self._decoder = SseDecoder()
        self._is_whole = False
        self._whole: list[bytes] = []
        self._whole_bytes = 0
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._first: list[ModelStreamEvent] = []
        self._failure: VllmModelError | None = None
        self._has_begun = False
        self._has_events = False
        self._waits_for_usage = False
        self._is_over = False

    async def open(self) -> None:
        """Send the request and read until there is something to hand out.

        Raises:
            VllmModelError: It failed before that, so that it may be sent again.
        """
        timeouts = self._call.profile.timeouts
        first_seconds = timeouts.first_delta_seconds if self._call.streamed else None
        self._deadline.expect(DeadlinePhase.FIRST_DELTA, first_seconds)
        response = self._response = await self._send()
        if response.status_code != 200:
            raise await self._read_fault(response)
        # Decompression costs a layer per read; nearly no server compresses what it streams.
        compressed = response.headers.get("content-encoding", "identity") != "identity"
        self._chunks = response.aiter_bytes() if compressed else response.aiter_raw()
        self._first = await self._read_batch(self._chunks)

    async def read(self) -> list[ModelStreamEvent]:
        """Give the next events in order; an empty list when the answer has ended.

        Raises:
            VllmModelError: The answer broke off or tells a failure. Events that came before it were given out.
        """
        if self._first:
            events, self._first = self._first, []
            return events
        if self._failure is not None:
            raise self._failure
        if self._is_over or self._chunks is None:
            return []
        if self._reader.is_complete:
            self._expect_usage()
        else:
            self._deadline.expect(DeadlinePhase.IDLE, self._call.profile.timeouts.idle_seconds)
        return await self._read_batch(self._chunks)

    async def aclose(self) -> None:
        """Give the connection back, or cut it when the answer has not ended; may be called again."""
        response, self._response = self._response, None
        if response is None:
            return
        try:
            if self._reader.ended and self._chunks is not None:
                await self._drain(self._chunks)
        finally:
            await response.aclose()

    async def _send(self) -> httpx.Response:
        call, http = self._call, self._client.http
        connect = call.profile.timeouts.connect_seconds
        request = http.build_request(
            "POST",
            call.endpoint.chat,
            headers=call.endpoint.headers,
            content=call.request.body,
            timeout=httpx.Timeout(None, connect=connect),
        )
        try:
            return await self._deadline.wait(http.send(request, stream=True))
        except DeadlinePassedError as error:
            raise self._timeout(error) from error
        except (httpx.HTTPError, OSError) as error:
            raise plan_transport_fault(error, call.target, answering=False) from error
        except RuntimeError as error:
            if not http.is_closed:
                raise
            what = "The model was closed while a request was under way"
            raise call.target.fault(ModelErrorCode.UNAVAILABLE, what, "Ask again.") from error

    async def _read_fault(self, response: httpx.Response) -> VllmModelError:
        """Give the fault of an HTTP error; of its body, what comes counts."""
        body = bytearray()
        try:
            chunks = response.aiter_bytes()
            while len(body) < _MAX_ERROR_BYTES:
                chunk = await self._deadline.wait(anext(chunks, None))
                if chunk is None:
                    break
                body += chunk
        except (DeadlinePassedError, httpx.HTTPError, httpx.StreamError, OSError):
            # The status alone says what to do.
            body.clear()
        retry_after = read_retry_after(response.headers, self._runtime.now())
        return plan_http_fault(response.status_code, bytes(body), self._call.target, retry_after)

    async def _read_batch(self, chunks: AsyncIterator[bytes]) -> list[ModelStreamEvent]:
        """Read from the network until there is an event to hand out, or the answer is over."""
        events: list[ModelStreamEvent] = []
        try:
            while not events and not self._is_over:
                await self._read_chunk(chunks, events)
        except VllmModelError as error:
            self._fail(error, events)
        except SseLimitError as error:
            self._fail(self._too_long(str(error)), events)
        return events

    def _fail(self, failure: VllmModelError, events: list[ModelStreamEvent]) -> None:
        """End with a failure: at once, or with the next read when there is something to hand out first."""
        self._is_over = True
        if not events:
            raise failure
        self._failure = failure

    async def _read_chunk(
        self, chunks: AsyncIterator[bytes], events: list[ModelStreamEvent]
    ) -> None:
        try:
            chunk = await self._deadline.wait(anext(chunks, None))
        except DeadlinePassedError as error:
            self._end(events, self._timeout(error))
            return
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            self._end(events, plan_transport_fault(error, self._call.target, answering=True))
            return
        if chunk is None:
            self._end(events, None)
            return
        self._take(chunk, events)
        if self._reader.ended:
            self._is_over = True
            self._reader.finish(events)
        elif self._reader.is_complete:
            self._expect_usage()

    def _expect_usage(self) -> None:
        """Begin the wait for the token counts, once: nothing that still comes makes it longer."""
        if not self._waits_for_usage:
            self._waits_for_usage = True
            seconds = self._call.profile.timeouts.usage_seconds
            self._deadline.expect(DeadlinePhase.USAGE, seconds)

    def _take(self, chunk: bytes, events: list[ModelStreamEvent]) -> None:
        if self._is_whole:
            self._hold(chunk)
            return
        if not self._has_begun:
            beginning = chunk.lstrip(_BLANK)
            if not beginning:
                self._decoder.feed(chunk)
                return
            self._has_begun = True
            if beginning.startswith(b"{"):
                self._is_whole = True
                self._hold(beginning)
                return
        for data in self._decoder.feed(chunk):
            self._has_events = True
            self._reader.feed(data, events)
            if self._reader.ended:
                break

    def _hold(self, chunk: bytes) -> None:
        self._whole.append(chunk)
        self._whole_bytes += len(chunk)
        if self._whole_bytes > _MAX_WHOLE_BYTES:
            what = f"The answer is longer than {_MAX_WHOLE_BYTES} bytes"
            raise self._too_long(what)

    def _end(self, events: list[ModelStreamEvent], broken: VllmModelError | None) -> None:
        """End the answer where the body ends, well or not."""
        self._is_over = True
        if broken is None:
            if self._is_whole:
                self._has_events = True
                self._reader.feed(b"".join(self._whole), events)
            else:
                self._feed_rest(events)
            broken = None if self._has_events else self._no_events()
        self._reader.finish(events, broken)

    def _feed_rest(self, events: list[ModelStreamEvent]) -> None:
        for data in self._decoder.finish():
            self._has_events = True
            try:
                self._reader.feed(data, events)
            except VllmModelError as error:
                if error.error_code != ModelErrorCode.PROTOCOL:
                    raise
                # Half an event is what a stream leaves that broke off; the missing finish reason tells that.

    async def _drain(self, chunks: AsyncIterator[bytes]) -> None:
        """Read the end of the body, which follows [DONE] at once, so that the connection can be used again."""
        self._deadline.expect(DeadlinePhase.USAGE, _DRAIN_SECONDS)
        try:
            while await self._deadline.wait(anext(chunks, None)) is not None:
                pass
        except (DeadlinePassedError, httpx.HTTPError, httpx.StreamError, OSError):
            # The answer is complete; a connection that cannot be used again is closed.
            return

    def _timeout(self, error: DeadlinePassedError) -> VllmModelError:
        return self._call.target.fault(
            ModelErrorCode.TIMEOUT,
            f"Waited {error.seconds:g} s for {error.phase.value}, in vain,",
            "Try again, or raise the profile's timeouts.",
            retryable=True,
        )

    def _too_long(self, what: str) -> VllmModelError:
        return self._call.target.fault(
            ModelErrorCode.PROTOCOL,
            what.rstrip("."),
            "Check that the base URL is that of an OpenAI-compatible server.",
        )

    def _no_events(self) -> VllmModelError:
        response = self._response
        kind = response.headers.get("content-type", "none") if response is not None else "none"
        return self._call.target.fault(
            ModelErrorCode.PROTOCOL,
            "The answer holds no part of a chat completion",
            "Check that the base URL is that of an OpenAI-compatible server.",
            detail=f"its content type is {kind}",
            retryable=True,
        )
