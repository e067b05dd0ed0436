"""Which pending signals may be consumed now, in what order."""

from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind

CONTROL_KINDS: frozenset[AgentSignalKind] = frozenset(
    {
        AgentSignalKind.CANCEL,
        AgentSignalKind.APPROVAL_DECISION,
        AgentSignalKind.PAUSE,
        AgentSignalKind.RESUME,
    }
)
"""The kinds that steer a run. The loop reads them in a lane of their own, so that nothing else can hold them up."""


def eligible_prefix(
    pending: Sequence[AgentSignal],
    accepted: Collection[AgentSignalKind] | None,
    max_signals: int | None = None,
) -> tuple[AgentSignal, ...]:
    """Give the longest beginning of a queue that holds accepted kinds only.

    Args:
        pending: The queue, oldest first.
        accepted: The kinds that may be consumed; None accepts every kind.
        max_signals: The most signals to give; None for no bound.
    """
    head = takewhile(lambda signal: accepted is None or signal.kind in accepted, pending)
    return tuple(head)[:max_signals]


def split_lanes(
    pending: Iterable[AgentSignal],
) -> tuple[tuple[AgentSignal, ...], tuple[AgentSignal, ...]]:
    """Part a queue into its control signals and the rest; each lane keeps the queue's order."""
    control: list[AgentSignal] = []
    rest: list[AgentSignal] = []
    for signal in pending:
        (control if signal.kind in CONTROL_KINDS else rest).append(signal)
    return tuple(control), tuple(rest)
