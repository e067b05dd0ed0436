"""The compaction that keeps the newest messages only."""

from dataclasses import dataclass
from typing import override

from spakky.agent.compaction.counts import require_count
from spakky.agent.compaction.pairs import plan_recent
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.model_request import ModelCapability
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.ports.compaction import ICompactionStrategy


@dataclass(frozen=True, slots=True)
class KeepRecentMessagesCompactionStrategy(ICompactionStrategy):
    """A window over the newest messages.

    A tool call and its results stay or go together, so that fewer messages may be kept; SYSTEM
    messages stay always and count. When one turn's calls and results alone are more than
    ``max_messages``, only the newest USER message is kept: choose a number above that.

    Attributes:
        max_messages: How many messages stay at most; 1 or more.

    Raises:
        AgentDefinitionError: The number is below 1.
    """

    max_messages: int

    def __post_init__(self) -> None:
        require_count(self.max_messages, "KeepRecentMessagesCompactionStrategy.max_messages")

    @override
    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        """Give the newest messages; usage and capability do not matter."""
        if len(history) <= self.max_messages:
            return history
        return tuple(history[place] for place in plan_recent(history, self.max_messages))
