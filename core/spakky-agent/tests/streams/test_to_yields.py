"""Every frame as an item of the public stream."""

from typing import Any, get_args

import pytest

from spakky.agent.contracts.approval import (
    AgentApprovalBoundaryKind,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.events import AgentEventAttribution, CustomEvent
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import ToolRisk
from spakky.agent.contracts.yields import (
    AgentYield,
    AgentYieldKind,
    Approval,
    Cancel,
    Error,
    Evidence,
    Final,
    Progress,
    Token,
    Tool,
)
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
from spakky.agent.streams.to_yields import to_yields

KIND = AgentYieldKind
REQUEST = AgentApprovalRequest(
    "a1", "r", AgentApprovalBoundaryKind.TOOL_INVOCATION, "Pay?", ToolRisk(), "r/call/1.1"
)
EVIDENCE = AgentEvidence("e1", "r", AgentEvidenceKind.TOOL)
HOOK: AgentYield[object] = AgentYield(KIND.PROGRESS, Progress("hooked"))
CHILD = CustomEvent(AgentEventAttribution("a", "child", "talk", "r"), "progress")

SHOWN: list[tuple[Frame, AgentYieldKind, object]] = [
    (TextShown("m", "hi"), KIND.TOKEN, Token("hi")),
    (ProgressShown("half", "model", {"n": 1}), KIND.PROGRESS, Progress("half", "model", {"n": 1})),
    (
        CallFinished("c", "pay", "m", {"n": 1}, {"paid": 1}, is_error=False),
        KIND.TOOL,
        Tool("pay", "c", {"n": 1}, {"paid": 1}),
    ),
    (
        CallFinished("c", "pay", "m", {}, "no", is_error=True),
        KIND.TOOL,
        Tool("pay", "c", {}, "no", {"is_error": True}),
    ),
    (EvidenceShown(EVIDENCE), KIND.EVIDENCE, Evidence(EVIDENCE)),
    (
        RunCompleted(3, 3, {"message_id": "m"}, {"steps": 2}),
        KIND.FINAL,
        Final(3, {"message_id": "m", "spent": {"steps": 2}}),
    ),
    (RunFailed("x.y", "no", retryable=True), KIND.ERROR, Error("x.y", "no", retryable=True)),
    (
        RunFailed("x.y", "no", status=AgentStatus.ACTIVE),
        KIND.ERROR,
        Error("x.y", "no", metadata={"resumable": True}),
    ),
    (RunCancelled("enough", "ann"), KIND.CANCEL, Cancel("enough", "ann")),
    (
        ApprovalAsked(REQUEST),
        KIND.APPROVAL,
        Approval("a1", "Pay?", tuple(ApprovalDecision), REQUEST.to_metadata()),
    ),
    (
        ApprovalAsked(REQUEST, "It does not bind."),
        KIND.APPROVAL,
        Approval(
            "a1",
            "Pay?",
            tuple(ApprovalDecision),
            {**REQUEST.to_metadata(), "refused": "It does not bind."},
        ),
    ),
    (
        RunPaused(AgentStateReason.AUTH_REQUIRED, "Sign in.", metadata={"provider": "github"}),
        KIND.APPROVAL,
        Approval(
            "r/auth_required",
            "Sign in.",
            (),
            {"provider": "github", "reason": "auth_required"},
        ),
    ),
    (
        RunPaused(AgentStateReason.USER_INTERRUPTED, "Paused."),
        KIND.APPROVAL,
        Approval("r/user_interrupted", "Paused.", (), {"reason": "user_interrupted"}),
    ),
    (
        RunPaused(AgentStateReason.EXECUTION_FAILED, "Busy.", (), "agent.model.busy", True),
        KIND.ERROR,
        Error("agent.model.busy", "Busy.", retryable=True, metadata={"resumable": True}),
    ),
    (
        RunPaused(AgentStateReason.EXECUTION_FAILED, "Busy."),
        KIND.ERROR,
        Error("agent.model.failed", "Busy.", metadata={"resumable": True}),
    ),
]
UNSHOWN: list[Frame] = [
    ReasoningShown("t", "hm"),
    CallOpened("c", "pay", None),
    CallArgumentsShown("c", "{}"),
    CallClosed("c"),
    RunStarted(resumed=False),
    StepStarted("model-1"),
    StepFinished("model-1"),
    ChildShown(CHILD),
    RunPaused(AgentStateReason.APPROVAL_REQUIRED, "Pay?", (REQUEST,)),
]


@pytest.mark.parametrize(("frame", "kind", "payload"), SHOWN)
@pytest.mark.requirement("YIELD-1", "YIELD-3", "CANCEL-8", "OP-54")
def test_a_frame_is_one_item(frame: Frame, kind: AgentYieldKind, payload: object) -> None:
    (item,) = to_yields(frame, "r")
    assert (item.kind, item.payload) == (kind, payload)


def test_the_item_of_a_hook_is_passed_on_as_it_is() -> None:
    assert to_yields(HookShown(HOOK), "r") == (HOOK,)


@pytest.mark.parametrize("frame", UNSHOWN)
def test_what_belongs_to_the_event_stream_only_is_no_item(frame: Frame) -> None:
    assert to_yields(frame, "r") == ()


def test_every_frame_is_in_one_of_the_tables_above() -> None:
    # Frame is a type alias; its value holds the union.
    union: Any = Frame.__value__
    seen = {type(frame) for frame, _, _ in SHOWN} | {type(frame) for frame in UNSHOWN}
    assert seen | {HookShown} == set(get_args(union))
