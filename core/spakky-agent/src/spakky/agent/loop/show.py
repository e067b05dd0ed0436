"""What an outcome shows: pure, from outcome to frames. Called once the journal has accepted the outcome."""

from collections.abc import Iterator
from typing import assert_never

from spakky.agent.contracts.execution import AgentRunResult
from spakky.agent.contracts.state import AgentStatus
from spakky.agent.json_value import FrozenObject, JsonValue
from spakky.agent.loop.frames import (
    ApprovalAsked,
    Frame,
    ProgressShown,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
)
from spakky.agent.loop.outcomes import (
    Answered,
    CallPaused,
    CallReturned,
    InboxRead,
    Opened,
    Outcome,
    PeopleAsked,
    Settled,
)
from spakky.agent.loop.progress import (
    Abandoned,
    CallState,
    Cancelled,
    Completed,
    Failed,
    Paused,
    Phase,
    Progress,
)


def frames_of(before: Progress, outcome: Outcome, after: Progress) -> tuple[Frame, ...]:
    """Give the frames of an outcome, in order.

    Args:
        before: The progress before the outcome.
        outcome: What came of a step.
        after: The progress after it, as it was stored.
    """
    return tuple(_frames(before, outcome, after))


def _frames(before: Progress, outcome: Outcome, after: Progress) -> Iterator[Frame]:
    match outcome:
        case Opened(opened) if opened.phase is not Phase.SETTLED:
            yield RunStarted(opened.resumed)
        case InboxRead():
            yield from _inbox(outcome)
        case Answered(mistakes=mistakes):
            yield from (mistake.shown for mistake in mistakes)
        case CallReturned():
            yield outcome.shown
        case PeopleAsked(calls):
            yield from asks_of(calls)
        case CallPaused(call):
            yield from asks_of((call,))
        case Settled():
            yield from _ending(before, outcome, after)
        case _:
            return


def _inbox(outcome: InboxRead) -> Iterator[Frame]:
    for note in outcome.notes:
        yield ProgressShown(note, "user_message")
    for decided in outcome.decisions:
        if decided.refused is not None and decided.call is not None:
            yield from asks_of((decided.call,))


def asks_of(calls: tuple[CallState, ...]) -> Iterator[Frame]:
    """Give the frames that ask about calls which wait for a person."""
    for call in calls:
        if call.request is not None:
            yield ApprovalAsked(call.request, call.note)


def _ending(before: Progress, outcome: Settled, after: Progress) -> Iterator[Frame]:
    spent = after.spent.to_json()
    match outcome.ending:
        case Completed(answer):
            output, stored = outcome.output, outcome.stored
            if output is None:
                output = _summary(after, answer.text)
                stored = _summary_json(output)
            metadata = FrozenObject({**answer.metadata, "message_id": answer.message_id})
            yield RunCompleted(output, stored, metadata, spent)
        case Paused():
            yield _pause(outcome.ending, before.waiting if outcome.ending.asks_people else ())
        case Failed(_, code, message, retryable):
            yield RunFailed(code, message, retryable, spent=spent)
        case Cancelled(order, None):
            yield RunCancelled(order.reason, order.requested_by, spent)
        case Cancelled(_, failed_cleanup):
            message = f"The run was cancelled, but this could not be cleaned up: {failed_cleanup}."
            yield RunFailed("agent.cancellation.cleanup_failed", message, spent=spent)
        case Abandoned(code, message):
            yield RunFailed(code, message, retryable=True, status=after.standing.status)
        case _:
            assert_never(outcome.ending)


def _pause(ending: Paused, waiting: tuple[CallState, ...]) -> RunPaused:
    return RunPaused(
        ending.reason,
        ending.prompt,
        tuple(call.request for call in waiting if call.request is not None),
        ending.code,
        ending.retryable,
        ending.metadata,
    )


def _summary(after: Progress, text: str) -> AgentRunResult:
    return AgentRunResult(
        state_id=after.run_id,
        status=AgentStatus.COMPLETED.value,
        tool_calls=after.called,
        evidence_count=after.evidence_count,
        output_text=text,
    )


def _summary_json(result: AgentRunResult) -> JsonValue:
    return {
        "state_id": result.state_id,
        "status": result.status,
        "tool_calls": list(result.tool_calls),
        "evidence_count": result.evidence_count,
        "output_text": result.output_text,
    }
