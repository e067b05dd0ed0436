"""The compaction that leaves everything to the model's backend."""

from dataclasses import dataclass
from typing import override

from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.model_request import ModelCapability
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.ports.compaction import ICompactionStrategy


@dataclass(frozen=True, slots=True)
class ProviderManagedCompactionStrategy(ICompactionStrategy):
    """Passes the history on as it is, for backends that shorten it themselves."""

    @override
    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        """Give the history itself; usage and capability do not matter."""
        return history
