"""Ports that supply a run's context packs and choose what to do when the context goes bad."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from spakky.agent.contracts.context import (
    ContextHealthSignal,
    ContextManifest,
    ContextOptimizationAction,
    ContextPack,
)
from spakky.agent.contracts.run_input import RunAgentInput


class IAgentContextProvider(ABC):
    """Gives the context packs of a run, beside those that its input brings."""

    @abstractmethod
    async def provide_context(self, run_input: RunAgentInput) -> Sequence[ContextPack]:
        """Give the packs for the next model request of that run, most important first."""


class IAgentContextHandler(ABC):
    """Chooses optimisation actions from health signals, before a model request is sent."""

    @abstractmethod
    async def select_optimization_actions(
        self, signals: Sequence[ContextHealthSignal], manifest: ContextManifest
    ) -> Sequence[ContextOptimizationAction]:
        """Give the actions to take, in order; an empty sequence leaves the context as it is."""
