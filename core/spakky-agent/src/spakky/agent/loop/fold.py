"""Folds what came of a step into the progress. Pure: the same progress and outcome always give the same result."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, assert_never

from spakky.agent.contracts.approval import ApprovalDecision
from spakky.agent.contracts.execution import ModelErrorPolicy, RejectionPolicy
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.json_value import FrozenObject
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
from spakky.agent.loop.progress import (
    Abandoned,
    CallStage,
    Cancelled,
    CancelOrder,
    Completed,
    Ending,
    Failed,
    Paused,
    Phase,
    Progress,
    with_call,
)
from spakky.agent.rules.history import answer_call
from spakky.agent.rules.lifecycle import Trigger, decide_move

NOT_RUN = "This call was not run: the run ended first."
CUT_SHORT = "This call was started, but its outcome was not recorded before the run ended."


def fold(progress: Progress, outcome: Outcome, spec: AgentExecutionSpec) -> Progress:
    """Give the progress after an outcome; its phase says where the loop goes on."""
    return _TABLE[type(outcome)](progress, outcome, spec)


def settle(progress: Progress, ending: Ending) -> Progress:
    """Head for an ending. The first one found stands, except that a run taken over by another runner is let go."""
    if progress.ending is not None and not isinstance(ending, Abandoned):
        return progress
    return replace(progress, phase=Phase.SETTLING, ending=ending, asking=False)


def interrupt(progress: Progress) -> Progress:
    """Give the progress of a run whose caller went away: what ran is cut off, and a resume goes on from here."""
    if progress.standing.status is not AgentStatus.ACTIVE:
        return progress
    return replace(_move(progress, Trigger.INTERRUPT), phase=Phase.POLLING, ending=None)


def _move(progress: Progress, trigger: Trigger) -> Progress:
    return replace(progress, standing=decide_move(progress.standing.status, trigger))


def _act(progress: Progress) -> Progress:
    active = progress.standing.status is AgentStatus.ACTIVE
    return progress if active else _move(progress, Trigger.GO_ON)


def _wait(progress: Progress) -> Progress:
    """Give the progress at its pause: a decision may come while other calls of the turn keep the run active."""
    active = progress.standing.status is AgentStatus.ACTIVE
    return _move(progress, Trigger.ASK_APPROVAL) if active else progress


def _after_calls(progress: Progress) -> Progress:
    """Close the turn once every call has its result."""
    return progress if progress.open_calls else replace(progress, calls=())


# ---------------------------------------------------------------- inbox


def _inbox(progress: Progress, outcome: InboxRead, spec: AgentExecutionSpec) -> Progress:
    for decided in outcome.decisions:
        progress = _decided(progress, decided, spec)
    if progress.phase is Phase.SETTLING:
        # A rejection came first in the queue and has ended the run; what is behind it has no effect.
        return progress
    if outcome.cancel is not None:
        return _begin_cancel(_take_back(progress), outcome.cancel)
    if outcome.pause:
        prompt = "The run was paused on request; resume it to go on."
        pause = Paused(Trigger.INTERRUPT, AgentStateReason.USER_INTERRUPTED, prompt)
        return settle(_take_back(progress), pause)
    if outcome.messages:
        progress = replace(progress, transcript=progress.transcript + outcome.messages, answer=None)
    return _after_poll(_after_calls(progress))


def _after_poll(progress: Progress) -> Progress:
    if progress.open_calls:
        return replace(progress, phase=Phase.CALLING)
    if progress.answer is not None:
        return settle(progress, Completed(progress.answer))
    return replace(progress, phase=Phase.ASKING)


def _decided(progress: Progress, decided: Decided, spec: AgentExecutionSpec) -> Progress:
    decision, call = decided.decision, decided.call
    if call is None:
        return progress
    progress = replace(with_call(progress, call), asked=True)
    if decision is None:
        return progress
    match decision.decision:
        case ApprovalDecision.DEFER:
            return _move(_wait(progress), Trigger.DEFER)
        case ApprovalDecision.REJECT if spec.on_rejection is RejectionPolicy.FAIL_RUN:
            message = f"A person rejected the call of {call.call.name}."
            return settle(progress, Failed(Trigger.REJECT, "agent.approval.rejected", message))
        case _:
            progress = _move(progress, Trigger.GO_ON)
    if decided.answer is None:
        return progress
    return replace(progress, transcript=(*progress.transcript, decided.answer))


def _take_back(progress: Progress) -> Progress:
    """Undo an anticipated step: at a boundary nothing runs yet, so whatever is marked as begun is not."""
    calls = tuple(
        replace(call, stage=CallStage.READY) if call.stage is CallStage.STARTED else call
        for call in progress.calls
    )
    step = progress.step - 1 if progress.asking else progress.step
    return replace(progress, calls=calls, step=step, asking=False)


# ---------------------------------------------------------------- model


def _answered(progress: Progress, outcome: Answered, spec: AgentExecutionSpec) -> Progress:
    mistakes = tuple(mistake.message for mistake in outcome.mistakes)
    progress = replace(
        progress,
        phase=Phase.POLLING,
        asking=False,
        transcript=(*progress.transcript, outcome.message, *mistakes),
        calls=outcome.calls,
        tool_calls=progress.tool_calls + len(outcome.calls),
        usage=add_usage(progress.usage, outcome.usage),
        last_usage=outcome.usage,
        answer=outcome.answer,
    )
    if outcome.misfit is not None:
        return _misfit(progress, outcome.misfit, spec)
    return _after_calls(progress)


def _misfit(progress: Progress, misfit: str, spec: AgentExecutionSpec) -> Progress:
    if progress.repairs >= spec.limits.max_output_repairs:
        message = f"The model's answer does not fit the declared output: {misfit}"
        return settle(progress, Failed(Trigger.FAIL, "agent.output.misfit", message))
    ask_again = ModelMessage(
        ModelMessageRole.USER,
        f"Your answer does not fit the required form: {misfit} Answer again, with nothing but the corrected JSON.",
        FrozenObject({"repair": progress.repairs + 1}),
    )
    return replace(
        progress, transcript=(*progress.transcript, ask_again), repairs=progress.repairs + 1
    )


def _model_broke(progress: Progress, outcome: ModelBroke, spec: AgentExecutionSpec) -> Progress:
    if spec.on_model_error is ModelErrorPolicy.INTERRUPT and spec.is_durable:
        pause = Paused(
            Trigger.LOSE_MODEL,
            AgentStateReason.EXECUTION_FAILED,
            outcome.message,
            outcome.code,
            outcome.retryable,
        )
        return settle(progress, pause)
    return settle(progress, Failed(Trigger.FAIL, outcome.code, outcome.message, outcome.retryable))


def _auth_needed(progress: Progress, outcome: AuthNeeded, _spec: AgentExecutionSpec) -> Progress:
    if outcome.call is not None:
        progress = with_call(progress, replace(outcome.call, stage=CallStage.READY))
    pause = Paused(
        Trigger.ASK_AUTH,
        AgentStateReason.AUTH_REQUIRED,
        outcome.prompt,
        "agent.auth.required",
        metadata=FrozenObject({"provider": outcome.provider}),
    )
    return settle(progress, pause)


def add_usage(total: ModelUsage, more: ModelUsage) -> ModelUsage:
    """Add two usages field by field; what neither knows stays unknown."""
    return ModelUsage(
        input_tokens=_add(total.input_tokens, more.input_tokens),
        output_tokens=_add(total.output_tokens, more.output_tokens),
        total_tokens=_add(_total(total), _total(more)),
        cached_input_tokens=_add(total.cached_input_tokens, more.cached_input_tokens),
        reasoning_tokens=_add(total.reasoning_tokens, more.reasoning_tokens),
        cost=_add(total.cost, more.cost),
    )


def _add[N: (int, float)](old: N | None, new: N | None) -> N | None:
    if old is None or new is None:
        return new if old is None else old
    return old + new


def _total(usage: ModelUsage) -> int | None:
    if usage.total_tokens is not None:
        return usage.total_tokens
    return _add(usage.input_tokens, usage.output_tokens)


# ---------------------------------------------------------------- calls and people


def _returned(progress: Progress, outcome: CallReturned, _spec: AgentExecutionSpec) -> Progress:
    progress = replace(
        with_call(progress, outcome.call),
        transcript=(*progress.transcript, outcome.message),
        delegated=progress.delegated.plus(outcome.spent),
    )
    if progress.phase is Phase.SETTLING:
        return progress
    return replace(_after_calls(progress), phase=Phase.POLLING)


def _asked(progress: Progress, outcome: PeopleAsked, _spec: AgentExecutionSpec) -> Progress:
    for call in outcome.calls:
        progress = with_call(progress, call)
    uncertain = any(call.uncertain for call in outcome.calls)
    progress = _move(progress, Trigger.ASK_RECOVERY if uncertain else Trigger.ASK_APPROVAL)
    return replace(progress, asked=True, phase=Phase.POLLING)


# ---------------------------------------------------------------- endings


def _stopped(progress: Progress, outcome: Stopped, _spec: AgentExecutionSpec) -> Progress:
    match outcome.reason:
        case StopReason.CANCEL:
            order = outcome.order or CancelOrder(f"{progress.run_id}/cancel")
            return _begin_cancel(replace(progress, asking=False), order)
        case StopReason.DEADLINE:
            message = "The run took longer than its declared time."
            return settle(progress, Failed(Trigger.TIME_OUT, "agent.run.timeout", message))
        case StopReason.LEASE_LOST:
            message = "The run's lease was lost: another runner has taken it over, or the store could not be reached in time."
            return settle(progress, Abandoned("agent.persistence.lease_lost", message))
        case _:
            assert_never(outcome.reason)


def _begin_cancel(progress: Progress, order: CancelOrder) -> Progress:
    return replace(
        _move(progress, Trigger.BEGIN_CANCEL), phase=Phase.CLEANING, cancel=order, ending=None
    )


def _cleaned(progress: Progress, outcome: CleanedUp, _spec: AgentExecutionSpec) -> Progress:
    order = progress.cancel or CancelOrder(outcome.report.signal_id)
    failed = ", ".join(
        f"{bad.target_kind} {bad.target_ref}" for bad in outcome.report.failed_outcomes
    )
    return settle(progress, Cancelled(order, failed or None))


def _settled(progress: Progress, outcome: Settled, _spec: AgentExecutionSpec) -> Progress:
    ending = outcome.ending
    progress = replace(progress, phase=Phase.SETTLED, ending=ending)
    match ending:
        case Completed():
            return _move(_act(_close_calls(progress)), Trigger.COMPLETE)
        case Failed(trigger):
            at_pause = trigger is Trigger.REJECT
            return _move(_close_calls(_wait(progress) if at_pause else progress), trigger)
        case Cancelled(_, failed_cleanup):
            trigger = Trigger.FAIL_CLEANUP if failed_cleanup else Trigger.FINISH_CANCEL
            return _move(_close_calls(progress), trigger)
        case Paused(trigger):
            at_pause = trigger is Trigger.DEFER
            return _move(_wait(progress) if at_pause else progress, trigger)
        case Abandoned():
            return progress
        case _:
            assert_never(ending)


def _close_calls(progress: Progress) -> Progress:
    """Answer every open call, so that the stored history stays well-formed."""
    answers = tuple(
        answer_call(
            call.call,
            CUT_SHORT if call.stage is CallStage.STARTED or call.uncertain else NOT_RUN,
            message_id=call.action_id,
            is_error=True,
            ran=call.stage is CallStage.STARTED or call.uncertain,
        )
        for call in progress.open_calls
    )
    return replace(progress, transcript=progress.transcript + answers, calls=())


def _opened(_progress: Progress, outcome: Opened, _spec: AgentExecutionSpec) -> Progress:
    return outcome.progress


def _child_paused(progress: Progress, outcome: CallPaused, spec: AgentExecutionSpec) -> Progress:
    return _asked(progress, PeopleAsked((outcome.call,)), spec)


def _broke(
    progress: Progress, outcome: CallBroke | HookBroke, _spec: AgentExecutionSpec
) -> Progress:
    return settle(progress, Failed(Trigger.FAIL, outcome.code, outcome.message))


def _recorded(progress: Progress, _outcome: Recorded, _spec: AgentExecutionSpec) -> Progress:
    return progress


# Each function takes its own outcome class, which a mapping cannot say.
_TABLE: Mapping[type[Outcome], Callable[[Progress, Any, AgentExecutionSpec], Progress]] = (
    MappingProxyType(
        {
            Opened: _opened,
            InboxRead: _inbox,
            HookBroke: _broke,
            Answered: _answered,
            ModelBroke: _model_broke,
            AuthNeeded: _auth_needed,
            Recorded: _recorded,
            CallReturned: _returned,
            CallBroke: _broke,
            CallPaused: _child_paused,
            PeopleAsked: _asked,
            Stopped: _stopped,
            CleanedUp: _cleaned,
            Settled: _settled,
        }
    )
)
