"""The port through which inbound adapters open a runner for one request, and its default."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import override

from spakky.core.pod.annotations.pod import Pod

from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.ports.model import IAgentModelResolver
from spakky.agent.runner import AgentRunner


class IAgentRunnerFactory(ABC):
    """Opens runners. A plugin that adds tools or sessions to runs binds its own implementation, around the default."""

    @abstractmethod
    def open_runner(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> AbstractAsyncContextManager[AgentRunner]:
        """Open a runner for an agent; use it with ``async with``. What it holds is let go of when the block ends.

        Args:
            agent_instance: The agent, as the container gives it.
            run_input: The run that it is opened for, as far as that is known already.

        Raises:
            AgentBootstrapError: The object is no agent, or lacks something it needs.
        """


@Pod(name="spakky.agent.runner_factory")
class AgentRunnerFactory(IAgentRunnerFactory):
    """The default: wraps ``AgentRunner.for_agent_instance`` and asks the resolver, where there is one, for the model.

    Args:
        model_resolver: Chooses the model of a run.
    """

    def __init__(self, model_resolver: IAgentModelResolver | None = None) -> None:
        self._model_resolver = model_resolver

    @override
    @asynccontextmanager
    async def open_runner(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> AsyncGenerator[AgentRunner, None]:
        runner = AgentRunner.for_agent_instance(agent_instance)
        if self._model_resolver is not None:
            model = self._model_resolver.resolve_model(agent_instance, run_input)
            runner = runner if model is None else runner.with_model(model)
        yield runner
