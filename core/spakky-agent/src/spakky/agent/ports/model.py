"""The outbound port of a model backend, and how one is chosen for a run."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from spakky.agent.contracts.model_request import ModelCapability, ModelRequest, ModelSelection
from spakky.agent.contracts.model_stream import ModelResponse, ModelStreamEvent
from spakky.agent.contracts.run_input import RunAgentInput


class IAgentModel(ABC):
    """A model backend or a router over several."""

    @property
    @abstractmethod
    def capability(self) -> ModelCapability:
        """What the default backend can do; known without a network call."""

    def capability_for(self, selection: ModelSelection | None = None) -> ModelCapability:
        """Give what the backend chosen by a selection can do; without an answer of its own, ``capability``."""
        del selection
        return self.capability

    @abstractmethod
    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer a request in one piece.

        Raises:
            AgentModelError: The backend failed; ``error_code`` and ``retryable`` say how.
        """

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncIterator[ModelStreamEvent]:
        """Answer a request piece by piece.

        An implementation is usually an ``async def`` with ``yield``. Text comes as TOKEN_DELTA or MESSAGE_DELTA. A tool
        call comes as TOOL_CALL_START, TOOL_CALL_ARGS_DELTA and TOOL_CALL_END, and is complete with one
        TOOL_CALL_CANDIDATE that holds the decoded arguments. The stream ends with DONE (usage, finish reason), with
        ERROR, or by returning, which counts as DONE. A connection that broke must end with ERROR. Closing the iterator
        stops the request.
        """


class IAgentModelResolver(ABC):
    """Chooses the model of a run where an application has several."""

    @abstractmethod
    def resolve_model(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> IAgentModel | None:
        """Give the model for a run of that agent; None leaves the choice to the agent's own injected model."""
