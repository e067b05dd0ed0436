"""An answer read piece by piece: the chunks of one chat completion in, events out. Pure.

The reader is fed with the data of each event of a stream, or once with the body of a whole answer. What the answer is worth is
decided when it ends, from everything that was seen:

    the answer ended                                                     what comes last
    -------------------------------------------------------------------------------------------------------------
    after a failure that the server told                                 ERROR, with the server's words
    without a finish reason, by [DONE], an end or a broken connection    ERROR agent.model.protocol (retryable)
    with a refusal                                                       ERROR agent.model.refusal, with its text
    with the reason "content_filter"                                     ERROR agent.model.content_filter
    with the reason "length" after a call had begun                      ERROR agent.model.truncated, no candidates
    with a reason that names a failure ("error", "abort", ...)           ERROR agent.model.server_error
    with any other reason                                                per call END and CANDIDATE, then
                                                                         STRUCTURED_OUTPUT where asked for, then DONE

What was streamed decides, not the label: calls count with the reason "stop" too. Only the answer with index 0 is read.
"""

from spakky.agent.contracts.model_stream import (
    ModelStreamEvent,
    ModelStreamEventKind,
)
from spakky.agent.json_value import JsonValue
from spakky.plugins.vllm.assembler import ToolCallAssembler
from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError
from spakky.plugins.vllm.faults import plan_stream_fault
from spakky.plugins.vllm.request_body import PreparedRequest
from spakky.plugins.vllm.sse import ErrorEventData
from spakky.plugins.vllm.target import Target
from spakky.plugins.vllm.wire import (
    DONE,
    Choice,
    Chunk,
    Delta,
    WireFormatError,
    describe_error,
    find_chunk_error,
    parse_chunk,
    parse_json,
    read_reasoning,
    read_text,
    read_usage,
)

_FAILED = frozenset({"error", "abort", "insufficient_system_resource"})
_AGAIN = "Ask again."


