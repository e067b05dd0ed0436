"""What each outcome shows."""

from dataclasses import replace
from typing import Any

import pytest

from spakky.agent.contracts.approval import AgentApprovalBoundaryKind, AgentApprovalRequest
from spakky.agent.contracts.execution import AgentRunResult
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk
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
    Decided,
    InboxRead,
    ModelBroke,
    Opened,
    Outcome,
    PeopleAsked,
    Recorded,
    Settled,
    Stopped,
    StopReason,
)
from spakky.agent.loop.plan_calls import mistake_of
from spakky.agent.loop.progress import (
    Abandoned,
    CallStage,
    CallState,
    Cancelled,
    CancelOrder,
    Completed,
    Failed,
    FinalAnswer,
    Paused,
    Phase,
    Progress,
)
from spakky.agent.loop.show import asks_of, frames_of
from spakky.agent.rules.history import answer_call
from spakky.agent.rules.lifecycle import Trigger, decide_move

RUNNING = decide_move(AgentStatus.CREATED, Trigger.START)
REQUEST = AgentApprovalRequest(
    "a1",
    "r",
    AgentApprovalBoundaryKind.TOOL_INVOCATION,
    "Pay?",
    ToolRisk(),
    "r/call/1.1",
)


def call(stage: CallStage = CallStage.WAITING, **parts: Any) -> CallState:
    asked = ModelToolCall("bank.pay", {"amount": 1}, "c1")
    known: dict[str, Any] = {"request": REQUEST}
    return CallState("r/call/1.1", asked, "sha256:0", stage, Idempotency.UNKNOWN, **(known | parts))


def shown(
    outcome: Outcome, before: Progress | None = None, after: Progress | None = None
) -> tuple[Frame, ...]:
    here = Progress("r", standing=RUNNING)
    return frames_of(before or here, outcome, after or here)


@pytest.mark.parametrize("resumed", [True, False])
@pytest.mark.requirement("EVENT-7")
def test_an_opened_run_is_started(resumed: bool) -> None:
    (frame,) = shown(Opened(Progress("r", Phase.POLLING, resumed=resumed)))
    assert isinstance(frame, RunStarted)
    assert frame.resumed is resumed
    assert shown(Opened(Progress("r", Phase.SETTLED))) == ()


def test_notes_and_refused_decisions_are_shown() -> None:
    noted = call(note="It does not bind.")
    read = InboxRead(
        notes=("A message joins.",),
        decisions=(
            Decided("s1", None, noted, "It does not bind."),
            Decided("s2", None, None, "unknown"),
            Decided("s3", None, call()),
        ),
    )
    line, asked = shown(read)
    assert isinstance(line, ProgressShown)
    assert (line.message, line.current_step) == ("A message joins.", "user_message")
    assert isinstance(asked, ApprovalAsked)
    assert (asked.request, asked.note) == (REQUEST, "It does not bind.")


def test_mistakes_and_results_are_shown() -> None:
    mistake = mistake_of(call(), "No such tool.")
    answered = Answered(ModelMessage(ModelMessageRole.ASSISTANT, ""), mistakes=(mistake,))
    assert shown(answered) == (mistake.shown,)
    assert shown(mistake) == (mistake.shown,)


@pytest.mark.requirement("HITL-15")
def test_each_question_is_shown() -> None:
    frames = shown(PeopleAsked((call(), call(), call(request=None))))
    assert [type(frame) for frame in frames] == [ApprovalAsked, ApprovalAsked]
    assert len(tuple(asks_of((call(),)))) == 1
    (paused,) = shown(CallPaused(call()))
    assert isinstance(paused, ApprovalAsked)


@pytest.mark.parametrize(
    "outcome",
    [ModelBroke("x", "no"), Recorded(()), Stopped(StopReason.DEADLINE)],
)
def test_other_outcomes_show_nothing_by_themselves(outcome: Outcome) -> None:
    assert shown(outcome) == ()


# ---------------------------------------------------------------- endings

