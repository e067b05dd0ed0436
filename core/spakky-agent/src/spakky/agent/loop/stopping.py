"""What an executor does when the gate was tripped under it: say so, and clean up once a cancel is on disk."""

from collections.abc import AsyncGenerator, Sequence

from spakky.agent.contracts.cancellation import AgentCancellationCleanupTask
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.loop.frames import Frame
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Outcome, Stopped, StopReason
from spakky.agent.loop.progress import CancelOrder
from spakky.agent.rules.cancellation import (
    CLEANUP_TIMEOUT_SECONDS,
    run_agent_cancellation_cleanup,
)

CLEANUP_SECONDS = CLEANUP_TIMEOUT_SECONDS
"""How long the loop waits for something to stop."""


async def stop_with_cleanup(
    kit: RunKit, tasks: Sequence[AgentCancellationCleanupTask]
) -> AsyncGenerator[Frame | Outcome, None]:
    """Yield why the run stops. For a cancel, run the cleanups after that outcome was taken, and keep what came of them."""
    stopped = kit.gate.stopped or Stopped(StopReason.CANCEL)
    yield stopped
    state = kit.journal.state
    if stopped.reason is StopReason.CANCEL and stopped.order is not None and state is not None:
        report = await run_agent_cancellation_cleanup(
            state=state,
            signal=signal_of(kit.run_id, stopped.order),
            tasks=tasks,
            timeout_seconds=CLEANUP_SECONDS,
        )
        kit.cleanups.extend(report.outcomes)


def signal_of(run_id: str, order: CancelOrder) -> AgentSignal:
    """Give the CANCEL signal that an order was read from."""
    payload = {"reason": order.reason, "requested_by": order.requested_by}
    return AgentSignal(order.signal_id, run_id, AgentSignalKind.CANCEL, payload)
