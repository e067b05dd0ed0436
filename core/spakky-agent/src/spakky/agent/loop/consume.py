"""Consumes the eligible beginning of a signal queue: the public helper for agents that write their own ``execute()``."""

from collections.abc import Sequence

from spakky.agent.contracts.signals import (
    AgentSignal,
    AgentSignalConsumptionBatch,
    AgentSignalKind,
    AgentSignalPollPoint,
)
from spakky.agent.error import AgentSignalConsumedError
from spakky.agent.ports.repositories import IAgentSignalRepository
from spakky.agent.rules.signal_queue import eligible_prefix


async def consume_pending_agent_signals(
    repository: IAgentSignalRepository,
    state_id: str,
    *,
    poll_point: AgentSignalPollPoint = AgentSignalPollPoint.SAFE_BOUNDARY,
    accepted_signals: Sequence[AgentSignalKind] | None = None,
    max_signals: int | None = None,
) -> AgentSignalConsumptionBatch:
    """Read the queue as it is now, and consume its beginning up to the first signal that is not accepted.

    Nothing is waited for, and no earlier signal is skipped for a later one. A signal that another consumer takes at the
    same moment ends the batch before it.

    Args:
        repository: The queue.
        state_id: The run.
        poll_point: Where the caller stands; told in the result.
        accepted_signals: The kinds to consume; None for all.
        max_signals: The most to consume; None for no bound.
    """
    pending = await repository.list_pending(state_id)
    consumed: list[AgentSignal] = []
    for signal in eligible_prefix(pending, accepted_signals, max_signals):
        try:
            consumed.append(await repository.mark_consumed(signal.id))
        except AgentSignalConsumedError:
            break
    return AgentSignalConsumptionBatch(state_id, poll_point, tuple(consumed))
