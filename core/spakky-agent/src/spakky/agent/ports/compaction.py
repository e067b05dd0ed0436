"""The port of a compaction strategy, and the policy that says when a chain of them runs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.model_request import ModelCapability
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.error import AgentDefinitionError


class ICompactionStrategy(ABC):
    """Turns a history into a shorter one. A pure transform: the given history is not changed, and nothing is stored."""

    @abstractmethod
    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        """Give the history to send instead.

        Args:
            history: All messages of the request but the system one, oldest first.
            usage: The token usage of the run's last model call, as far as the provider told.
            capability: What the chosen model can take.
        """


@dataclass(frozen=True, slots=True)
class AgentCompactionPolicy:
    """When the history of a run is compacted, and how.

    Attributes:
        strategies: Applied in this order, each to the result of the one before; at least one.
        trigger_token_threshold: The chain runs when the history's estimated tokens are more than this; above zero.

    Raises:
        AgentDefinitionError: No strategy, an object that is none, or a threshold below one.
    """

    strategies: tuple[ICompactionStrategy, ...]
    trigger_token_threshold: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "strategies", tuple(self.strategies))
        if not self.strategies:
            message = "AgentCompactionPolicy.strategies must hold at least one strategy."
            raise AgentDefinitionError(message)
        for strategy in self.strategies:
            if not isinstance(strategy, ICompactionStrategy):
                message = f"AgentCompactionPolicy.strategies must hold ICompactionStrategy objects, not {type(strategy).__name__}."
                raise AgentDefinitionError(message)
        threshold = self.trigger_token_threshold
        if isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 1:
            message = f"AgentCompactionPolicy.trigger_token_threshold must be a whole number above zero, not {threshold!r}."
            raise AgentDefinitionError(message)
