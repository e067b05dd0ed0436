"""What the executors of one run work with: what was declared, what was injected, and what the run was asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spakky.agent.contracts.cancellation import AgentCancellationCleanupResult
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.declare.catalog import AgentToolCatalog, AgentToolDescriptor
from spakky.agent.declare.signal_hook import AgentSignalHookCatalog
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.error import AgentToolDispatchError
from spakky.agent.loop.children import ChildOpener
from spakky.agent.loop.dialogue import Dialogue
from spakky.agent.loop.exposure import Exposure
from spakky.agent.loop.gate import Gate
from spakky.agent.loop.journal import Journal
from spakky.agent.loop.output_form import OutputForm
from spakky.agent.loop.plan_calls import CallPlanner
from spakky.agent.ports.context_handler import IAgentContextHandler, IAgentContextProvider
from spakky.agent.ports.delegate import IAgentDelegate
from spakky.agent.ports.model import IAgentModel
from spakky.agent.ports.secret_resolver import ISecretResolver


@dataclass(slots=True)
class RunKit:
    """Everything that belongs to one run and is not its progress.

    Attributes:
        run_input: What the run was asked, completed from the store when it is resumed.
        spec: What the agent's author declared.
        agent_name: The agent's name.
        target: The agent instance.
        tool_objects: Injected objects whose tools the spec adds, by their type.
        catalog: Every tool that the model may call.
        planner: Plans calls against the catalog.
        hooks: The agent's signal hooks.
        model: The model of this run.
        journal: Where the run is stored.
        dialogue: The conversation it belongs to.
        gate: Where it can be stopped.
        exposure: How text is guarded on its way out.
        output: The form of the final answer.
        open_child: Opens a run of a local teammate.
        delegate: Runs remote teammates; None when none was injected.
        context_provider: Gives context packs; None when none was injected.
        context_handler: Chooses context optimisations; None when none was injected.
        secrets: Resolves references to secrets; None when none was injected.
        cleanups: What came of stopping what ran, when the run is cancelled.
    """

    run_input: RunAgentInput
    spec: AgentExecutionSpec
    agent_name: str
    target: object
    tool_objects: Mapping[type, object]
    catalog: AgentToolCatalog
    planner: CallPlanner
    hooks: AgentSignalHookCatalog
    model: IAgentModel
    journal: Journal
    dialogue: Dialogue
    gate: Gate
    exposure: Exposure
    output: OutputForm
    open_child: ChildOpener
    delegate: IAgentDelegate | None = None
    context_provider: IAgentContextProvider | None = None
    context_handler: IAgentContextHandler | None = None
    secrets: ISecretResolver | None = None
    cleanups: list[AgentCancellationCleanupResult] = field(default_factory=list)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.run_input.state_id

    @property
    def local_teammates(self) -> frozenset[str]:
        """The names of the teammates that run in this process."""
        return frozenset(mate.name for mate in self.spec.teammates if mate.pod is not None)

    def target_for(self, descriptor: AgentToolDescriptor) -> object:
        """Give the object that a tool is called on."""
        for owner, tool_object in self.tool_objects.items():
            if descriptor.owner is not None and issubclass(owner, descriptor.owner):
                return tool_object
        return self.target

    def find_tool(self, name: str) -> AgentToolDescriptor | None:
        """Look a tool up by its model-facing name; None when there is none any more."""
        try:
            return self.catalog.by_schema_name(name)
        except AgentToolDispatchError:
            return None
