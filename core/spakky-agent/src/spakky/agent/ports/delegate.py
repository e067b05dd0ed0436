"""The outbound port that hands a task to an agent elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator

from spakky.agent.contracts.delegation import (
    DelegationPacket,
    DelegationResult,
    DelegationToolResult,
)
from spakky.agent.contracts.yields import AgentYield


class IAgentDelegate(ABC):
    """Runs a delegated task; where and how is the implementation's choice."""

    @abstractmethod
    def delegate(
        self, packet: DelegationPacket
    ) -> AsyncGenerator[AgentYield[DelegationResult], None]:
        """Run the task and stream its results; the last one is final. Closing the generator cancels the task."""

    @abstractmethod
    async def delegate_tool_result(self, packet: DelegationPacket) -> DelegationToolResult:
        """Run the task to its end and give what a delegate tool hands back to the parent's model."""
