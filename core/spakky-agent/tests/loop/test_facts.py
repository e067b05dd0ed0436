"""What each move of the loop puts on record."""

from dataclasses import replace
from typing import Any

import pytest

from spakky.agent.contracts.approval import (
    AgentApprovalBoundaryKind,
    AgentApprovalDecisionOutcome,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.cancellation import AgentCancellationCleanupReport
from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.state import AgentStateTransition, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk
from spakky.agent.json_value import digest_value
from spakky.agent.loop.facts import Facts, facts_begun, facts_of
from spakky.agent.loop.outcomes import (
    Answered,
    CallPaused,
    CallReturned,
    CleanedUp,
    Decided,
    InboxRead,
    Opened,
    PeopleAsked,
    Recorded,
    Stopped,
    StopReason,
)
from spakky.agent.loop.plan_calls import mistake_of
from spakky.agent.loop.progress import CallStage, CallState, CancelOrder, Progress
from spakky.agent.rules.history import answer_call

NOTE = AgentEvidenceCandidate(AgentEvidenceKind.CONTEXT, {"note": 1})
REQUEST = AgentApprovalRequest(
    "a1",
    "r",
    AgentApprovalBoundaryKind.TOOL_INVOCATION,
    "Pay?",
    ToolRisk(),
    "r/call/1.1",
)


def call(stage: CallStage, **parts: Any) -> CallState:
    asked = ModelToolCall("bank.pay", {"amount": 1}, "c1")
    digest = digest_value(asked.arguments)
    return CallState("r/call/1.1", asked, digest, stage, Idempotency.NON_IDEMPOTENT, **parts)


def points(facts: Facts) -> list[str]:
    return [
        f"{piece.payload['stage']} {piece.payload['action_kind']} {piece.payload['action_id']}"
        for piece in facts.evidence
        if piece.kind is AgentEvidenceKind.ACTION_BOUNDARY
    ]


def progress(*calls: CallState, **parts: Any) -> Progress:
    return Progress("r", step=1, calls=calls, **parts)


NOTHING = Facts()


# ---------------------------------------------------------------- intents


@pytest.mark.requirement("RECOV-1", "STATE-7")
def test_a_model_call_that_begins_is_put_on_record_once() -> None:
    begun = progress(asking=True)
    facts = facts_begun(progress(), begun)
    assert points(facts) == ["before model_call r/model/1"]
    assert facts.evidence[0].payload["idempotency"] == "idempotent"
    assert facts_begun(begun, begun) == NOTHING


@pytest.mark.requirement("RECOV-1")
def test_a_call_that_begins_is_put_on_record_with_what_its_tool_declared() -> None:
    ready = progress(call(CallStage.READY, request=REQUEST))
    started = progress(call(CallStage.STARTED, request=REQUEST))
    facts = facts_begun(ready, started)
    assert points(facts) == ["before tool_call r/call/1.1"]
    payload = facts.evidence[0].payload
    assert payload["idempotency"] == "non_idempotent"
    assert payload["metadata"] == {
        "tool": "bank.pay",
        "call_id": "c1",
        "digest": digest_value({"amount": 1}),
        "approval_id": "a1",
    }
    assert facts_begun(started, started) == NOTHING
    assert facts_begun(progress(), ready) == NOTHING


# ---------------------------------------------------------------- outcomes


@pytest.mark.requirement("RECOV-1")
def test_an_answer_closes_its_model_call_and_keeps_its_audits() -> None:
    answer = Answered(ModelMessage(ModelMessageRole.ASSISTANT, ""), audits=(NOTE,))
    facts = facts_of(progress(), answer, progress())
    assert points(facts) == ["after model_call r/model/1"]
    assert facts.evidence[-1] is NOTE


@pytest.mark.requirement("RECOV-1", "RECOV-9")
def test_a_result_closes_its_call_together_with_the_captured_result() -> None:
    done = call(CallStage.DONE)
    shown = mistake_of(done, "ok")
    outcome = CallReturned(done, answer_call(done.call, "ok"), shown.shown, NOTE)
    facts = facts_of(progress(), outcome, progress())
    assert points(facts) == ["after tool_call r/call/1.1"]
    assert facts.evidence[-1] is NOTE
    bare = facts_of(progress(), replace(outcome, evidence=None), progress())
    assert len(bare.evidence) == 1


@pytest.mark.requirement("RECOV-1")
def test_a_question_opens_a_wait() -> None:
    asked = PeopleAsked((call(CallStage.WAITING, request=REQUEST), call(CallStage.WAITING)))
    facts = facts_of(progress(), asked, progress())
    assert points(facts) == ["before approval_wait a1", "before approval_wait r/call/1.1"]


def test_a_paused_child_opens_a_wait_for_its_call() -> None:
    paused = CallPaused(call(CallStage.WAITING, request=REQUEST))
    assert points(facts_of(progress(), paused, progress())) == ["before approval_wait a1"]


def decision(kind: str) -> AgentApprovalDecisionOutcome:
    return AgentApprovalDecisionOutcome(
        "a1",
        ApprovalDecision(kind),
        AgentStatus.ACTIVE,
        AgentStateTransition.RUNNING,
        comment="fine",
        decided_by="ann",
    )


@pytest.mark.requirement("RECOV-1", "HITL-14")
def test_a_decision_is_on_record_with_who_gave_it_and_both_digests() -> None:
    waiting = call(CallStage.WAITING, request=REQUEST)
    modified = ModelToolCall("bank.pay", {"amount": 2}, "c1")
    ready = replace(waiting, stage=CallStage.READY, call=modified)
    read = InboxRead(consumed=("s1",), decisions=(Decided("s1", decision("modify"), ready),))
    facts = facts_of(progress(waiting), read, progress(ready))
    assert facts.consumed == ("s1",)
    assert facts.evidence[0].kind is AgentEvidenceKind.APPROVAL
    assert facts.evidence[0].payload == {
        "signal_id": "s1",
        "request_id": "a1",
        "decision": "modify",
        "comment": "fine",
        "decided_by": "ann",
        "action_id": "r/call/1.1",
        "tool": "bank.pay",
        "proposed_digest": digest_value({"amount": 1}),
        "decided_digest": digest_value({"amount": 2}),
    }
    assert points(facts) == ["after approval_wait a1"]


def test_a_decision_that_leaves_the_call_waiting_leaves_the_wait_open() -> None:
    waiting = call(CallStage.WAITING, request=REQUEST)
    deferred = Decided("s1", decision("defer"), waiting)
    refused = Decided("s2", None, waiting, "It does not bind.")
    unknown = Decided("s3", None, None, "No open request has that id.")
    read = InboxRead(decisions=(deferred, refused, unknown))
    facts = facts_of(progress(waiting), read, progress(waiting))
    assert points(facts) == []
    payloads = [piece.payload for piece in facts.evidence]
    assert [payload.get("refused") for payload in payloads] == [
        None,
        "It does not bind.",
        "No open request has that id.",
    ]
    assert payloads[2] == {"signal_id": "s3", "refused": "No open request has that id."}


@pytest.mark.requirement("SAFE-1")
def test_the_digest_of_a_raw_secret_is_not_put_on_record() -> None:
    waiting = call(CallStage.WAITING, request=REQUEST, storable=False)
    raw = ModelToolCall("bank.pay", {"pin": "s3cret"}, "c1")
    ready = replace(waiting, stage=CallStage.READY, call=raw)
    read = InboxRead(decisions=(Decided("s1", decision("modify"), ready),))
    facts = facts_of(progress(waiting), read, progress(ready))
    assert facts.evidence[0].payload["decided_digest"] == ready.digest


def test_an_intent_that_is_taken_back_is_closed_as_not_started() -> None:
    before = progress(call(CallStage.STARTED))
    read = InboxRead(consumed=("s1",), cancel=CancelOrder("s1"), evidence=(NOTE,))
    facts = facts_of(before, read, progress(call(CallStage.READY)))
    assert facts.evidence[0] is NOTE
    assert points(facts) == ["after tool_call r/call/1.1"]
    metadata = facts.evidence[-1].payload["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["not_started"] is True
    assert points(facts_of(before, read, before)) == []


@pytest.mark.requirement("CANCEL-4", "CANCEL-7")
def test_a_cleanup_is_on_record() -> None:
    cleaned = CleanedUp(AgentCancellationCleanupReport("r", "s1"))
    facts = facts_of(progress(), cleaned, progress())
    assert [piece.kind for piece in facts.evidence] == [AgentEvidenceKind.CANCELLATION]


def test_a_stop_consumes_the_signal_that_ordered_it() -> None:
    order = Stopped(StopReason.CANCEL, CancelOrder("s1"))
    assert facts_of(progress(), order, progress()) == Facts(consumed=("s1",))
    assert facts_of(progress(), Stopped(StopReason.DEADLINE), progress()) == NOTHING


def test_what_was_recorded_is_on_record_and_the_rest_is_not() -> None:
    assert facts_of(progress(), Recorded((NOTE,)), progress()).evidence == (NOTE,)
    assert facts_of(progress(), Opened(progress()), progress()) == NOTHING
    assert facts_of(progress(), InboxRead(), progress()) == NOTHING
