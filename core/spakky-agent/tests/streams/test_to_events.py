"""Every frame as an event of the protocol-neutral stream."""

from typing import Any, get_args

import pytest

from spakky.agent.contracts.approval import AgentApprovalBoundaryKind, AgentApprovalRequest
from spakky.agent.contracts.events import (
    AgentEventAttribution,
    CustomEvent,
    MessageDeltaEvent,
    ReasoningDeltaEvent,
    RunFinishedEvent,
    RunPausedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolCallArgsDeltaEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import ToolRisk
from spakky.agent.contracts.yields import AgentYield, AgentYieldKind, Final, Message
from spakky.agent.loop.frames import (
    ApprovalAsked,
    CallArgumentsShown,
    CallClosed,
    CallFinished,
    CallOpened,
    ChildShown,
    EvidenceShown,
    Frame,
    HookShown,
    ProgressShown,
    ReasoningShown,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunPaused,
    RunStarted,
    StepFinished,
    StepStarted,
    TextShown,
)
from spakky.agent.streams.to_events import to_events

BY = AgentEventAttribution("desk", "r", "talk", None)
CHILD = CustomEvent(AgentEventAttribution("helper", "child", "talk", "r"), "progress")
REQUEST = AgentApprovalRequest(
    "a1",
    "r",
    AgentApprovalBoundaryKind.TOOL_INVOCATION,
    "Pay?",
    ToolRisk(),
    "r/call/1.1",
    call_id="c1",
)
HOOK: AgentYield[object] = AgentYield(AgentYieldKind.PROGRESS, Message("hooked"))

SPENT = {"steps": 2}

SHOWN: list[tuple[Frame, object]] = [
    (TextShown("m", "hi"), MessageDeltaEvent(BY, "m", "hi")),
    (ReasoningShown("t", "hm"), ReasoningDeltaEvent(BY, "t", "hm")),
    (CallOpened("c", "pay", "m"), ToolCallStartEvent(BY, "c", "pay", "m")),
    (CallArgumentsShown("c", "{}"), ToolCallArgsDeltaEvent(BY, "c", "{}")),
    (CallClosed("c"), ToolCallEndEvent(BY, "c")),
    (
        CallFinished("c", "pay", "m", {"n": 1}, 3, is_error=False),
        ToolCallResultEvent(BY, "c", "pay", "m", 3),
    ),
    (
        CallFinished("c", "pay", "m", {}, "no", is_error=True),
        ToolCallResultEvent(BY, "c", "pay", "m", "no", {"is_error": True}),
    ),
    (RunStarted(resumed=True), RunStartedEvent(BY, {"resumed": True})),
    (StepStarted("model-1"), StepStartedEvent(BY, "model-1")),
    (StepFinished("model-1"), StepFinishedEvent(BY, "model-1")),
    (
        ProgressShown("half", "model", {"n": 1}),
        CustomEvent(BY, "progress", {"message": "half", "current_step": "model"}, {"n": 1}),
    ),
    (
        RunCompleted(object(), {"n": 1}, {"message_id": "m"}, SPENT),
        RunFinishedEvent(BY, metadata={"message_id": "m", "spent": SPENT}, result={"n": 1}),
    ),
    (
        RunFailed("x.y", "no", retryable=True, spent=SPENT),
        RunFinishedEvent(
            BY,
            error={"code": "x.y", "message": "no", "retryable": True},
            metadata={"spent": SPENT},
            status=AgentStatus.FAILED,
        ),
    ),
    (
        RunFailed("x.y", "no", status=AgentStatus.ACTIVE),
        RunFinishedEvent(
            BY,
            error={"code": "x.y", "message": "no", "retryable": False, "resumable": True},
            status=AgentStatus.FAILED,
        ),
    ),
    (
        RunCancelled("enough", "ann", SPENT),
        RunFinishedEvent(
            BY,
            metadata={"spent": SPENT},
            error={
                "code": "agent.run.cancelled",
                "message": "enough",
                "requested_by": "ann",
            },
            status=AgentStatus.CANCELLED,
        ),
    ),
]


@pytest.mark.parametrize(("frame", "event"), SHOWN)
@pytest.mark.requirement(
    "EVENT-3", "EVENT-4", "EVENT-6", "EVENT-7", "EVENT-11", "EVENT-12", "CANCEL-8"
)
def test_a_frame_is_one_event_of_its_run(frame: Frame, event: object) -> None:
    assert to_events(frame, BY) == (event,)


@pytest.mark.requirement("CANCEL-8")
def test_a_cancellation_without_words_gets_some() -> None:
    (event,) = to_events(RunCancelled(None, None), BY)
    assert isinstance(event, RunFinishedEvent)
    assert event.error is not None
    assert event.error["message"] == "The run was cancelled."


@pytest.mark.requirement("EVENT-8", "EVENT-9", "HITL-12")
def test_a_pause_for_people_names_its_first_request_and_lists_all() -> None:
    pause = RunPaused(AgentStateReason.APPROVAL_REQUIRED, "Pay?", (REQUEST, REQUEST))
    (event,) = to_events(pause, BY)
    assert isinstance(event, RunPausedEvent)
    assert (event.reason, event.prompt, event.state_id) == (
        AgentStateReason.APPROVAL_REQUIRED,
        "Pay?",
        "r",
    )
    assert (event.approval_id, event.tool_call_id) == ("a1", "c1")
    assert event.allowed_decisions == ("approve", "reject", "modify", "defer", "cancel")
    assert event.metadata == {"approvals": [REQUEST.to_metadata()] * 2}


@pytest.mark.requirement("EVENT-10")
def test_a_pause_for_a_sign_in_is_told_apart() -> None:
    pause = RunPaused(
        AgentStateReason.AUTH_REQUIRED,
        "Sign in.",
        code="agent.auth.required",
        retryable=True,
        metadata={"provider": "github"},
    )
    (event,) = to_events(pause, BY)
    assert event == RunPausedEvent(
        BY,
        AgentStateReason.AUTH_REQUIRED,
        "Sign in.",
        "r",
        metadata={"provider": "github", "code": "agent.auth.required", "retryable": True},
    )


def test_evidence_and_hook_items_are_custom_events() -> None:
    evidence = AgentEvidence("e1", "r", AgentEvidenceKind.TOOL, {"n": 1})
    (shown,) = to_events(EvidenceShown(evidence), BY)
    assert isinstance(shown, CustomEvent)
    assert shown.name == "evidence"
    assert isinstance(shown.value, dict)
    assert (shown.value["id"], shown.value["kind"]) == ("e1", "tool")
    (hooked,) = to_events(HookShown(HOOK), BY)
    assert isinstance(hooked, CustomEvent)
    assert hooked.name == "progress"
    assert isinstance(hooked.value, dict)
    assert hooked.value["message"] == "hooked"


def test_a_hook_item_without_a_json_form_is_told_by_its_class() -> None:
    final: AgentYield[object] = AgentYield(AgentYieldKind.FINAL, Final(object()))
    (event,) = to_events(HookShown(final), BY)
    assert isinstance(event, CustomEvent)
    assert (event.name, event.value) == ("final", {"type": "Final"})


@pytest.mark.requirement("EVENT-3")
def test_an_event_of_a_child_keeps_its_own_run() -> None:
    assert to_events(ChildShown(CHILD), BY) == (CHILD,)


@pytest.mark.requirement("HITL-12")
def test_a_question_shows_as_the_pause_that_follows_it() -> None:
    assert to_events(ApprovalAsked(REQUEST), BY) == ()


def test_every_frame_has_its_place() -> None:
    # Frame is a type alias; its value holds the union.
    union: Any = Frame.__value__
    elsewhere = {RunPaused, EvidenceShown, HookShown, ChildShown, ApprovalAsked}
    assert {type(frame) for frame, _ in SHOWN} | elsewhere == set(get_args(union))
