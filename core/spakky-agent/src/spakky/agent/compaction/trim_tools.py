"""The compaction that cuts long tool results."""

from dataclasses import dataclass, replace
from typing import override

from spakky.agent.compaction.counts import require_count
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelCapability
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.ports.compaction import ICompactionStrategy


@dataclass(frozen=True, slots=True)
class TrimToolResultsCompactionStrategy(ICompactionStrategy):
    """Cuts the content of TOOL messages; every other message stays as it is.

    Attributes:
        max_characters: How many characters of each result stay, from its beginning; 1 or more.

    Raises:
        AgentDefinitionError: The number is below 1.
    """

    max_characters: int

    def __post_init__(self) -> None:
        require_count(self.max_characters, "TrimToolResultsCompactionStrategy.max_characters")

    @override
    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        """Give the history with its tool results cut; usage and capability do not matter."""
        return tuple(self._trim(message) for message in history)

    def _trim(self, message: ModelMessage) -> ModelMessage:
        is_short = len(message.content) <= self.max_characters
        if message.role is not ModelMessageRole.TOOL or is_short:
            return message
        return replace(message, content=message.content[: self.max_characters])
