"""Gathers one answer of the model out of its stream, and gives what may be shown of it on the way."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from spakky.agent.contracts.evidence import AgentEvidenceCandidate
from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.contracts.model_stream import (
    ModelError,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue
from spakky.agent.loop.exposure import TextChannel
from spakky.agent.loop.frames import (
    CallArgumentsShown,
    CallClosed,
    CallOpened,
    Frame,
    ProgressShown,
    ReasoningShown,
    TextShown,
)
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.plan_calls import CallNamer, shown_arguments
from spakky.agent.loop.progress import Progress
from spakky.agent.rules.history import used_call_ids


@dataclass(slots=True)
class _OpenCall:
    """A call that the model has begun: the provider's id, the run's own id, and how much of it was shown."""

    provider_id: str | None
    call_id: str
    name: str
    guarded: bool
    closed: bool = False
    finished: bool = False
    call: ModelToolCall | None = None


class AnswerReader:
    """One answer while it streams in. ``push_text`` takes the text of an event, ``take`` everything else of it."""

    def __init__(self, kit: RunKit, progress: Progress) -> None:
        self._kit = kit
        self.message_id = progress.message_id
        self._reasoning_id = f"{progress.run_id}/reasoning/{progress.step}"
        self._namer = CallNamer(used_call_ids(progress.seeds + progress.transcript), progress.step)
        self._text = kit.exposure.open_channel()
        self._texts: list[str] = []
        self._reasoning: TextChannel | None = None
        self._calls: list[_OpenCall] = []
        self._has_text = False
        self.structured: JsonValue = None
        self.usage = ModelUsage()
        self.metadata: JsonObject = EMPTY_OBJECT
        self.error: ModelError | None = None
        self.audits: list[AgentEvidenceCandidate] = []

    @property
    def text(self) -> str:
        """The whole text, as it may be kept."""
        return "".join(self._texts)

    def calls(self) -> tuple[ModelToolCall, ...]:
        """Give the finished calls, each with its own id, in the model's order."""
        return tuple(call.call for call in self._calls if call.call is not None)

    @property
    def is_reasoning(self) -> bool:
        """Whether reasoning is open, which comes out before the text that follows it."""
        return self._reasoning is not None

    def end_reasoning(self, _event: ModelStreamEvent | None = None) -> Iterator[Frame]:
        """Finish the reasoning that is open, and give what it held back; text that follows it comes after it."""
        channel, self._reasoning = self._reasoning, None
        if channel is not None:
            for piece in channel.finish():
                yield ReasoningShown(self._reasoning_id, piece)

    def push_text(self, piece: str) -> tuple[str, ...]:
        """Take a piece of text and give what may be shown of it now."""
        self._has_text = True
        return self._text.push(piece)

    def take(self, event: ModelStreamEvent) -> Iterator[Frame]:
        """Take an event but for its text, and give what it shows."""
        if event.usage is not None:
            self.usage = event.usage
        yield from _HANDLERS[event.kind](self, event)

    def finish(self) -> Iterator[Frame]:
        """Finish the answer. What a broken one holds back may be the half of a secret, and is not shown.

        Raises:
            AgentOutputGuardError: An audit found a raw match.
        """
        if self.error is None:
            yield from self.flush()

    def flush(self) -> Iterator[Frame]:
        """Finish the texts that are open, and give what they held back.

        Raises:
            AgentOutputGuardError: An audit found a raw match.
        """
        yield from self.end_reasoning()
        channel, self._text = self._text, self._kit.exposure.open_channel()
        for piece in channel.finish():
            yield TextShown(self.message_id, piece)
        self._texts.append(channel.text)
        if channel.audit is not None:
            self.audits.append(channel.audit)

    def reason(self, event: ModelStreamEvent) -> Iterator[Frame]:
        """Take a piece of reasoning."""
        if self._reasoning is None:
            self._reasoning = self._kit.exposure.open_channel()
        for chunk in self._reasoning.push(event.reasoning_delta or ""):
            yield ReasoningShown(self._reasoning_id, chunk)

    def _open(self, call: ModelToolCall) -> Iterator[Frame]:
        tool = self._kit.find_tool(call.name)
        guarded = bool(self._kit.exposure.policy is not None) or (
            tool is not None and bool(tool.schema.input_sensitive_fields)
        )
        opened = _OpenCall(call.call_id, self._namer.next_id(call.call_id), call.name, guarded)
        self._calls.append(opened)
        yield CallOpened(opened.call_id, call.name, self.message_id if self._has_text else None)

    def start_call(self, event: ModelStreamEvent) -> Iterator[Frame]:
        """Take the beginning of a call; the text before it comes out first."""
        if event.tool_call is not None:
            yield from self.flush()
            yield from self._open(event.tool_call)

    def take_arguments(self, event: ModelStreamEvent) -> Iterator[Frame]:
        """Take a piece of a call's argument text."""
        opened = self._find(event.tool_call)
        # Argument text cannot be guarded piece by piece; it is shown once the call is decoded.
        if opened is not None and not opened.guarded and event.tool_call_args_delta:
            yield CallArgumentsShown(opened.call_id, event.tool_call_args_delta)

    def end_call(self, event: ModelStreamEvent) -> Iterator[Frame]:
        """Take the end of a call's arguments."""
        call = event.tool_call
        opened = self._find(call)
        if opened is None:
            return
        if call is not None and call.arguments:
            opened.call = replace(call, call_id=opened.call_id)
        if not opened.guarded:
            yield from self._close(opened)

    def _close(self, opened: _OpenCall) -> Iterator[Frame]:
        if not opened.closed:
            opened.closed = True
            yield CallClosed(opened.call_id)

    def finish_call(self, event: ModelStreamEvent) -> Iterator[Frame]:
        """Take a finished call."""
        call = event.tool_call
        if call is None:
            return
        opened = self._find(call, unfinished=True)
        if opened is None:
            yield from self.flush()
            yield from self._open(call)
            opened = self._calls[-1]
            opened.guarded = True
        opened.call, opened.finished = replace(call, call_id=opened.call_id), True
        if opened.guarded:
            yield CallArgumentsShown(opened.call_id, self._shown_text(opened.call))
        yield from self._close(opened)

    def _shown_text(self, call: ModelToolCall) -> str:
        tool = self._kit.find_tool(call.name)
        arguments = call.arguments if tool is None else shown_arguments(tool, call.arguments)
        return json.dumps(self._kit.exposure.guard_value(arguments), ensure_ascii=False)

    def guard(self, value: JsonValue) -> JsonValue:
        """Guard a value that is no stream."""
        return self._kit.exposure.guard_value(value)

    def _find(self, call: ModelToolCall | None, *, unfinished: bool = False) -> _OpenCall | None:
        candidates = [c for c in self._calls if not (unfinished and c.finished)]
        if call is not None and call.call_id is not None:
            # Where a provider uses one id twice, its calls are finished in the order in which they began.
            ordered = candidates if unfinished else reversed(candidates)
            return next((c for c in ordered if c.provider_id == call.call_id), None)
        if unfinished:
            return next((c for c in candidates if call is None or c.name == call.name), None)
        return candidates[-1] if candidates else None


