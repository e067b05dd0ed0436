"""The port of a plugin that adds tools to runs, for example from an external tool server."""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager

from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.declare.catalog import AgentToolCatalog


class IAgentToolContributor(ABC):
    """Gives tools to an agent's runs. Every registered contributor is asked, in the order of the Pods' names."""

    @abstractmethod
    def open_tools(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> AbstractAsyncContextManager[AgentToolCatalog]:
        """Open the tools for one runner; what they hold is let go of when the block ends.

        Args:
            agent_instance: The agent.
            run_input: The run, as far as it is known.
        """
