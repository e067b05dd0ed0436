"""The table of the loop: from where a run stands to the step it takes next. Pure; it looks at no clock and no port.

    phase      step
    opening    OpenRun
    polling    ReadInbox
    asking     AskModel, or Settle(failed) at a limit
    calling    RunCalls while calls may start; AskPeople for those that need consent; else Settle(paused)
    cleaning   CleanUp
    settling   Settle with the ending that was found
    settled    none

``anticipate`` and ``begin`` mark a step as begun before it is stored, so that what is on disk never lags behind what acts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from types import MappingProxyType

from spakky.agent.contracts.signals import AgentSignalPollPoint
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.error import AgentLifecycleError
from spakky.agent.loop.progress import (
    CallStage,
    CallState,
    Failed,
    Paused,
    Phase,
    Progress,
    with_call,
)
from spakky.agent.loop.steps import (
    AskModel,
    AskPeople,
    CleanUp,
    OpenRun,
    ReadInbox,
    RunCalls,
    Settle,
    Step,
)
from spakky.agent.rules.lifecycle import Trigger, decide_move
from spakky.agent.rules.limits import find_reached

type Decider = Callable[[Progress, AgentExecutionSpec], Step | None]

_STARTABLE = frozenset({CallStage.READY, CallStage.STARTED})
_UNDECIDED = frozenset({CallStage.GATED, CallStage.WAITING})


def decide(progress: Progress, spec: AgentExecutionSpec) -> Step | None:
    """Choose the next step; None when the run is settled.

    Raises:
        AgentLifecycleError: The progress contradicts itself; a fault of the loop.
    """
    return _TABLE[progress.phase](progress, spec)


def begin(progress: Progress, step: Step) -> Progress:
    """Mark a step as begun: the run is active, a model call is counted once, the calls of a batch are STARTED."""
    match step:
        case AskModel() if not progress.asking:
            return replace(_act(progress), step=progress.step + 1, asking=True)
        case RunCalls(batch):
            for call in batch:
                progress = with_call(progress, replace(call, stage=CallStage.STARTED))
            return _act(progress)
        case _:
            return progress


def _act(progress: Progress) -> Progress:
    if progress.standing.status is AgentStatus.ACTIVE:
        return progress
    return replace(progress, standing=decide_move(progress.standing.status, Trigger.GO_ON))


def anticipate(progress: Progress, spec: AgentExecutionSpec) -> Progress:
    """Mark the action that follows as begun, so that its intent shares a commit with the result before it.

    Reading the inbox comes in between; when that changes the plan, ``fold`` takes the mark back.
    """
    phase = progress.phase
    if any(call.stage is CallStage.STARTED for call in progress.calls):
        # The rest of a batch still runs; what follows it is not chosen yet.
        return progress
    if phase is Phase.POLLING and progress.answer is None:
        phase = Phase.CALLING if progress.open_calls else Phase.ASKING
    if phase not in {Phase.CALLING, Phase.ASKING}:
        return progress
    return begin(progress, _TABLE[phase](progress, spec) or OpenRun())


def next_batch(calls: Sequence[CallState], max_parallel: int) -> tuple[CallState, ...]:
    """Choose the calls that may start now.

    Calls that need no consent never wait for those that do. A call that was consented to waits until every call before
    it has been decided on, so that consented calls run in the model's order. Calls that may run beside each other form
    one batch, up to ``max_parallel``; any other call is a batch of its own.
    """
    startable: list[CallState] = []
    undecided = False
    for call in calls:
        undecided = undecided or call.stage in _UNDECIDED
        if call.stage in _STARTABLE and not (undecided and call.request is not None):
            startable.append(call)
    together = tuple(takewhile(lambda call: call.concurrent, startable))[:max_parallel]
    return together or tuple(startable[:1])


def _open(_progress: Progress, _spec: AgentExecutionSpec) -> Step:
    return OpenRun()


def _poll(progress: Progress, _spec: AgentExecutionSpec) -> Step:
    if progress.waiting:
        return ReadInbox(AgentSignalPollPoint.APPROVAL_BOUNDARY, messages=False)
    if progress.open_calls:
        return ReadInbox(AgentSignalPollPoint.TOOL_BOUNDARY, messages=False)
    if progress.step == 0:
        return ReadInbox(AgentSignalPollPoint.SAFE_BOUNDARY, messages=True)
    return ReadInbox(AgentSignalPollPoint.ACTION_BOUNDARY, messages=True)


def _ask(progress: Progress, spec: AgentExecutionSpec) -> Step:
    reached = None if progress.asking else find_reached(spec.limits, progress.spent)
    if reached is not None:
        return _limit(*reached)
    # A turn that holds nothing but mistakes of the model comes here without passing through CALLING.
    return _tool_call_limit(progress, spec) or AskModel()


def _call(progress: Progress, spec: AgentExecutionSpec) -> Step:
    limit = _tool_call_limit(progress, spec)
    if limit is not None:
        return limit
    batch = next_batch(progress.calls, spec.limits.max_parallel_tools)
    if batch:
        return RunCalls(batch)
    gated = tuple(call for call in progress.calls if call.stage is CallStage.GATED)
    if gated:
        return AskPeople(gated)
    return Settle(_pause(progress))


def _tool_call_limit(progress: Progress, spec: AgentExecutionSpec) -> Settle | None:
    bound = spec.limits.max_tool_calls
    if bound is None or progress.spent.tool_calls <= bound:
        return None
    return _limit("max_tool_calls", f"{bound} tool calls")


def _pause(progress: Progress) -> Paused:
    waiting = progress.waiting
    if not waiting:
        message = f"Run {progress.run_id} is calling tools but has no call left; this is a fault of the loop."
        raise AgentLifecycleError(message)
    if not progress.asked or any(call.uncertain for call in waiting):
        trigger = Trigger.ASK_RECOVERY
    elif progress.standing.reason is AgentStateReason.APPROVAL_DEFERRED:
        trigger = Trigger.DEFER
    else:
        trigger = Trigger.ASK_APPROVAL
    reason = decide_move(progress.standing.status, trigger).reason
    prompts = [call.request.prompt for call in waiting if call.request is not None]
    return Paused(trigger, reason or AgentStateReason.APPROVAL_REQUIRED, " ".join(prompts[:1]))


def _limit(name: str, bound: str) -> Settle:
    message = (
        f"The run reached its limit of {bound}; raise AgentExecutionLimits.{name} if it needs more."
    )
    return Settle(Failed(Trigger.FAIL, f"agent.limit.{name}", message))


def _clean(_progress: Progress, _spec: AgentExecutionSpec) -> Step:
    return CleanUp()


def _settle(progress: Progress, _spec: AgentExecutionSpec) -> Step:
    if progress.ending is None:
        message = (
            f"Run {progress.run_id} is settling without an ending; this is a fault of the loop."
        )
        raise AgentLifecycleError(message)
    return Settle(progress.ending)


def _stop(_progress: Progress, _spec: AgentExecutionSpec) -> None:
    return None


_TABLE: Mapping[Phase, Decider] = MappingProxyType(
    {
        Phase.OPENING: _open,
        Phase.POLLING: _poll,
        Phase.ASKING: _ask,
        Phase.CALLING: _call,
        Phase.CLEANING: _clean,
        Phase.SETTLING: _settle,
        Phase.SETTLED: _stop,
    }
)