def _progress(reader: AnswerReader, event: ModelStreamEvent) -> Iterator[Frame]:
    message = reader.guard(event.metadata.get("message"))
    if isinstance(message, str) and message.strip():
        yield ProgressShown(message, "model")


def _structured(reader: AnswerReader, event: ModelStreamEvent) -> Iterator[Frame]:
    reader.structured = reader.guard(event.structured_output)
    return iter(())


def _error(reader: AnswerReader, event: ModelStreamEvent) -> Iterator[Frame]:
    reader.error = event.error or ModelError("agent.model.failed", "The model failed.")
    return iter(())


def _done(reader: AnswerReader, event: ModelStreamEvent) -> Iterator[Frame]:
    reader.metadata = event.metadata
    return iter(())


_HANDLERS: Mapping[
    ModelStreamEventKind, Callable[[AnswerReader, ModelStreamEvent], Iterator[Frame]]
] = MappingProxyType(
    {
        ModelStreamEventKind.TOKEN_DELTA: AnswerReader.end_reasoning,
        ModelStreamEventKind.MESSAGE_DELTA: AnswerReader.end_reasoning,
        ModelStreamEventKind.REASONING_DELTA: AnswerReader.reason,
        ModelStreamEventKind.TOOL_CALL_START: AnswerReader.start_call,
        ModelStreamEventKind.TOOL_CALL_ARGS_DELTA: AnswerReader.take_arguments,
        ModelStreamEventKind.TOOL_CALL_END: AnswerReader.end_call,
        ModelStreamEventKind.TOOL_CALL_CANDIDATE: AnswerReader.finish_call,
        ModelStreamEventKind.STRUCTURED_OUTPUT: _structured,
        ModelStreamEventKind.PROGRESS: _progress,
        ModelStreamEventKind.ERROR: _error,
        ModelStreamEventKind.DONE: _done,
    }
)
