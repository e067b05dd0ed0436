"""The table of the loop: from where a run stands to the step it takes next."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.approval import AgentApprovalBoundaryKind, AgentApprovalRequest
from spakky.agent.contracts.execution import AgentExecutionLimits
from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.signals import AgentSignalPollPoint
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.error import AgentLifecycleError
from spakky.agent.loop.decide import anticipate, begin, decide, next_batch
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
from spakky.agent.loop.steps import (
    AskModel,
    AskPeople,
    CleanUp,
    OpenRun,
    ReadInbox,
    RunCalls,
    Settle,
)
from spakky.agent.rules.lifecycle import Trigger, decide_move

SPEC = AgentExecutionSpec()
RUNNING = decide_move(AgentStatus.CREATED, Trigger.START)
WAITING = decide_move(AgentStatus.ACTIVE, Trigger.ASK_APPROVAL)
ANSWER = FinalAnswer("done", "r/message/1")
POINT = AgentSignalPollPoint


def request(number: int = 1) -> AgentApprovalRequest:
    return AgentApprovalRequest(
        f"a{number}",
        "r",
        AgentApprovalBoundaryKind.TOOL_INVOCATION,
        f"Pay {number}?",
        ToolRisk(),
        f"r/call/1.{number}",
    )


def call(number: int, stage: CallStage = CallStage.READY, **parts: Any) -> CallState:
    asked = ModelToolCall("bank.pay", {"amount": number}, f"c{number}")
    known = {"request": request(number)} if stage is CallStage.WAITING else {}
    return CallState(
        f"r/call/1.{number}", asked, "sha256:0", stage, Idempotency.UNKNOWN, **(known | parts)
    )


def progress(phase: Phase, *calls: CallState, **parts: Any) -> Progress:
    given_parts: dict[str, Any] = {"standing": RUNNING, "step": 1, "calls": calls}
    return Progress("r", phase, **(given_parts | parts))


READY, STARTED, GATED = CallStage.READY, CallStage.STARTED, CallStage.GATED
PENDING, DONE = CallStage.WAITING, CallStage.DONE
BEFORE_ANYTHING = ReadInbox(POINT.SAFE_BOUNDARY, messages=True)
BETWEEN_ACTIONS = ReadInbox(POINT.ACTION_BOUNDARY, messages=True)
BEFORE_TOOLS = ReadInbox(POINT.TOOL_BOUNDARY, messages=False)
AT_APPROVAL = ReadInbox(POINT.APPROVAL_BOUNDARY, messages=False)


@pytest.mark.parametrize(
    ("standing", "step"),
    [
        (Progress("r"), OpenRun()),
        (progress(Phase.POLLING, step=0), BEFORE_ANYTHING),
        (progress(Phase.POLLING), BETWEEN_ACTIONS),
        (progress(Phase.POLLING, answer=ANSWER), BETWEEN_ACTIONS),
        (progress(Phase.POLLING, call(1)), BEFORE_TOOLS),
        (progress(Phase.POLLING, call(1), call(2, PENDING)), AT_APPROVAL),
        (progress(Phase.ASKING), AskModel()),
        (progress(Phase.CALLING, call(1)), RunCalls((call(1),))),
        (progress(Phase.CALLING, call(1, GATED), call(2)), RunCalls((call(2),))),
        (progress(Phase.CALLING, call(1, GATED)), AskPeople((call(1, GATED),))),
        (
            progress(Phase.CALLING, call(1, GATED), call(2, PENDING), call(3, GATED)),
            AskPeople((call(1, GATED), call(3, GATED))),
        ),
        (progress(Phase.CLEANING), CleanUp()),
        (progress(Phase.SETTLING, ending=Completed(ANSWER)), Settle(Completed(ANSWER))),
        (progress(Phase.SETTLED), None),
    ],
)
@pytest.mark.requirement("LOOP-10", "SIG-4")
def test_the_step_follows_from_the_phase(standing: Progress, step: object) -> None:
    assert decide(standing, SPEC) == step


def limit_of(standing: Progress, **limits: Any) -> str | None:
    step = decide(standing, AgentExecutionSpec(limits=AgentExecutionLimits(**limits)))
    if not isinstance(step, Settle):
        return None
    assert isinstance(step.ending, Failed)
    assert step.ending.trigger is Trigger.FAIL
    return step.ending.code


@pytest.mark.requirement("LOOP-12")
def test_limits_end_the_run_with_a_code_of_their_own() -> None:
    asking = progress(Phase.ASKING, step=2)
    assert limit_of(asking, max_steps=2) == "agent.limit.max_steps"
    assert limit_of(asking, max_steps=3) is None
    assert limit_of(replace(asking, asking=True), max_steps=2) is None
    used = replace(asking, usage=ModelUsage(total_tokens=101))
    assert limit_of(used, max_total_tokens=100) == "agent.limit.max_total_tokens"
    assert limit_of(used, max_total_tokens=101) is None
    calling = progress(Phase.CALLING, call(1), tool_calls=4)
    assert limit_of(calling, max_tool_calls=3) == "agent.limit.max_tool_calls"
    assert limit_of(calling, max_tool_calls=4) is None


@pytest.mark.requirement("LOOP-12")
def test_a_turn_of_nothing_but_mistakes_counts_against_the_tool_call_limit() -> None:
    assert (
        limit_of(progress(Phase.ASKING, tool_calls=4), max_tool_calls=3)
        == "agent.limit.max_tool_calls"
    )


@pytest.mark.parametrize(
    ("standing", "asked", "uncertain", "trigger", "reason"),
    [
        (WAITING, True, False, "ask_approval", "approval_required"),
        (RUNNING, True, False, "ask_approval", "approval_required"),
        (WAITING, False, False, "ask_recovery", "recovery_requires_hitl"),
        (WAITING, True, True, "ask_recovery", "recovery_requires_hitl"),
        (
            decide_move(AgentStatus.INTERRUPTED, Trigger.DEFER),
            True,
            False,
            "defer",
            "approval_deferred",
        ),
    ],
)
@pytest.mark.requirement("HITL-4", "HITL-8", "RECOV-6", "RECOV-11")
def test_a_run_pauses_when_nothing_but_open_requests_is_left(
    standing: Any, asked: bool, uncertain: bool, trigger: str, reason: str
) -> None:
    waiting = progress(
        Phase.CALLING,
        call(1, PENDING),
        call(2, PENDING, uncertain=uncertain),
        call(3, DONE),
        standing=standing,
        asked=asked,
    )
    step = decide(waiting, SPEC)
    assert isinstance(step, Settle)
    assert step.ending == Paused(Trigger(trigger), AgentStateReason(reason), "Pay 1?")
    assert isinstance(step.ending, Paused)
    assert step.ending.asks_people


def test_a_progress_that_contradicts_itself_is_a_fault_with_the_run_in_it() -> None:
    for broken in (progress(Phase.SETTLING), progress(Phase.CALLING, call(1, DONE))):
        with pytest.raises(AgentLifecycleError, match="Run r is"):
            decide(broken, SPEC)


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ("calls", "chosen"),
    [
        ([], []),
        ([call(1), call(2)], [1]),
        ([call(1, concurrent=True), call(2, concurrent=True), call(3)], [1, 2]),
        ([call(1), call(2, concurrent=True)], [1]),
        ([call(1, concurrent=True), call(2), call(3, concurrent=True)], [1]),
        ([call(1, DONE), call(2, STARTED)], [2]),
        ([call(1, GATED), call(2)], [2]),
        ([call(1, PENDING), call(2)], [2]),
        ([call(1, PENDING), call(2, request=request(2))], []),
        ([call(1, request=request(1)), call(2, PENDING)], [1]),
        ([call(1, PENDING), call(2, request=request(2)), call(3)], [3]),
        ([call(n, concurrent=True) for n in range(1, 10)], [1, 2, 3]),
    ],
)
@pytest.mark.requirement("HITL-15")
def test_a_batch_is_what_may_start_now(calls: list[CallState], chosen: list[int]) -> None:
    batch = next_batch(calls, 3)
    assert [item.call.arguments["amount"] for item in batch] == chosen


stages = st.sampled_from(list(CallStage))
call_lists = st.lists(st.tuples(stages, st.booleans(), st.booleans()), max_size=8).map(
    lambda rows: [
        call(n, stage, concurrent=beside, request=request(n) if asked else None)
        for n, (stage, beside, asked) in enumerate(rows, 1)
    ]
)


@given(call_lists, st.integers(1, 4))
def test_a_batch_never_starts_what_waits_or_is_done_nor_more_than_allowed(
    calls: list[CallState], bound: int
) -> None:
    batch = next_batch(calls, bound)
    assert len(batch) <= bound
    assert all(item.stage in {READY, STARTED} for item in batch)
    assert len(batch) <= 1 or all(item.concurrent for item in batch)
    order = [calls.index(item) for item in batch]
    assert order == sorted(order)
    free = [c for c in calls if c.stage in {READY, STARTED} and c.request is None]
    assert batch or not free


# ---------------------------------------------------------------- marks of what begins


@pytest.mark.requirement("STATE-7")
def test_a_model_call_is_counted_once_when_it_begins() -> None:
    begun = begin(progress(Phase.ASKING, standing=WAITING), AskModel())
    assert (begun.step, begun.asking, begun.standing) == (2, True, RUNNING)
    assert begin(begun, AskModel()) == begun


@pytest.mark.requirement("STATE-7")
def test_the_calls_of_a_batch_are_started_and_the_run_is_active() -> None:
    before = progress(Phase.CALLING, call(1), call(2), standing=WAITING)
    begun = begin(before, RunCalls((call(1),)))
    assert [item.stage for item in begun.calls] == [STARTED, READY]
    assert begun.standing == RUNNING


@pytest.mark.parametrize("step", [OpenRun(), AskPeople(()), CleanUp(), BETWEEN_ACTIONS])
def test_other_steps_leave_no_mark(step: Any) -> None:
    before = progress(Phase.POLLING, call(1))
    assert begin(before, step) is before


def test_what_follows_an_outcome_is_marked_as_begun_with_it() -> None:
    assert anticipate(progress(Phase.POLLING), SPEC).asking
    marked = anticipate(progress(Phase.POLLING, call(1, concurrent=True), call(2)), SPEC)
    assert [item.stage for item in marked.calls] == [STARTED, READY]


@pytest.mark.parametrize(
    "standing",
    [
        progress(Phase.POLLING, answer=ANSWER),
        progress(Phase.SETTLING, ending=Completed(ANSWER)),
        progress(Phase.SETTLED),
        progress(Phase.CLEANING),
        Progress("r"),
        progress(Phase.POLLING, call(1, GATED)),
        progress(Phase.POLLING, step=50),
    ],
)
def test_nothing_is_marked_where_no_action_follows(standing: Progress) -> None:
    assert anticipate(standing, SPEC) is standing


def test_while_the_rest_of_a_batch_runs_nothing_else_is_marked() -> None:
    running = progress(
        Phase.POLLING,
        call(1, DONE),
        call(2, STARTED, concurrent=True),
        call(3, concurrent=True),
    )
    assert anticipate(running, SPEC) is running


@pytest.mark.parametrize("stage", [GATED, PENDING, DONE])
def test_an_action_is_anticipated_beside_calls_that_stand_elsewhere(stage: CallStage) -> None:
    other = call(1, stage)
    after = anticipate(progress(Phase.POLLING, other, call(2)), SPEC)
    assert after.calls == (other, call(2, STARTED))
