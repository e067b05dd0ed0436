"""What the loop's fold writes down at its edges: repairs, cut-off calls, interruptions, and where a run may still go."""

from dataclasses import replace
from typing import Any

import pytest

from spakky.agent.contracts.approval import (
    AgentApprovalBoundaryKind,
    AgentApprovalDecisionOutcome,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.execution import (
    AgentExecutionLimits,
    ModelErrorPolicy,
    RecoveryStrategy,
    RejectionPolicy,
)
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.loop.decide import begin, decide
from spakky.agent.loop.fold import CUT_SHORT, NOT_RUN, fold, interrupt
from spakky.agent.loop.outcomes import (
    Answered,
    CallReturned,
    Decided,
    InboxRead,
    ModelBroke,
    Settled,
)
from spakky.agent.loop.plan_calls import mistake_of
from spakky.agent.loop.progress import (
    CallStage,
    CallState,
    Completed,
    Failed,
    FinalAnswer,
    Paused,
    Phase,
    Progress,
)
from spakky.agent.loop.steps import AskModel, RunCalls
from spakky.agent.rules.history import answer_call
from spakky.agent.rules.lifecycle import Trigger, decide_move

SPEC = AgentExecutionSpec(recovery=RecoveryStrategy.ACTION_BOUNDARY)
RUNNING = decide_move(AgentStatus.CREATED, Trigger.START)
WAITING = decide_move(AgentStatus.ACTIVE, Trigger.ASK_APPROVAL)
USER = ModelMessage(ModelMessageRole.USER, "go")
MISFIT = Answered(ModelMessage(ModelMessageRole.ASSISTANT, "{"), misfit="It is not JSON.")


def call(number: int, stage: CallStage, **parts: Any) -> CallState:
    asked = ModelToolCall("bank.pay", {"amount": number}, f"c{number}")
    action_id = f"r/call/1.{number}"
    kind = AgentApprovalBoundaryKind.TOOL_INVOCATION
    if stage is CallStage.WAITING:
        parts["request"] = AgentApprovalRequest(
            f"a{number}", "r", kind, "Pay?", ToolRisk(), action_id
        )
    return CallState(action_id, asked, "sha256:0", stage, Idempotency.UNKNOWN, **parts)


def progress(phase: Phase, *calls: CallState, **parts: Any) -> Progress:
    asked = ModelMessage(
        ModelMessageRole.ASSISTANT, "", tool_calls=tuple(item.call for item in calls)
    )
    known: dict[str, Any] = {"standing": RUNNING, "step": 1, "calls": calls}
    known["transcript"] = (USER, asked) if calls else (USER,)
    return Progress("r", phase, **(known | parts))


def decided(item: CallState, kind: ApprovalDecision) -> Decided:
    outcome = AgentApprovalDecisionOutcome(
        f"a{item.call.arguments['amount']}", kind, RUNNING.status, RUNNING.transition
    )
    return Decided("s1", outcome, item)


@pytest.mark.requirement("SPEC-24")
@pytest.mark.parametrize("allowed", [1, 2, 3, 4])
def test_each_repair_is_counted_and_numbered_up_to_the_last(allowed: int) -> None:
    spec = AgentExecutionSpec(limits=AgentExecutionLimits(max_output_repairs=allowed))
    current = progress(Phase.ASKING)
    for number in range(1, allowed + 1):
        current = fold(current, MISFIT, spec)
        assert (current.ending, current.repairs) == (None, number)
        assert current.transcript[-1].metadata == {"repair": number}
    assert isinstance(fold(current, MISFIT, spec).ending, Failed)


def test_repairs_beyond_what_a_newer_spec_allows_end_the_run() -> None:
    spec = AgentExecutionSpec(limits=AgentExecutionLimits(max_output_repairs=1))
    assert isinstance(fold(progress(Phase.ASKING, repairs=3), MISFIT, spec).ending, Failed)


@pytest.mark.parametrize(
    ("stage", "uncertain", "told", "not_run"),
    [
        (CallStage.STARTED, False, CUT_SHORT, None),
        (CallStage.READY, False, NOT_RUN, True),
        (CallStage.GATED, False, NOT_RUN, True),
        (CallStage.WAITING, False, NOT_RUN, True),
        (CallStage.WAITING, True, CUT_SHORT, None),
        (CallStage.GATED, True, CUT_SHORT, None),
    ],
)
@pytest.mark.requirement("LOOP-26")
def test_an_open_call_is_answered_by_whether_it_may_have_run(
    stage: CallStage, uncertain: bool, told: str, not_run: bool | None
) -> None:
    ending = Failed(Trigger.FAIL, "x.y", "no")
    before = progress(Phase.SETTLING, call(1, stage, uncertain=uncertain), ending=ending)
    answer = fold(before, Settled(ending), SPEC).transcript[-1]
    assert (answer.content, answer.message_id) == (told, "r/call/1.1")
    assert answer.metadata["is_error"] is True
    assert answer.metadata.get("not_run") is not_run


@pytest.mark.parametrize("status", list(AgentStatus))
def test_only_an_active_run_can_be_interrupted(status: AgentStatus) -> None:
    standing = replace(RUNNING, status=status)
    before = progress(Phase.CALLING, standing=standing, ending=None)
    after = interrupt(before)
    if status is AgentStatus.ACTIVE:
        assert after.phase is Phase.POLLING
        assert after.standing.status is AgentStatus.INTERRUPTED
    else:
        assert after is before


@pytest.mark.requirement("STATE-5")
def test_a_run_that_is_active_already_keeps_its_standing_when_a_step_begins() -> None:
    unusual = replace(RUNNING, reason=AgentStateReason.EXECUTION_FAILED)
    before = progress(Phase.ASKING, standing=unusual)
    assert begin(before, AskModel()).standing is unusual
    ready = call(1, CallStage.READY)
    calling = progress(Phase.CALLING, ready, standing=unusual)
    assert begin(calling, RunCalls((ready,))).standing is unusual


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 7])
def test_each_model_call_is_counted_once_and_can_be_taken_back(step: int) -> None:
    begun = begin(progress(Phase.ASKING, step=step), AskModel())
    assert (begun.step, begun.asking) == (step + 1, True)
    assert begin(begun, AskModel()) == begun
    paused = fold(replace(begun, phase=Phase.POLLING), InboxRead(pause=True), SPEC)
    assert (paused.step, paused.asking) == (step, False)


