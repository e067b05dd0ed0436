"""The standard loop of one agent: ports in, both streams out. It takes no decisions; ``loop/`` does."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

from spakky.agent.contracts.events import AgentEvent, AgentEventAttribution
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.yields import AgentYield
from spakky.agent.declare.catalog import AgentToolCatalog, merge_catalogs
from spakky.agent.declare.definition import AgentDefinition
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.declare.teammate_tool import teammate_tool_name
from spakky.agent.error import (
    AgentBootstrapError,
    AgentModelConfigurationError,
    AgentPersistenceConfigurationError,
    AgentRunRefusedError,
)
from spakky.agent.loop.children import ChildOrder
from spakky.agent.loop.dialogue import Dialogue, NoDialogue, StoredDialogue
from spakky.agent.loop.do_delegate import ANCESTORS_KEY
from spakky.agent.loop.exposure import Exposure
from spakky.agent.loop.gate import Gate
from spakky.agent.loop.journal import DurableJournal, DurablePorts, Journal, NullJournal
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.output_form import output_form_of
from spakky.agent.loop.plan_calls import CallPlanner
from spakky.agent.loop.run import run_frames
from spakky.agent.loop.watcher import WatchTimes
from spakky.agent.port_lookup import find_one, find_ports, find_tool_objects
from spakky.agent.ports.context_handler import IAgentContextHandler, IAgentContextProvider
from spakky.agent.ports.delegate import IAgentDelegate
from spakky.agent.ports.model import IAgentModel
from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.ports.secret_resolver import ISecretResolver
from spakky.agent.ports.streaming_patterns import IStreamingPatternProvider
from spakky.agent.ports.task_store import ITaskStore
from spakky.agent.rules.limits import narrow_spec
from spakky.agent.streams.to_events import to_events
from spakky.agent.streams.to_yields import to_yields

PERSISTENCE_HINT = "Install spakky-sqlalchemy[agent], whose contribution to spakky.contributions.spakky.agent registers them, or register your own."


@dataclass(frozen=True, slots=True)
class AgentRunner:
    """Runs one agent instance. It keeps nothing of a run, so one runner may serve many at once.

    Attributes:
        agent: The agent's definition.
        target: The agent instance.
        model: The model of the runs.
        states, signals, evidence, transcripts, unit_of_work: The ports of a durable agent.
        task_store: Where conversations are kept; without one every run stands alone.
        delegate: Runs remote teammates.
        context_provider: Gives context packs.
        context_handler: Chooses context optimisations.
        streaming_patterns: What must not be shown in streams.
        tool_objects: Injected objects behind the types of ``spec.tools``.
        teammates: Injected local teammates, by name.
        external_tools: Tools that an application or plugin adds for these runs.
        times: How often a durable run is looked after.
        secrets: Resolves references to secrets when a tool is called.
        narrowed_spec: The spec to run under instead, with the bounds that a parent sets.
        allowed_tools: Names of the tools that may be offered; empty for all.
    """

    agent: AgentDefinition
    target: object
    model: IAgentModel
    states: IAgentStateRepository | None = None
    signals: IAgentSignalRepository | None = None
    evidence: IAgentEvidenceRepository | None = None
    task_store: ITaskStore | None = None
    transcripts: IAgentTranscriptRepository | None = None
    unit_of_work: IAgentUnitOfWork | None = None
    delegate: IAgentDelegate | None = None
    context_provider: IAgentContextProvider | None = None
    context_handler: IAgentContextHandler | None = None
    streaming_patterns: IStreamingPatternProvider | None = None
    tool_objects: Mapping[type, object] = field(default_factory=lambda: MappingProxyType({}))
    teammates: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    external_tools: AgentToolCatalog = AgentToolCatalog()  # noqa: RUF009 - frozen
    times: WatchTimes = WatchTimes()  # noqa: RUF009 - frozen
    secrets: ISecretResolver | None = None
    narrowed_spec: AgentExecutionSpec | None = None
    allowed_tools: tuple[str, ...] = ()

    @classmethod
    def for_agent_instance(cls, instance: object) -> Self:
        """Build the runner of an agent instance; its ports are found by type among its attributes.

        A port that the constructor does not ask for is taken from the container that the instance came from.

        Raises:
            AgentBootstrapError: The object is no agent, or a tool object or local teammate was not injected.
            AgentModelConfigurationError: There is no model, or no telling which.
        """
        agent = AgentDefinition.get_or_none(type(instance))
        if agent is None:
            message = f"{type(instance).__qualname__} is no agent; decorate the class with @Agent."
            raise AgentBootstrapError(message)
        ports = find_ports(instance)
        if ports.model is None:
            message = f"{type(instance).__qualname__} has no IAgentModel; inject one, or install a model adapter such as spakky-vllm."
            raise AgentModelConfigurationError(message)
        return cls(
            agent=agent,
            target=instance,
            model=ports.model,
            states=ports.states,
            signals=ports.signals,
            evidence=ports.evidence,
            task_store=ports.task_store,
            transcripts=ports.transcripts,
            unit_of_work=ports.unit_of_work,
            delegate=ports.delegate,
            context_provider=ports.context_provider,
            context_handler=ports.context_handler,
            streaming_patterns=ports.streaming_patterns,
            secrets=ports.secrets,
            tool_objects=find_tool_objects(instance, agent.spec.tools),
            teammates={
                mate.name: find_one(instance, mate.pod, f"the teammate {mate.name}")
                for mate in agent.spec.teammates
                if mate.pod is not None
            },
        )

    def with_model(self, model: IAgentModel) -> Self:
        """Give the same runner with another model."""
        return replace(self, model=model)

    def with_tools(self, tools: AgentToolCatalog) -> Self:
        """Give the same runner with more tools; a name that is taken is refused when a run starts."""
        return replace(self, external_tools=merge_catalogs(self.external_tools, tools))

    async def run(self, run_input: RunAgentInput) -> AsyncGenerator[AgentYield[object], None]:
        """Run the agent and stream what a caller consumes.

        The last item is FINAL, ERROR, CANCEL, or APPROVAL when the run is paused. Closing the generator interrupts the run.

        Raises:
            AgentRunRefusedError: The run was not opened; nothing was changed.
            AgentPersistenceConfigurationError: The agent is durable and lacks a port.
        """
        async with aclosing(run_frames(self._kit(run_input), self.times)) as frames:
            async for frame in frames:
                for item in to_yields(frame, run_input.state_id):
                    yield item

    async def run_events(self, run_input: RunAgentInput) -> AsyncGenerator[AgentEvent, None]:
        """Run the agent and stream protocol-neutral events. The last one tells that the run paused or finished.

        Raises:
            AgentRunRefusedError: The run was not opened; nothing was changed.
            AgentPersistenceConfigurationError: The agent is durable and lacks a port.
        """
        kit = self._kit(run_input)
        attribution: AgentEventAttribution | None = None
        async with aclosing(run_frames(kit, self.times)) as frames:
            async for frame in frames:
                # A resumed run learns its conversation and parent from the store, before its first frame.
                attribution = attribution or self._attribution(kit.run_input)
                for event in to_events(frame, attribution):
                    yield event

    def _attribution(self, run_input: RunAgentInput) -> AgentEventAttribution:
        return AgentEventAttribution(
            agent_id=self.agent.agent_name,
            run_id=run_input.state_id,
            conversation_id=run_input.effective_conversation_id,
            parent_run_id=run_input.parent_run_id,
        )

    def _kit(self, run_input: RunAgentInput) -> RunKit:
        spec = self.narrowed_spec or self.agent.spec
        catalog = self._catalog()
        patterns = self.streaming_patterns
        return RunKit(
            run_input=run_input,
            spec=spec,
            agent_name=self.agent.agent_name,
            target=self.target,
            tool_objects=self.tool_objects,
            catalog=catalog,
            planner=CallPlanner(
                catalog,
                {teammate_tool_name(mate): mate.name for mate in spec.teammates},
                run_input.state_id,
                spec.is_durable,
                self.secrets is not None,
            ),
            hooks=self.agent.signal_hook_catalog,
            model=self.model,
            journal=self._journal(run_input),
            dialogue=self._dialogue(run_input),
            gate=Gate(),
            exposure=Exposure(
                spec.streaming_exposure_mode,
                None if patterns is None or not patterns.patterns() else patterns.policy(),
            ),
            output=output_form_of(spec.output_type),
            open_child=self._open_child,
            delegate=self.delegate,
            context_provider=self.context_provider,
            context_handler=self.context_handler,
            secrets=self.secrets,
        )

    def _catalog(self) -> AgentToolCatalog:
        catalog = merge_catalogs(self.agent.tool_catalog, self.external_tools)
        if not self.allowed_tools:
            return catalog
        allowed = (tool for tool in catalog.descriptors if tool.name in self.allowed_tools)
        return AgentToolCatalog(tuple(allowed))

    def _journal(self, run_input: RunAgentInput) -> Journal:
        if not self.agent.spec.is_durable:
            return NullJournal()
        return DurableJournal(
            self._durable_ports(),
            run_input.state_id,
            self.agent.agent_name,
            f"runner-{os.urandom(8).hex()}",
            self.times.lease_seconds,
        )

    def _durable_ports(self) -> DurablePorts:
        if (
            self.states is None
            or self.signals is None
            or self.evidence is None
            or self.transcripts is None
            or self.unit_of_work is None
        ):
            message = f"Agent {self.agent.agent_name} is durable, but not all of IAgentStateRepository, IAgentSignalRepository, IAgentEvidenceRepository, IAgentTranscriptRepository and IAgentUnitOfWork are there. {PERSISTENCE_HINT}"
            raise AgentPersistenceConfigurationError(message)
        return DurablePorts(
            self.states, self.signals, self.evidence, self.transcripts, self.unit_of_work
        )

    def _dialogue(self, run_input: RunAgentInput) -> Dialogue:
        if self.task_store is None or run_input.message_history:
            return NoDialogue()
        return StoredDialogue(
            self.task_store, run_input.effective_conversation_id, run_input.state_id
        )

    def _open_child(self, order: ChildOrder) -> AsyncGenerator[AgentEvent, None]:
        child = AgentRunner.for_agent_instance(self.teammates[order.teammate])
        above = order.run_input.metadata.get(ANCESTORS_KEY)
        if isinstance(above, list | tuple) and child.agent.agent_name in above:
            message = f"{child.agent.agent_name} is already at work above this run; agents cannot delegate in a circle."
            raise AgentRunRefusedError(message)
        spec = narrow_spec(child.agent.spec, order.limits, order.spent, order.budget)
        if spec is None:
            message = f"Nothing is left of the run's budget to delegate to {order.teammate} with."
            raise AgentRunRefusedError(message)
        narrowed = replace(child, narrowed_spec=spec, allowed_tools=tuple(order.allowed_tools))
        return narrowed.run_events(order.run_input)