class AnswerReader:
    """Reads one answer.

    Args:
        request: What was sent.
        target: Whom it was sent to.
    """

    __slots__ = (
        "_assembler",
        "_finish_reason",
        "_logprobs",
        "_model",
        "_refusal",
        "_response_id",
        "_target",
        "_texts",
        "_usage",
        "ended",
    )

    def __init__(self, request: PreparedRequest, target: Target) -> None:
        self._target = target
        self._assembler = ToolCallAssembler(request.names)
        self._texts: list[str] | None = [] if request.structured else None
        self._refusal: list[str] = []
        self._logprobs: list[JsonValue] = []
        self._finish_reason = ""
        self._usage: object = None
        self._response_id = ""
        self._model = ""
        self.ended = False
        """Whether the server has said that nothing more comes."""

    @property
    def is_complete(self) -> bool:
        """Whether a finish reason was seen; only token counts can be missing then."""
        return bool(self._finish_reason)

    def feed(self, data: bytes, events: list[ModelStreamEvent]) -> None:
        """Take the next chunk and append what it shows.

        Args:
            data: The data of one event, or the body of a whole answer.
            events: Gets the events; those before a failure stay in it.

        Raises:
            VllmModelError: The chunk tells a failure, or is none.
        """
        if data == DONE:
            self.ended = True
            return
        try:
            if type(data) is ErrorEventData:
                raise plan_stream_fault(describe_error(parse_json(data)), self._target)
            chunk = parse_chunk(data)
            if chunk.error or not chunk.choices:
                self._check_error(chunk)
            if chunk.usage:
                # Some servers send the counts with every chunk; only the last ones are read, at the end.
                self._usage = chunk.usage
            for choice in chunk.choices or ():
                # A number is tested by its truth: index 0, None and a missing index mean the one answer that is read.
                if not choice.index or choice.index == "0":
                    self._take(choice, events)
        except WireFormatError as error:
            self._take_unreadable(data, error)
            return
        if not self._response_id:
            self._name(chunk)

    def _take_unreadable(self, data: bytes, error: WireFormatError) -> None:
        if data.strip() == DONE:
            self.ended = True
            return
        if isinstance(data, ErrorEventData):
            raise plan_stream_fault(describe_error(data.decode("utf-8", "replace")), self._target)
        raise self._target.fault(
            ModelErrorCode.PROTOCOL,
            f"A part of the answer cannot be read ({error})",
            "Check that the base URL is that of an OpenAI-compatible server.",
        ) from None

    def _check_error(self, chunk: Chunk) -> None:
        told = find_chunk_error(chunk)
        if told is not None:
            raise plan_stream_fault(told, self._target)

    def _name(self, chunk: Chunk) -> None:
        if isinstance(chunk.id, str):
            self._response_id = chunk.id
        if isinstance(chunk.model, str):
            self._model = chunk.model or self._model

    def _take(self, choice: Choice, events: list[ModelStreamEvent]) -> None:
        if choice.error:
            raise plan_stream_fault(describe_error(choice.error), self._target)
        if choice.delta is not None:
            self._take_delta(choice.delta, events, whole=False)
        elif choice.message is not None:
            self._take_delta(choice.message, events, whole=True)
        if choice.logprobs is not None:
            self._take_logprobs(choice.logprobs)
        reason = choice.finish_reason
        if reason and isinstance(reason, str) and not self._finish_reason:
            self._finish_reason = reason

    def _take_delta(self, delta: Delta, events: list[ModelStreamEvent], *, whole: bool) -> None:
        content = delta.content
        is_text = type(content) is str
        if delta.reasoning or delta.reasoning_content or not (is_text or content is None):
            reasoning = read_reasoning(delta)
            if reasoning:
                events.append(
                    ModelStreamEvent(
                        ModelStreamEventKind.REASONING_DELTA, reasoning_delta=reasoning
                    )
                )
        if content:
            text = content if isinstance(content, str) else read_text(content)
            if text:
                events.append(ModelStreamEvent(ModelStreamEventKind.TOKEN_DELTA, text))
                if self._texts is not None:
                    self._texts.append(text)
        if delta.tool_calls:
            self._assembler.add(delta.tool_calls, events, whole_message=whole)
        if delta.refusal:
            self._refusal.append(read_text(delta.refusal))

    def _take_logprobs(self, logprobs: object) -> None:
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        if isinstance(tokens, list):
            self._logprobs.extend(tokens)

    def finish(self, events: list[ModelStreamEvent], broken: VllmModelError | None = None) -> None:
        """End the answer: append what comes last.

        Args:
            events: Gets the last events.
            broken: Why the connection ended, when it did not end well; without effect on an answer that is complete.

        Raises:
            VllmModelError: The answer is not complete, or is worth nothing.
        """
        reason = self._finish_reason
        if not reason:
            raise broken or self._target.fault(
                ModelErrorCode.PROTOCOL,
                "The answer ended without a finish reason, so that it is not complete",
                _AGAIN,
                retryable=True,
            )
        self._check_reason(reason)
        self._assembler.finish(events)
        self._append_structured(reason, events)
        metadata: dict[str, JsonValue] = {
            "finish_reason": reason,
            "model": self._model,
            "response_id": self._response_id,
        }
        if self._logprobs:
            metadata["logprobs"] = self._logprobs
        usage = read_usage(self._usage)
        events.append(ModelStreamEvent(ModelStreamEventKind.DONE, usage=usage, metadata=metadata))

    def _check_reason(self, reason: str) -> None:
        refusal = "".join(self._refusal)
        if refusal:
            raise self._target.fault(
                ModelErrorCode.REFUSAL,
                "The model refused",
                "Change the instruction.",
                detail=refusal,
            )
        if reason == "content_filter":
            raise self._target.fault(
                ModelErrorCode.CONTENT_FILTER,
                "The provider's content filter stopped the answer",
                "Change the instruction or the filter's settings.",
            )
        if reason == "length" and self._assembler.has_calls:
            raise self._target.fault(
                ModelErrorCode.TRUNCATED,
                "The token limit (finish reason length) cut the answer inside its tool calls",
                "Raise max_tokens, or ask for less at a time.",
            )
        if reason in _FAILED:
            raise self._target.fault(
                ModelErrorCode.SERVER_ERROR,
                f"The server gave up the answer with the finish reason {reason!r}",
                "Look into the server's log; the answer so far is not complete.",
                retryable=True,
            )

    def _append_structured(self, reason: str, events: list[ModelStreamEvent]) -> None:
        """Append the decoded value, unless the limit may have cut it: a part of a number is a number as well."""
        if self._texts is None or reason == "length" or self._assembler.has_calls:
            return
        try:
            value = parse_json("".join(self._texts))
        except WireFormatError:
            # The text went out as it is; what to do with one that does not fit is the loop's decision.
            return
        events.append(
            ModelStreamEvent(ModelStreamEventKind.STRUCTURED_OUTPUT, structured_output=value)
        )