@pytest.mark.parametrize("stage", [CallStage.READY, CallStage.GATED, CallStage.DONE])
def test_a_pause_takes_back_only_what_was_marked_as_begun(stage: CallStage) -> None:
    calls = (call(1, CallStage.STARTED), call(2, stage))
    paused = fold(progress(Phase.POLLING, *calls), InboxRead(pause=True), SPEC)
    assert [item.stage for item in paused.calls] == [CallStage.READY, stage]


def test_a_run_at_its_pause_completes_by_going_on_first() -> None:
    ending = Completed(FinalAnswer("done", "m"))
    before = progress(Phase.SETTLING, standing=WAITING, ending=ending)
    settled = fold(before, Settled(ending), SPEC)
    assert settled.standing.status is AgentStatus.COMPLETED
    assert (settled.phase, settled.ending) == (Phase.SETTLED, ending)


@pytest.mark.parametrize("standing", [RUNNING, WAITING])
@pytest.mark.parametrize("trigger", [Trigger.FAIL, Trigger.REJECT, Trigger.TIME_OUT])
def test_a_failure_settles_from_wherever_its_row_begins(standing: Any, trigger: Trigger) -> None:
    ending = Failed(trigger, "x.y", "no")
    settled = fold(
        progress(Phase.SETTLING, standing=standing, ending=ending), Settled(ending), SPEC
    )
    assert settled.standing.status is AgentStatus.FAILED
    expected = decide_move(
        AgentStatus.INTERRUPTED if trigger is Trigger.REJECT else standing.status, trigger
    )
    assert settled.standing == expected


PAUSES = [
    (Trigger.DEFER, AgentStateReason.APPROVAL_DEFERRED),
    (Trigger.ASK_APPROVAL, AgentStateReason.APPROVAL_REQUIRED),
    (Trigger.ASK_RECOVERY, AgentStateReason.RECOVERY_REQUIRES_HITL),
    (Trigger.ASK_AUTH, AgentStateReason.AUTH_REQUIRED),
    (Trigger.INTERRUPT, AgentStateReason.USER_INTERRUPTED),
    (Trigger.LOSE_MODEL, AgentStateReason.EXECUTION_FAILED),
]


@pytest.mark.parametrize(("trigger", "reason"), PAUSES)
@pytest.mark.requirement("STATE-5")
def test_a_pause_settles_with_the_reason_of_its_row(
    trigger: Trigger, reason: AgentStateReason
) -> None:
    ending = Paused(trigger, reason, "why")
    settled = fold(progress(Phase.SETTLING, ending=ending), Settled(ending), SPEC)
    assert settled.standing == decide_move(
        AgentStatus.INTERRUPTED if trigger is Trigger.DEFER else AgentStatus.ACTIVE, trigger
    )


@pytest.mark.parametrize("policy", list(RejectionPolicy))
@pytest.mark.requirement("HITL-9")
def test_a_rejection_ends_the_run_under_one_policy_only(policy: RejectionPolicy) -> None:
    waiting = call(1, CallStage.WAITING)
    before = progress(Phase.POLLING, waiting, standing=WAITING)
    read = InboxRead(decisions=(decided(waiting, ApprovalDecision.REJECT),))
    after = fold(before, read, replace(SPEC, on_rejection=policy))
    assert isinstance(after.ending, Failed) is (policy is RejectionPolicy.FAIL_RUN)


@pytest.mark.parametrize("policy", list(ModelErrorPolicy))
def test_a_broken_model_pauses_the_run_under_one_policy_only(policy: ModelErrorPolicy) -> None:
    after = fold(
        progress(Phase.ASKING), ModelBroke("m", "no"), replace(SPEC, on_model_error=policy)
    )
    assert isinstance(after.ending, Paused) is (policy is ModelErrorPolicy.INTERRUPT)


@pytest.mark.parametrize("phase", [Phase.CALLING, Phase.POLLING, Phase.SETTLING])
def test_a_result_moves_every_phase_but_the_last_to_the_inbox(phase: Phase) -> None:
    one, two = call(1, CallStage.STARTED), call(2, CallStage.STARTED)
    done = replace(mistake_of(one, "ok"), message=answer_call(one.call, "ok"))
    assert isinstance(done, CallReturned)
    after = fold(progress(phase, one, two), done, SPEC)
    assert after.phase is (Phase.SETTLING if phase is Phase.SETTLING else Phase.POLLING)


@pytest.mark.parametrize("used", [4, 5, 1000])
@pytest.mark.requirement("LOOP-12")
def test_the_bound_of_tool_calls_holds_wherever_the_count_stands(used: int) -> None:
    spec = AgentExecutionSpec(limits=AgentExecutionLimits(max_tool_calls=1000))
    step = decide(progress(Phase.CALLING, call(1, CallStage.READY), tool_calls=used), spec)
    assert isinstance(step, RunCalls)
    over = decide(progress(Phase.ASKING, tool_calls=1001), spec)
    assert over != AskModel()
