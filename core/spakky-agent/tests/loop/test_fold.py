"""What each outcome makes of the progress."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.approval import (
    AgentApprovalBoundaryKind,
    AgentApprovalDecisionOutcome,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.cancellation import (
    AgentCancellationCleanupReport,
    AgentCancellationCleanupResult,
    AgentCancellationTargetKind,
)
from spakky.agent.contracts.execution import (
    AgentExecutionLimits,
    ModelErrorPolicy,
    RecoveryStrategy,
    RejectionPolicy,
)
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.loop.decide import decide
from spakky.agent.loop.fold import CUT_SHORT, NOT_RUN, add_usage, fold, interrupt, settle
from spakky.agent.loop.outcomes import (
    Answered,
    AuthNeeded,
    CallBroke,
    CallPaused,
    CallReturned,
    CleanedUp,
    Decided,
    HookBroke,
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
    Ending,
    Failed,
    FinalAnswer,
    Paused,
    Phase,
    Progress,
)
from spakky.agent.rules.history import answer_call, repair_history
from spakky.agent.rules.lifecycle import Trigger, decide_move

SPEC = AgentExecutionSpec(recovery=RecoveryStrategy.ACTION_BOUNDARY)
RUNNING = decide_move(AgentStatus.CREATED, Trigger.START)
WAITING = decide_move(AgentStatus.ACTIVE, Trigger.ASK_APPROVAL)
CANCELLING = decide_move(AgentStatus.ACTIVE, Trigger.BEGIN_CANCEL)
ANSWER = FinalAnswer("done", "r/message/1")
ORDER = CancelOrder("s1", "enough", "ann")
USER = ModelMessage(ModelMessageRole.USER, "go")
READY, STARTED, GATED = CallStage.READY, CallStage.STARTED, CallStage.GATED
PENDING, DONE = CallStage.WAITING, CallStage.DONE


def request(number: int) -> AgentApprovalRequest:
    return AgentApprovalRequest(
        f"a{number}",
        "r",
        AgentApprovalBoundaryKind.TOOL_INVOCATION,
        "Pay?",
        ToolRisk(),
        f"r/call/1.{number}",
    )


def call(number: int, stage: CallStage = READY, **parts: Any) -> CallState:
    asked = ModelToolCall("bank.pay", {"amount": number}, f"c{number}")
    known = {"request": request(number)} if stage is PENDING else {}
    return CallState(
        f"r/call/1.{number}", asked, "sha256:0", stage, Idempotency.UNKNOWN, **(known | parts)
    )


def asked_for(*calls: CallState) -> ModelMessage:
    return ModelMessage(
        ModelMessageRole.ASSISTANT, "", tool_calls=tuple(item.call for item in calls)
    )


def progress(phase: Phase = Phase.POLLING, *calls: CallState, **parts: Any) -> Progress:
    transcript = (USER, asked_for(*calls)) if calls else (USER,)
    given_parts: dict[str, Any] = {
        "standing": RUNNING,
        "step": 1,
        "calls": calls,
        "transcript": transcript,
    }
    return Progress("r", phase, **(given_parts | parts))


def returned(item: CallState, text: str = "ok") -> CallReturned:
    outcome = mistake_of(item, text)
    return replace(outcome, message=answer_call(item.call, text))


def decided(item: CallState, decision: str, **parts: Any) -> Decided:
    kind = ApprovalDecision(decision)
    standing = decide_move(AgentStatus.INTERRUPTED, Trigger.GO_ON)
    outcome = AgentApprovalDecisionOutcome(
        f"a{item.call.arguments['amount']}", kind, standing.status, standing.transition
    )
    approved = kind in {ApprovalDecision.APPROVE, ApprovalDecision.MODIFY}
    after = replace(item, stage=READY) if approved else item
    return Decided("s1", outcome, parts.pop("call", after), **parts)


# ---------------------------------------------------------------- opening and the model


def test_an_opened_run_stands_where_it_was_opened() -> None:
    opened = progress()
    assert fold(Progress("r"), Opened(opened), SPEC) is opened


def test_an_answer_without_calls_waits_for_the_inbox_before_it_ends_the_run() -> None:
    message = ModelMessage(ModelMessageRole.ASSISTANT, "done")
    outcome = Answered(message, answer=ANSWER, usage=ModelUsage(3, 2, 5))
    after = fold(progress(Phase.ASKING, asking=True), outcome, SPEC)
    assert (after.phase, after.asking, after.answer) == (Phase.POLLING, False, ANSWER)
    assert after.transcript == (USER, message)
    assert after.usage == after.last_usage == ModelUsage(3, 2, 5)
    ended = fold(after, InboxRead(), SPEC)
    assert (ended.phase, ended.ending) == (Phase.SETTLING, Completed(ANSWER))


@pytest.mark.requirement("LOOP-11")
def test_an_answer_with_calls_leads_to_them_and_counts_its_mistakes_too() -> None:
    wrong = mistake_of(call(2), "No such tool.")
    calls = (call(1), wrong.call)
    outcome = Answered(asked_for(*calls), calls, (wrong,))
    after = fold(progress(Phase.ASKING, asking=True, tool_calls=3), outcome, SPEC)
    assert (after.phase, after.calls, after.tool_calls) == (Phase.POLLING, calls, 5)
    assert after.transcript[-1] == wrong.message
    assert fold(after, InboxRead(), SPEC).phase is Phase.CALLING


def test_an_answer_of_nothing_but_mistakes_goes_back_to_the_model() -> None:
    wrong = mistake_of(call(1), "No such tool.")
    outcome = Answered(asked_for(wrong.call), (wrong.call,), (wrong,))
    after = fold(progress(Phase.ASKING), outcome, SPEC)
    assert after.calls == ()
    assert fold(after, InboxRead(), SPEC).phase is Phase.ASKING


@pytest.mark.requirement("SPEC-24")
def test_an_answer_that_does_not_fit_is_asked_for_again_until_the_repairs_are_spent() -> None:
    spec = AgentExecutionSpec(limits=AgentExecutionLimits(max_output_repairs=1))
    misfit = Answered(ModelMessage(ModelMessageRole.ASSISTANT, "{"), misfit="It is not JSON.")
    once = fold(progress(Phase.ASKING), misfit, spec)
    assert (once.phase, once.repairs, once.ending) == (Phase.POLLING, 1, None)
    assert once.transcript[-1].role is ModelMessageRole.USER
    assert "It is not JSON." in once.transcript[-1].content
    twice = fold(once, misfit, spec)
    assert twice.phase is Phase.SETTLING
    assert isinstance(twice.ending, Failed)
    assert twice.ending.code == "agent.output.misfit"


@pytest.mark.parametrize(
    ("policy", "durable", "pauses"),
    [
        (ModelErrorPolicy.FAIL_RUN, True, False),
        (ModelErrorPolicy.INTERRUPT, True, True),
        (ModelErrorPolicy.INTERRUPT, False, False),
    ],
)
@pytest.mark.requirement("LOOP-26")
def test_a_broken_model_fails_the_run_or_pauses_it(
    policy: ModelErrorPolicy, durable: bool, pauses: bool
) -> None:
    recovery = RecoveryStrategy.ACTION_BOUNDARY if durable else RecoveryStrategy.NONE
    spec = AgentExecutionSpec(on_model_error=policy, recovery=recovery)
    broke = ModelBroke("agent.model.rate_limit", "Too many requests.", retryable=True)
    after = fold(progress(Phase.ASKING, asking=True), broke, spec)
    assert after.phase is Phase.SETTLING
    assert isinstance(after.ending, Paused if pauses else Failed)
    assert isinstance(after.ending, Paused | Failed)
    assert (after.ending.code, after.ending.retryable) == ("agent.model.rate_limit", True)
    settled = fold(after, Settled(after.ending), spec)
    assert settled.standing.reason is AgentStateReason.EXECUTION_FAILED
    assert settled.standing.status is (AgentStatus.INTERRUPTED if pauses else AgentStatus.FAILED)


@pytest.mark.requirement("EVENT-10")
def test_a_sign_in_pauses_the_run_and_the_call_that_asked_is_made_again() -> None:
    before = progress(Phase.CALLING, call(1, STARTED))
    after = fold(before, AuthNeeded("github", "Sign in.", call(1, STARTED)), SPEC)
    assert after.calls == (call(1),)
    assert isinstance(after.ending, Paused)
    assert after.ending.reason is AgentStateReason.AUTH_REQUIRED
    assert after.ending.metadata == {"provider": "github"}
    assert not after.ending.asks_people
    by_model = fold(progress(Phase.ASKING, asking=True), AuthNeeded("x", "Sign in."), SPEC)
    assert not by_model.asking
    settled = fold(by_model, Settled(by_model.ending or ANSWER_ENDING), SPEC)
    assert settled.standing.reason is AgentStateReason.AUTH_REQUIRED


ANSWER_ENDING = Completed(ANSWER)


def test_what_is_recorded_changes_nothing() -> None:
    before = progress()
    assert fold(before, Recorded(()), SPEC) is before


@pytest.mark.parametrize(
    ("total", "more", "expected"),
    [
        (ModelUsage(), ModelUsage(), ModelUsage()),
        (ModelUsage(), ModelUsage(1, 2), ModelUsage(1, 2, 3)),
        (ModelUsage(1, None, 1), ModelUsage(None, 4), ModelUsage(1, 4, 5)),
        (ModelUsage(1, 1, 9, 1, 1), ModelUsage(1, 1, 2, 1, 1), ModelUsage(2, 2, 11, 2, 2)),
    ],
)
def test_usages_add_up_field_by_field(
    total: ModelUsage, more: ModelUsage, expected: ModelUsage
) -> None:
    assert add_usage(total, more) == expected


# ---------------------------------------------------------------- calls


@pytest.mark.requirement("LOOP-11")
def test_the_last_result_of_a_turn_closes_it() -> None:
    before = progress(Phase.CALLING, call(1, STARTED), call(2, STARTED))
    once = fold(before, returned(call(2, STARTED)), SPEC)
    assert [item.stage for item in once.calls] == [STARTED, DONE]
    assert once.phase is Phase.POLLING
    twice = fold(once, returned(call(1, STARTED)), SPEC)
    assert twice.calls == ()
    assert [m.tool_call_id for m in twice.transcript[-2:]] == ["c2", "c1"]
    sent = repair_history(twice.transcript)
    assert [m.tool_call_id for m in sent[-2:]] == ["c1", "c2"]


def test_a_result_that_lands_while_the_run_ends_is_kept() -> None:
    failing = fold(
        progress(Phase.CALLING, call(1, STARTED), call(2, STARTED)),
        CallBroke(call(1), "agent.tool.failed", "It broke."),
        SPEC,
    )
    after = fold(failing, returned(call(2, STARTED), "kept"), SPEC)
    assert after.phase is Phase.SETTLING
    assert after.transcript[-1].content == "kept"


@pytest.mark.parametrize("outcome", [CallBroke(call(1), "x.y", "no"), HookBroke("x.y", "no")])
@pytest.mark.requirement("LOOP-26")
def test_faults_end_the_run_and_every_open_call_gets_its_answer(outcome: Outcome) -> None:
    before = progress(Phase.CALLING, call(1, STARTED), call(2), call(3, PENDING, uncertain=True))
    after = fold(before, outcome, SPEC)
    assert after.ending == Failed(Trigger.FAIL, "x.y", "no")
    assert after.ending is not None
    settled = fold(after, Settled(after.ending), SPEC)
    assert (settled.phase, settled.calls) == (Phase.SETTLED, ())
    assert [m.content for m in settled.transcript[-3:]] == [CUT_SHORT, NOT_RUN, CUT_SHORT]
    assert repair_history(settled.transcript) == settled.transcript
    assert settled.called == ("bank.pay", "bank.pay")


def test_a_paused_child_leaves_its_call_waiting() -> None:
    before = progress(Phase.CALLING, call(1, STARTED))
    after = fold(before, CallPaused(call(1, PENDING)), SPEC)
    assert (after.phase, after.waiting) == (Phase.POLLING, (call(1, PENDING),))


@pytest.mark.parametrize(
    ("uncertain", "reason"), [(False, "approval_required"), (True, "recovery_requires_hitl")]
)
@pytest.mark.requirement("HITL-4", "RECOV-5")
def test_asking_people_interrupts_the_run(uncertain: bool, reason: str) -> None:
    asked = PeopleAsked((call(1, PENDING, uncertain=uncertain),))
    after = fold(progress(Phase.CALLING, call(1, GATED)), asked, SPEC)
    assert (after.phase, after.asked) == (Phase.POLLING, True)
    assert after.waiting == asked.calls
    assert after.standing.status is AgentStatus.INTERRUPTED
    assert after.standing.reason is AgentStateReason(reason)


# ---------------------------------------------------------------- the inbox


def test_an_empty_inbox_leads_on() -> None:
    assert fold(progress(), InboxRead(), SPEC).phase is Phase.ASKING
    assert fold(progress(Phase.POLLING, call(1)), InboxRead(), SPEC).phase is Phase.CALLING


def test_a_message_takes_the_answer_back_and_the_model_is_asked_again() -> None:
    after = fold(progress(answer=ANSWER), InboxRead(messages=(USER,)), SPEC)
    assert (after.phase, after.answer) == (Phase.ASKING, None)
    assert after.transcript == (USER, USER)


@pytest.mark.requirement("HITL-7")
@pytest.mark.parametrize("decision", ["approve", "modify"])
def test_a_consent_makes_the_call_ready_and_the_run_active(decision: str) -> None:
    waiting = call(1, PENDING)
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    after = fold(before, InboxRead(decisions=(decided(waiting, decision),)), SPEC)
    assert (after.phase, after.asked, after.standing) == (Phase.CALLING, True, RUNNING)
    assert after.calls[0].stage is READY


def test_a_supplied_result_joins_the_transcript_and_closes_the_turn() -> None:
    waiting = call(1, PENDING)
    answer = answer_call(waiting.call, "paid by hand")
    taken = decided(waiting, "approve", call=replace(waiting, stage=DONE), answer=answer)
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    after = fold(before, InboxRead(decisions=(taken,)), SPEC)
    assert (after.phase, after.calls) == (Phase.ASKING, ())
    assert after.transcript[-1] == answer


def test_a_refusal_can_go_to_the_model() -> None:
    spec = replace(SPEC, on_rejection=RejectionPolicy.INFORM_MODEL)
    waiting = call(1, PENDING)
    taken = decided(
        waiting,
        "reject",
        call=replace(waiting, stage=DONE),
        answer=answer_call(waiting.call, "no", is_error=True, ran=False),
    )
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    after = fold(before, InboxRead(decisions=(taken,)), spec)
    assert (after.phase, after.ending, after.standing) == (Phase.ASKING, None, RUNNING)
    assert after.called == ()


@pytest.mark.requirement("HITL-8")
def test_a_deferred_call_goes_on_waiting() -> None:
    waiting = call(1, PENDING)
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    after = fold(before, InboxRead(decisions=(decided(waiting, "defer"),)), SPEC)
    assert after.standing.reason is AgentStateReason.APPROVAL_DEFERRED
    assert after.waiting == (waiting,)


@pytest.mark.requirement("HITL-9")
def test_a_rejection_fails_the_run() -> None:
    waiting = call(1, PENDING)
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    after = fold(before, InboxRead(decisions=(decided(waiting, "reject"),)), SPEC)
    assert after.phase is Phase.SETTLING
    assert isinstance(after.ending, Failed)
    settled = fold(after, Settled(after.ending), SPEC)
    assert settled.standing.reason is AgentStateReason.APPROVAL_REJECTED
    assert settled.transcript[-1].content == NOT_RUN


DECISIONS = ["approve", "modify", "defer", "reject"]


@pytest.mark.parametrize("first", DECISIONS)
@pytest.mark.parametrize("second", DECISIONS)
@pytest.mark.parametrize("standing", [WAITING, RUNNING])
@pytest.mark.requirement("HITL-11", "HITL-15", "LOOP-26")
def test_two_decisions_at_once_have_a_place_in_the_table_in_any_order(
    first: str, second: str, standing: Any
) -> None:
    one, two = call(1, PENDING), call(2, PENDING)
    before = progress(Phase.POLLING, one, two, standing=standing)
    read = InboxRead(decisions=(decided(one, first), decided(two, second)))
    after = fold(before, read, SPEC)
    step = decide(after, SPEC)
    assert step is not None
    if "reject" in {first, second}:
        assert isinstance(after.ending, Failed)
        settled = fold(after, Settled(after.ending), SPEC)
        assert settled.standing.reason is AgentStateReason.APPROVAL_REJECTED
    elif (first, second) == ("defer", "defer"):
        assert after.standing.reason is AgentStateReason.APPROVAL_DEFERRED


def test_a_deferred_pause_settles_while_other_calls_have_made_the_run_active() -> None:
    ending = Paused(Trigger.DEFER, AgentStateReason.APPROVAL_DEFERRED, "Pay?")
    before = progress(Phase.SETTLING, call(1, PENDING), ending=ending)
    settled = fold(before, Settled(ending), SPEC)
    assert settled.standing.reason is AgentStateReason.APPROVAL_DEFERRED


def test_a_decision_that_was_not_taken_leaves_the_call_waiting_with_its_note() -> None:
    waiting = call(1, PENDING)
    noted = replace(waiting, note="That does not bind.")
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    read = InboxRead(
        decisions=(Decided("s1", None, noted, "no"), Decided("s2", None, None, "unknown"))
    )
    after = fold(before, read, SPEC)
    assert after.waiting == (noted,)
    assert after.standing == WAITING


@pytest.mark.requirement("CANCEL-1", "CANCEL-9")
def test_a_cancel_goes_to_cleaning_and_takes_back_what_was_only_anticipated() -> None:
    before = progress(Phase.POLLING, call(1, STARTED), call(2, PENDING), standing=WAITING)
    after = fold(before, InboxRead(cancel=ORDER), SPEC)
    assert (after.phase, after.cancel, after.standing) == (Phase.CLEANING, ORDER, CANCELLING)
    assert [item.stage for item in after.calls] == [READY, PENDING]
    asking = fold(progress(Phase.POLLING, asking=True, step=3), InboxRead(cancel=ORDER), SPEC)
    assert (asking.asking, asking.step) == (False, 2)


def test_a_rejection_ahead_of_a_cancel_in_the_queue_stands() -> None:
    waiting = call(1, PENDING)
    read = InboxRead(decisions=(decided(waiting, "reject"),), cancel=ORDER)
    after = fold(progress(Phase.POLLING, waiting, standing=WAITING), read, SPEC)
    assert after.phase is Phase.SETTLING
    assert isinstance(after.ending, Failed)


@pytest.mark.requirement("STATE-5")
def test_a_pause_stops_before_what_was_anticipated() -> None:
    before = progress(Phase.POLLING, asking=True, step=3)
    after = fold(before, InboxRead(pause=True), SPEC)
    assert (after.phase, after.asking, after.step) == (Phase.SETTLING, False, 2)
    assert isinstance(after.ending, Paused)
    settled = fold(after, Settled(after.ending), SPEC)
    assert settled.standing.reason is AgentStateReason.USER_INTERRUPTED


# ---------------------------------------------------------------- endings


@pytest.mark.requirement("CANCEL-1")
def test_a_stop_by_cancel_keeps_its_order() -> None:
    after = fold(progress(Phase.ASKING, asking=True), Stopped(StopReason.CANCEL, ORDER), SPEC)
    assert (after.phase, after.cancel, after.asking) == (Phase.CLEANING, ORDER, False)
    nameless = fold(progress(Phase.ASKING), Stopped(StopReason.CANCEL), SPEC)
    assert nameless.cancel == CancelOrder("r/cancel")


@pytest.mark.requirement("LOOP-25", "STATE-5")
def test_a_stop_at_the_deadline_fails_with_a_reason_of_its_own() -> None:
    after = fold(
        progress(Phase.CALLING, call(1, STARTED)), Stopped(StopReason.DEADLINE, None), SPEC
    )
    assert isinstance(after.ending, Failed)
    settled = fold(after, Settled(after.ending), SPEC)
    assert settled.standing == decide_move(AgentStatus.ACTIVE, Trigger.TIME_OUT)
    assert settled.transcript[-1].content == CUT_SHORT


def test_a_lost_lease_lets_go_and_overrides_every_other_ending() -> None:
    failing = settle(progress(), Failed(Trigger.FAIL, "x", "no"))
    after = fold(failing, Stopped(StopReason.LEASE_LOST), SPEC)
    assert isinstance(after.ending, Abandoned)
    settled = fold(after, Settled(after.ending), SPEC)
    assert (settled.phase, settled.standing) == (Phase.SETTLED, RUNNING)


def test_the_first_ending_stands() -> None:
    first = settle(progress(), Completed(ANSWER))
    assert settle(first, Failed(Trigger.FAIL, "x", "no")) is first


def report(*failed_refs: str) -> AgentCancellationCleanupReport:
    return AgentCancellationCleanupReport(
        "r",
        "s1",
        tuple(
            AgentCancellationCleanupResult.failed(
                target_kind=AgentCancellationTargetKind.MODEL_STREAM,
                target_ref=ref,
                error_code="x",
                message="no",
            )
            for ref in failed_refs
        ),
    )


@pytest.mark.requirement("CANCEL-5", "CANCEL-6")
@pytest.mark.parametrize(
    ("refs", "trigger"), [((), Trigger.FINISH_CANCEL), (("m", "t"), Trigger.FAIL_CLEANUP)]
)
def test_a_cleanup_ends_the_cancellation(refs: tuple[str, ...], trigger: Trigger) -> None:
    before = progress(Phase.CLEANING, call(1), standing=CANCELLING, cancel=ORDER)
    after = fold(before, CleanedUp(report(*refs)), SPEC)
    words = "model_stream m, model_stream t" if refs else None
    assert after.ending == Cancelled(ORDER, words)
    assert after.ending is not None
    settled = fold(after, Settled(after.ending), SPEC)
    assert settled.standing == decide_move(AgentStatus.CANCELLING, trigger)
    assert settled.calls == ()


def test_a_cleanup_without_a_known_order_names_the_reports_signal() -> None:
    after = fold(progress(Phase.CLEANING, standing=CANCELLING), CleanedUp(report()), SPEC)
    assert after.ending == Cancelled(CancelOrder("s1"))


@pytest.mark.parametrize("standing", [RUNNING, WAITING])
def test_a_completed_run_is_completed_from_wherever_it_stands(standing: Any) -> None:
    before = progress(Phase.SETTLING, standing=standing, ending=Completed(ANSWER))
    settled = fold(before, Settled(Completed(ANSWER)), SPEC)
    assert settled.standing.status is AgentStatus.COMPLETED


@pytest.mark.requirement("LOOP-27")
def test_a_run_whose_caller_went_away_can_be_resumed() -> None:
    left = interrupt(progress(Phase.CALLING, call(1, STARTED), ending=Completed(ANSWER)))
    assert (left.phase, left.ending) == (Phase.POLLING, None)
    assert left.standing.reason is AgentStateReason.USER_INTERRUPTED
    assert left.calls == (call(1, STARTED),)
    for untouched in (progress(standing=WAITING), progress(standing=CANCELLING)):
        assert interrupt(untouched) is untouched


# ---------------------------------------------------------------- any order of facts

call_stages = st.sampled_from([READY, STARTED, GATED, PENDING, DONE])


@given(st.lists(call_stages, max_size=4), st.sampled_from(["fail", "cancel", "complete"]))
def test_however_a_run_ends_its_history_is_well_formed(
    stages: list[CallStage], ending: str
) -> None:
    calls = tuple(call(n, stage) for n, stage in enumerate(stages, 1))
    before = progress(Phase.CALLING, *calls)
    for item in calls:
        if item.stage is DONE:
            before = replace(
                before, transcript=(*before.transcript, answer_call(item.call, "done"))
            )
    if ending == "cancel":
        before = replace(before, standing=CANCELLING)
    endings: dict[str, Ending] = {
        "fail": Failed(Trigger.FAIL, "x", "no"),
        "cancel": Cancelled(ORDER),
        "complete": Completed(ANSWER),
    }
    settled = fold(before, Settled(endings[ending]), SPEC)
    repaired = repair_history(settled.transcript)
    assert len(repaired) == len(settled.transcript)
    assert set(repaired) == set(settled.transcript)