ANSWER = FinalAnswer("It is done.", "r/message/2", {"n": 1}, {"finish_reason": "stop"})


@pytest.mark.requirement("SPEC-24")
def test_a_typed_output_is_shown_as_it_is() -> None:
    (frame,) = shown(Settled(Completed(ANSWER), output=1.5, stored={"n": 1}))
    assert isinstance(frame, RunCompleted)
    assert (frame.output, frame.stored) == (1.5, {"n": 1})
    assert frame.metadata == {"finish_reason": "stop", "message_id": "r/message/2"}


@pytest.mark.requirement("LOOP-14")
def test_without_one_a_summary_with_the_text_is_shown() -> None:
    ran, refused = ModelToolCall("file.read", {}, "c1"), ModelToolCall("file.drop", {}, "c2")
    after = Progress(
        "r",
        transcript=(answer_call(ran, "x"), answer_call(refused, "no", ran=False)),
        evidence_count=4,
    )
    (frame,) = shown(Settled(Completed(replace(ANSWER, output=None))), after=after)
    assert isinstance(frame, RunCompleted)
    assert frame.output == AgentRunResult("r", "completed", ("file.read",), 4, "It is done.")
    assert frame.stored == {
        "state_id": "r",
        "status": "completed",
        "tool_calls": ["file.read"],
        "evidence_count": 4,
        "output_text": "It is done.",
    }


@pytest.mark.requirement("EVENT-9")
def test_a_pause_for_people_names_the_open_requests() -> None:
    ending = Paused(Trigger.ASK_APPROVAL, AgentStateReason.APPROVAL_REQUIRED, "Pay?")
    (frame,) = shown(Settled(ending), Progress("r", calls=(call(), call(request=None))))
    assert isinstance(frame, RunPaused)
    assert (frame.reason, frame.prompt) == (AgentStateReason.APPROVAL_REQUIRED, "Pay?")
    assert frame.requests == (REQUEST,)


@pytest.mark.parametrize(
    ("trigger", "reason"),
    [
        (Trigger.ASK_AUTH, AgentStateReason.AUTH_REQUIRED),
        (Trigger.INTERRUPT, AgentStateReason.USER_INTERRUPTED),
        (Trigger.LOSE_MODEL, AgentStateReason.EXECUTION_FAILED),
    ],
)
@pytest.mark.requirement("EVENT-10")
def test_another_pause_is_not_covered_by_requests_that_are_open_too(
    trigger: Trigger, reason: AgentStateReason
) -> None:
    ending = Paused(trigger, reason, "Sign in.", "x.y", retryable=True, metadata={"p": 1})
    (frame,) = shown(Settled(ending), Progress("r", calls=(call(),)))
    assert isinstance(frame, RunPaused)
    assert frame.requests == ()
    assert (frame.code, frame.retryable, frame.metadata) == ("x.y", True, {"p": 1})


@pytest.mark.requirement("CANCEL-8")
def test_bad_endings_are_shown_with_what_was_wrong() -> None:
    (failed,) = shown(Settled(Failed(Trigger.FAIL, "x.y", "no", retryable=True)))
    assert isinstance(failed, RunFailed)
    assert (failed.code, failed.message, failed.retryable) == ("x.y", "no", True)
    (cancelled,) = shown(Settled(Cancelled(CancelOrder("s1", "enough", "ann"))))
    assert isinstance(cancelled, RunCancelled)
    assert (cancelled.reason, cancelled.requested_by) == ("enough", "ann")
    (unclean,) = shown(Settled(Cancelled(CancelOrder("s1"), "tool_execution t")))
    assert isinstance(unclean, RunFailed)
    assert unclean.code == "agent.cancellation.cleanup_failed"
    assert "tool_execution t" in unclean.message
    (gone,) = shown(Settled(Abandoned("x.lost", "gone")))
    assert isinstance(gone, RunFailed)
    assert (gone.code, gone.retryable, gone.status) == ("x.lost", True, AgentStatus.ACTIVE)
