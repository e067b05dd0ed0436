"""Makes one model call: builds the request, passes the stream on, and says what came of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from spakky.agent.contracts.cancellation import (
    AgentCancellationCleanupTask,
    AgentCancellationTargetKind,
)
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelRequest
from spakky.agent.contracts.model_stream import ModelStreamEvent, ModelStreamEventKind
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentState
from spakky.agent.error import (
    AbstractSpakkyAgentError,
    AgentAuthRequiredError,
    AgentModelError,
)
from spakky.agent.json_value import FrozenObject, clean_text
from spakky.agent.loop.answer import AnswerReader
from spakky.agent.loop.build_request import build_request
from spakky.agent.loop.fault_log import log_fault
from spakky.agent.loop.frames import Frame, StepFinished, StepStarted, TextShown
from spakky.agent.loop.gate import Tripped
from spakky.agent.loop.gather_context import GatheredContext, gather_context
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Answered, AuthNeeded, ModelBroke, Outcome
from spakky.agent.loop.output_form import OutputMisfit
from spakky.agent.loop.progress import FinalAnswer, Progress
from spakky.agent.loop.stopping import stop_with_cleanup

_TOKEN = ModelStreamEventKind.TOKEN_DELTA
_MESSAGE = ModelStreamEventKind.MESSAGE_DELTA
_DONE = ModelStreamEventKind.DONE


async def ask_model(kit: RunKit, progress: Progress) -> AsyncGenerator[Frame | Outcome, None]:
    """Call the model. The step's frames are balanced whatever happens; the outcome comes last."""
    yield StepStarted(progress.step_name)
    reader = AnswerReader(kit, progress)
    stream = _OpenStream(progress.model_action_id)
    context = GatheredContext()
    outcome: Outcome | None = None
    try:
        async with aclosing(gather_context(kit, progress, context)) as items:
            async for item in items:
                yield item
        async with aclosing(_answer(kit, progress, context, stream, reader)) as frames:
            async for frame in frames:
                yield frame
        outcome = outcome_of(kit, progress, reader)
    except Tripped:
        outcome = None
    except Exception as error:  # noqa: BLE001 - whatever a backend raises ends the call, typed
        outcome = _broke(error, asked=stream.was_opened)
    finally:
        # A cancelled run closes its stream as a cleanup, once the cancellation is on disk.
        if kit.gate.stopped is None:
            await stream.close()
    try:
        yield StepFinished(progress.step_name)
        if outcome is not None:
            yield outcome
            return
        async with aclosing(stop_with_cleanup(kit, (stream.cleanup_task(),))) as items:
            async for item in items:
                yield item
    finally:
        await stream.close()


async def _answer(
    kit: RunKit,
    progress: Progress,
    context: GatheredContext,
    stream: "_OpenStream",
    reader: AnswerReader,
) -> AsyncGenerator[Frame, None]:
    request = await kit.gate.wait(build_request(kit, progress, context.packs, context.manifest))
    gate, wait, message_id = kit.gate, kit.gate.wait, reader.message_id
    following = stream.open(kit, request)
    while reader.error is None:
        if gate.stopped is not None:
            # Asked for first, since a request for the next event that nobody awaits is a warning.
            raise Tripped
        try:
            event = await wait(following())
        except StopAsyncIteration:
            break
        is_text = event.kind is _TOKEN or event.kind is _MESSAGE
        if not is_text or reader.is_reasoning:
            for frame in reader.take(event):
                yield frame
        if is_text:
            for text in reader.push_text(event.token_delta or event.message_delta or ""):
                yield TextShown(message_id, text)
        elif event.kind is _DONE:
            break
    for frame in reader.finish():
        yield frame


class _OpenStream:
    """The model's stream, closed once, by whoever comes first."""

    def __init__(self, action_id: str) -> None:
        self._action_id = action_id
        self._events: AsyncIterator[ModelStreamEvent] | None = None
        self.was_opened = False

    def open(self, kit: RunKit, request: ModelRequest) -> Callable[[], Awaitable[ModelStreamEvent]]:
        """Start the stream and give what reads its next event."""
        self.was_opened = True
        self._events = kit.model.stream(request)
        return self._events.__anext__

    async def close(self) -> None:
        """Close the stream. The port promises an iterator; those that hold a connection are generators."""
        events, self._events = self._events, None
        if isinstance(events, AsyncGenerator):
            await events.aclose()

    def cleanup_task(self) -> AgentCancellationCleanupTask:
        """Give what stops the stream when the run is cancelled."""

        async def close(_state: AgentState, _signal: AgentSignal) -> None:
            await self.close()

        return AgentCancellationCleanupTask(
            AgentCancellationTargetKind.MODEL_STREAM, self._action_id, close
        )


def outcome_of(kit: RunKit, progress: Progress, reader: AnswerReader) -> Outcome:
    """Say what came of a call whose stream has ended."""
    if reader.error is not None:
        return ModelBroke(reader.error.code, reader.error.message, reader.error.retryable)
    planned = kit.planner.plan(reader.calls(), progress.step)
    text = clean_text(reader.text)
    message = ModelMessage(
        ModelMessageRole.ASSISTANT, text, tool_calls=planned.stored, message_id=reader.message_id
    )
    answer, misfit = (None, None) if planned.calls else _final(kit, reader, text)
    return Answered(
        message=message,
        calls=planned.calls,
        mistakes=planned.mistakes,
        usage=reader.usage,
        answer=answer,
        misfit=misfit,
        audits=tuple(reader.audits),
    )


def _final(kit: RunKit, reader: AnswerReader, text: str) -> tuple[FinalAnswer | None, str | None]:
    try:
        output = kit.output.read(text, reader.structured)
    except OutputMisfit as misfit:
        return None, str(misfit)
    reason = reader.metadata.get("finish_reason")
    metadata = FrozenObject({} if reason is None else {"finish_reason": reason})
    return FinalAnswer(text, reader.message_id, output, metadata), None


def _broke(error: Exception, *, asked: bool) -> Outcome:
    match error:
        case AgentAuthRequiredError():
            return AuthNeeded(error.provider, error.prompt)
        case AgentModelError():
            return ModelBroke(error.error_code, str(error), error.retryable)
        case AbstractSpakkyAgentError():
            return ModelBroke(error.code, str(error))
        case _ if asked:
            log_fault("The model adapter", error)
            message = f"The model adapter raised {type(error).__name__}; the log says where."
            return ModelBroke("agent.model.failed", message)
        case _:
            log_fault("What prepares a model request", error)
            message = f"{type(error).__name__} was raised while the model request was prepared; look into the context provider, the context handler and the compaction strategies."
            return ModelBroke("agent.request.failed", message)
