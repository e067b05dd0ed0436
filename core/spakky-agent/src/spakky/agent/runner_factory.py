"""The port through which inbound adapters open a runner for one request, and its default."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import override

from spakky.core.pod.annotations.pod import Pod

from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.port_lookup import container_of
from spakky.agent.ports.model import IAgentModelResolver
from spakky.agent.runner import AgentRunner
from spakky.agent.tool_contributor import IAgentToolContributor


class IAgentRunnerFactory(ABC):
    """Opens runners. What adds tools to runs registers an ``IAgentToolContributor``; what needs more binds its own factory."""

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
            AgentDefinitionError: A contributed tool has the name of another one.
        """


@Pod(name="spakky.agent.runner_factory")
class AgentRunnerFactory(IAgentRunnerFactory):
    """The default: wraps ``AgentRunner.for_agent_instance``, asks the resolver for the model and the contributors for tools.

    Args:
        model_resolver: Chooses the model of a run.
        contributors: Add tools to runs, in this order.
    """

    def __init__(
        self,
        model_resolver: IAgentModelResolver | None = None,
        contributors: tuple[IAgentToolContributor, ...] = (),
    ) -> None:
        self._model_resolver = model_resolver
        self._contributors = contributors

    @override
    @asynccontextmanager
    async def open_runner(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> AsyncGenerator[AgentRunner, None]:
        runner = AgentRunner.for_agent_instance(agent_instance)
        if self._model_resolver is not None:
            model = self._model_resolver.resolve_model(agent_instance, run_input)
            runner = runner if model is None else runner.with_model(model)
        async with AsyncExitStack() as stack:
            for contributor in self._contributors:
                opened = contributor.open_tools(agent_instance, run_input)
                runner = runner.with_tools(await stack.enter_async_context(opened))
            yield runner


def find_runner_factory(agent_instance: object) -> IAgentRunnerFactory:
    """Give the factory of the container that an agent came from; the default for an agent built by hand."""
    container = container_of(agent_instance)
    if container is not None and container.contains(IAgentRunnerFactory):
        return container.get(IAgentRunnerFactory)
    return AgentRunnerFactory()
