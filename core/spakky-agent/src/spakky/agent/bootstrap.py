"""Checks at start-up that every agent of an application has what it declares a need for."""

from collections.abc import Iterable
from typing import override

from spakky.core.pod.annotations.pod import Pod
from spakky.core.pod.interfaces.aware.container_aware import IContainerAware
from spakky.core.pod.interfaces.container import IContainer
from spakky.core.pod.interfaces.post_processor import IPostProcessor

from spakky.agent.agent import Agent
from spakky.agent.error import (
    AgentBootstrapError,
    AgentModelConfigurationError,
    AgentPersistenceConfigurationError,
)
from spakky.agent.port_lookup import (
    find_injected,
    find_model,
    find_one,
    find_tool_objects,
    remember_container,
)
from spakky.agent.ports.model import IAgentModel
from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.rules.approval import needs_approval
from spakky.agent.runner import PERSISTENCE_HINT

PERSISTENCE_PORTS: tuple[type[object], ...] = (
    IAgentStateRepository,
    IAgentSignalRepository,
    IAgentEvidenceRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
"""What a persistence provider registers."""


@Pod(name="spakky.agent.bootstrap")
class AgentBootstrapValidator(IPostProcessor, IContainerAware):
    """Looks at each agent when the container has built it, and fails the start with what is missing."""

    def __init__(self) -> None:
        self._container: IContainer | None = None

    @override
    def set_container(self, container: IContainer) -> None:
        # Post-processors are made before any other Pod, so this comes before an agent can fail for want of a port.
        self._container = container
        for pod in container.pods.values():
            if isinstance(pod, Agent):
                validate_dependencies(pod, container)

    @override
    def post_process(self, pod: object) -> object:
        agent = Agent.get_or_none(type(pod))
        if agent is not None and self._container is not None:
            reachable = remember_container(pod, self._container)
            validate_agent(agent, pod, self._container if reachable else None)
        return pod


def validate_dependencies(agent: Agent, container: IContainer) -> None:
    """Check that the ports which an agent's constructor asks for are registered; the container's own error names no cure.

    Raises:
        AgentPersistenceConfigurationError: Repositories are missing.
        AgentModelConfigurationError: A model is missing.
    """
    missing = [
        dependency.type_
        for dependency in agent.dependencies.values()
        if not (dependency.has_default or dependency.is_optional)
        and isinstance(dependency.type_, type)
        and not container.contains(dependency.type_)
    ]
    if IAgentModel in missing:
        raise AgentModelConfigurationError(_no_model(agent))
    repositories = [kind for kind in PERSISTENCE_PORTS if kind in missing]
    if repositories:
        raise AgentPersistenceConfigurationError(_no_repositories(agent, repositories))


def _no_model(agent: Agent) -> str:
    return f"Agent {agent.agent_name} has no IAgentModel; register one, or install a model adapter and configure it, such as spakky-vllm with SPAKKY_VLLM__MODEL."


def _no_repositories(agent: Agent, missing: Iterable[type[object]]) -> str:
    return f"Agent {agent.agent_name} is durable, but nothing is registered for {_names(missing)}. {PERSISTENCE_HINT}"


def validate_agent(agent: Agent, instance: object, container: IContainer | None) -> None:
    """Check one agent.

    Args:
        agent: What its class declares.
        instance: The agent.
        container: Where ports are looked up that were not injected; None when the instance cannot reach it.

    Raises:
        AgentDefinitionError: A tool's signature cannot be offered to a model, or the output type has no JSON form.
        AgentPersistenceConfigurationError: The agent is durable, and repositories are missing.
        AgentModelConfigurationError: The standard loop has no model to ask.
        AgentBootstrapError: A tool needs approval that a stateless agent cannot ask for, or an injected object is missing.
    """
    agent.validate_bootstrap()
    _check_persistence(agent, instance, container)
    if not agent.has_standard_loop:
        return
    if find_model(instance) is None:
        raise AgentModelConfigurationError(_no_model(agent) + _hint(container))
    _check_approval(agent)
    find_tool_objects(instance, agent.spec.tools)
    for mate in agent.spec.teammates:
        if mate.pod is not None:
            find_one(instance, mate.pod, f"the teammate {mate.name}")


def _hint(container: IContainer | None) -> str:
    if container is not None:
        return ""
    return " Its class has slots, so that only what its constructor takes counts."


def _check_persistence(agent: Agent, instance: object, container: IContainer | None) -> None:
    needed = agent.required_persistence_repository_types()
    if needed and agent.has_standard_loop:
        needed = (*needed, IAgentTranscriptRepository, IAgentUnitOfWork)
    missing = [kind for kind in needed if not _is_there(kind, instance, container)]
    if not missing:
        return
    raise AgentPersistenceConfigurationError(_no_repositories(agent, missing) + _hint(container))


def _is_there(kind: type[object], instance: object, container: IContainer | None) -> bool:
    injected = bool(find_injected(instance, kind))
    return injected or (container is not None and container.contains(kind))


def _names(kinds: Iterable[type[object]]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


def _check_approval(agent: Agent) -> None:
    if agent.spec.is_durable:
        return
    gated = [tool.name for tool in agent.tool_catalog.descriptors if needs_approval(tool.metadata)]
    if gated:
        message = f"Agent {agent.agent_name} is stateless, but its tools {', '.join(gated)} need a person's approval, which only a durable agent can wait for; set recovery=RecoveryStrategy.ACTION_BOUNDARY, or mark them ToolApprovalRequirement.NOT_REQUIRED."
        raise AgentBootstrapError(message)
