"""Finds the ports of a runner: by type among what was injected into the agent, else in the container it came from."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spakky.core.pod.interfaces.container import IContainer

from spakky.agent.error import AgentBootstrapError, AgentModelConfigurationError
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

_CONTAINER_ATTRIBUTE = "_spakky_agent_container"


def remember_container(instance: object, container: IContainer) -> bool:
    """Note the container that an agent came from, for the ports that its constructor does not ask for.

    Returns:
        False when the instance has slots and so no place for it: then only what was injected counts.
    """
    try:
        object.__setattr__(instance, _CONTAINER_ATTRIBUTE, container)
    except AttributeError:
        return False
    return True


def container_of(instance: object) -> IContainer | None:
    """Give the container that an agent came from; None when it was built by hand."""
    # The attribute is ours, set above; an agent built by hand has none.
    found = getattr(instance, _CONTAINER_ATTRIBUTE, None)
    return found if isinstance(found, IContainer) else None


def injected_values(instance: object) -> Iterator[object]:
    """Give the values of an instance's attributes, slots included."""
    # Instances of slotted classes have no __dict__.
    yield from tuple(getattr(instance, "__dict__", {}).values())
    for owner in type(instance).__mro__:
        for name, member in vars(owner).items():
            if inspect.ismemberdescriptor(member):
                # A slot may be unset, and its descriptor is the only way to it.
                yield getattr(instance, name, None)


def find_injected[T](instance: object, kind: type[T]) -> tuple[T, ...]:
    """Give the distinct attribute values of a type, in attribute order."""
    found: list[T] = []
    for value in injected_values(instance):
        if isinstance(value, kind) and not any(value is known for known in found):
            found.append(value)
    return tuple(found)


def find_port[T](instance: object, kind: type[T]) -> T | None:
    """Give the injected port of a type; without one, that of the container; None when neither has one."""
    injected = find_injected(instance, kind)
    if injected:
        return injected[0]
    container = container_of(instance)
    if container is None or not container.contains(kind):
        return None
    return container.get_or_none(kind)


def find_model(instance: object) -> IAgentModel | None:
    """Give the agent's model.

    Raises:
        AgentModelConfigurationError: Several models were injected, and nothing says which one the loop should use.
    """
    models = find_injected(instance, IAgentModel)
    if len(models) > 1:
        message = f"{type(instance).__qualname__} has {len(models)} models injected; inject one, or a router over them, and keep helpers of other strategies out of its attributes."
        raise AgentModelConfigurationError(message)
    return models[0] if models else find_port(instance, IAgentModel)


@dataclass(frozen=True, slots=True)
class FoundPorts:
    """Every port that a runner may use; None where there is none."""

    model: IAgentModel | None
    states: IAgentStateRepository | None
    signals: IAgentSignalRepository | None
    evidence: IAgentEvidenceRepository | None
    transcripts: IAgentTranscriptRepository | None
    unit_of_work: IAgentUnitOfWork | None
    task_store: ITaskStore | None
    delegate: IAgentDelegate | None
    context_provider: IAgentContextProvider | None
    context_handler: IAgentContextHandler | None
    streaming_patterns: IStreamingPatternProvider | None
    secrets: ISecretResolver | None


def find_ports(instance: object) -> FoundPorts:
    """Look every port up.

    Raises:
        AgentModelConfigurationError: Several models were injected.
    """
    return FoundPorts(
        model=find_model(instance),
        states=find_port(instance, IAgentStateRepository),
        signals=find_port(instance, IAgentSignalRepository),
        evidence=find_port(instance, IAgentEvidenceRepository),
        transcripts=find_port(instance, IAgentTranscriptRepository),
        unit_of_work=find_port(instance, IAgentUnitOfWork),
        task_store=find_port(instance, ITaskStore),
        delegate=find_port(instance, IAgentDelegate),
        context_provider=find_port(instance, IAgentContextProvider),
        context_handler=find_port(instance, IAgentContextHandler),
        streaming_patterns=find_port(instance, IStreamingPatternProvider),
        secrets=find_port(instance, ISecretResolver),
    )


def find_tool_objects(instance: object, kinds: Sequence[object]) -> dict[type, object]:
    """Give the injected objects behind the types of ``AgentExecutionSpec.tools``.

    Raises:
        AgentBootstrapError: An object of such a type was not injected.
    """
    return {
        kind: find_one(instance, kind, "the tools of its spec")
        for kind in kinds
        if isinstance(kind, type)
    }


def find_one[T](instance: object, kind: type[T], purpose: str) -> T:
    """Give the one injected object of a type.

    Raises:
        AgentBootstrapError: There is none, or more than one.
    """
    found = find_injected(instance, kind)
    if len(found) == 1:
        return found[0]
    many = "none" if not found else f"{len(found)} of them"
    message = f"{type(instance).__qualname__} needs one injected {kind.__qualname__} for {purpose}, and has {many}; take it as a constructor parameter and keep it in an attribute."
    raise AgentBootstrapError(message)
