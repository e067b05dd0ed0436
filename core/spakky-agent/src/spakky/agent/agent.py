"""``@Agent``: makes a class an agent, and gives it the standard loop as ``execute()`` unless it has one of its own."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import override

from spakky.core.pod.annotations.pod import PodType

from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.yields import AgentYield
from spakky.agent.declare.definition import AgentDefinition
from spakky.agent.execute_contract import check_execute
from spakky.agent.loop.output_form import output_form_of
from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
)
from spakky.agent.runner_factory import find_runner_factory


@dataclass(eq=False)
class Agent(AgentDefinition):
    """Stereotype of an agent, equal in rank to a use case: scanned, injected, and resolved from the container.

    A class without ``execute()`` gets the standard loop; one that is written or inherited is left alone.
    """

    @override
    def _initialize(self, obj: PodType) -> None:
        super()._initialize(obj)
        if hasattr(self.type_, "execute"):
            check_execute(self.type_)
        else:
            self.type_.execute = execute  # type: ignore[attr-defined]  # the standard loop becomes the class's method

    def validate_bootstrap(self) -> None:
        """Read what could not be read when the class was defined.

        Raises:
            AgentDefinitionError: A tool's signature cannot be offered to a model, or the output type has no JSON form.
        """
        self.tool_catalog.validate()
        if self.has_standard_loop:
            output_form_of(self.spec.output_type)

    def required_persistence_repository_types(self) -> tuple[type[object], ...]:
        """Give the repositories that the agent cannot do without; none for a stateless one."""
        if not self.spec.is_durable:
            return ()
        return (IAgentStateRepository, IAgentSignalRepository, IAgentEvidenceRepository)

    @property
    def has_standard_loop(self) -> bool:
        """Whether the framework's loop is the agent's ``execute()``."""
        # Agents are arbitrary classes; the attribute is the one that was bound above.
        return getattr(self.type_, "execute", None) is execute


async def execute(
    self: object, run_input: RunAgentInput
) -> AsyncGenerator[AgentYield[object], None]:
    """Run the agent and stream what it does; see ``AgentRunner.run``."""
    async with (
        find_runner_factory(self).open_runner(self, run_input) as runner,
        aclosing(runner.run(run_input)) as items,
    ):
        async for item in items:
            yield item
