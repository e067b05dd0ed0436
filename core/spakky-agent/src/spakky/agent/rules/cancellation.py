"""The public steps of a cancellation: begin it, clean up what runs, and end the run by what came of that."""

import asyncio
from collections.abc import Sequence

from spakky.agent.contracts.cancellation import (
    AgentCancellationCleanupReport,
    AgentCancellationCleanupResult,
    AgentCancellationCleanupTask,
)
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState
from spakky.agent.error import AgentValueError
from spakky.agent.rules.lifecycle import Trigger, apply_move

CLEANUP_TIMEOUT_SECONDS = 10.0
"""How long one cleanup may take before it counts as failed."""


def begin_agent_cancellation(state: AgentState, signal: AgentSignal) -> AgentState:
    """Give the CANCELLING state that must be stored before anything is cleaned up.

    Raises:
        AgentValueError: The signal is no CANCEL, or is addressed to another run.
        AgentLifecycleError: The run has ended.
    """
    if signal.kind is not AgentSignalKind.CANCEL:
        message = f"Signal {signal.id} has kind {signal.kind.value}, not cancel; only a CANCEL signal begins a cancellation."
        raise AgentValueError(message)
    if signal.agent_state_id != state.id:
        message = (
            f"Signal {signal.id} belongs to run {signal.agent_state_id}, not to run {state.id}; "
            "load the state of its own run."
        )
        raise AgentValueError(message)
    return apply_move(state, Trigger.BEGIN_CANCEL)


async def run_agent_cancellation_cleanup(
    *,
    state: AgentState,
    signal: AgentSignal,
    tasks: Sequence[AgentCancellationCleanupTask],
    timeout_seconds: float = CLEANUP_TIMEOUT_SECONDS,
) -> AgentCancellationCleanupReport:
    """Run every cleanup, one after another in the given order, and gather what came of each.

    A cleanup that raises or takes longer than ``timeout_seconds`` is a failed outcome; the others still run.
    """
    outcomes = [await _clean_up(task, state, signal, timeout_seconds) for task in tasks]
    return AgentCancellationCleanupReport(
        state_id=state.id, signal_id=signal.id, outcomes=tuple(outcomes)
    )


async def _clean_up(
    task: AgentCancellationCleanupTask,
    state: AgentState,
    signal: AgentSignal,
    timeout_seconds: float,
) -> AgentCancellationCleanupResult:
    try:
        async with asyncio.timeout(timeout_seconds):
            return await task.run(state=state, signal=signal)
    except TimeoutError:
        return AgentCancellationCleanupResult.failed(
            target_kind=task.target_kind,
            target_ref=task.target_ref,
            error_code="agent.cancellation.timeout",
            message=f"The cleanup did not end within {timeout_seconds:g} seconds.",
        )


def complete_agent_cancellation(
    state: AgentState, report: AgentCancellationCleanupReport
) -> AgentState:
    """Give the terminal state: CANCELLED when every cleanup succeeded or was skipped, else FAILED.

    Raises:
        AgentValueError: The report is of another run.
        AgentLifecycleError: The run is not CANCELLING.
    """
    if report.state_id != state.id:
        message = f"The cleanup report belongs to run {report.state_id}, not to run {state.id}; load the state of its own run."
        raise AgentValueError(message)
    return apply_move(
        state, Trigger.FINISH_CANCEL if report.cleanup_succeeded else Trigger.FAIL_CLEANUP
    )
