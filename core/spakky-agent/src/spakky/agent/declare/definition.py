"""What ``@Agent`` attaches to a class: its spec and its catalogs. It knows nothing of the loop that runs it."""

from dataclasses import dataclass, field, replace
from inspect import isclass
from typing import override

from spakky.core.pod.annotations.pod import Pod, PodType

from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.declare.catalog import AgentToolCatalog, discover_agent_tools, merge_catalogs
from spakky.agent.declare.descriptor import AgentToolDescriptor
from spakky.agent.declare.signal_hook import (
    AgentSignalHookCatalog,
    discover_agent_signal_hooks,
    require_accepted_hooks,
)
from spakky.agent.declare.spec import AgentExecutionSpec, AgentTeammate
from spakky.agent.declare.teammate_tool import describe_teammate_tool
from spakky.agent.error import AgentDefinitionError


@dataclass(eq=False)
class AgentDefinition(Pod):
    """The definition of an agent, without the binding to the loop.

    Attributes:
        spec: What the author declared.
        tool_catalog: The tools of the class, of ``spec.tools`` and of the teammates.
        signal_hook_catalog: The signal hooks of the class.
    """

    spec: AgentExecutionSpec = field(default_factory=AgentExecutionSpec, kw_only=True)
    tool_catalog: AgentToolCatalog = field(init=False, default_factory=AgentToolCatalog)
    signal_hook_catalog: AgentSignalHookCatalog = field(
        init=False, default_factory=AgentSignalHookCatalog
    )

    @override
    def _initialize(self, obj: PodType) -> None:
        if not isclass(obj):
            message = "@Agent decorates classes; put a function's work into a method of one."
            raise AgentDefinitionError(message)
        if not isinstance(self.spec, AgentExecutionSpec):
            message = f"@Agent of {obj.__qualname__} needs spec=AgentExecutionSpec(...), not {type(self.spec).__name__}."
            raise AgentDefinitionError(message)
        super()._initialize(obj)
        self.tool_catalog = merge_catalogs(
            discover_agent_tools(obj),
            self.spec.component_tools(),
            AgentToolCatalog(tuple(_describe_teammate(mate) for mate in self.spec.teammates)),
        )
        self.signal_hook_catalog = discover_agent_signal_hooks(obj)
        require_accepted_hooks(self.signal_hook_catalog, self.spec.accepted_signals)

    @property
    def agent_name(self) -> str:
        """The agent's name: the spec's, else the class's."""
        return self.spec.name or self.type_.__name__


def _describe_teammate(mate: AgentTeammate) -> AgentToolDescriptor:
    child = None if mate.pod is None else AgentDefinition.get_or_none(mate.pod)
    if child is None:
        return describe_teammate_tool(mate)
    tool = describe_teammate_tool(mate, child.spec.objective)
    if not child.spec.is_durable:
        return tool
    # Delegating again to a durable child resumes the child, which repeats nothing that must not be.
    metadata = replace(tool.metadata, idempotency=Idempotency.IDEMPOTENT, concurrent=False)
    return replace(tool, metadata=metadata)
