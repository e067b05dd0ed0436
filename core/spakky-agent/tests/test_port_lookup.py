"""Ports are found by type, among what was injected and then in the container."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from spakky.core.application.application_context import ApplicationContext
from spakky.core.pod.annotations.pod import Pod

from spakky.agent.error import AgentBootstrapError, AgentModelConfigurationError
from spakky.agent.port_lookup import (
    container_of,
    find_injected,
    find_model,
    find_one,
    find_port,
    find_ports,
    find_tool_objects,
    injected_values,
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
from spakky.agent.ports.task_store import ITaskStore
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel


class Holder:
    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


@pytest.mark.requirement("LOOP-2", "LOOP-3")
def test_ports_are_found_whatever_their_attributes_are_called() -> None:
    ports, model = MemoryPorts(), ScriptedModel()
    holder = Holder(
        brain=model,
        x1=ports.states,
        _hidden=ports.signals,
        log=ports.evidence,
        words=ports.transcripts,
        tx=ports.unit_of_work,
        talk=ports.task_store,
        noise=7,
    )
    found = find_ports(holder)
    assert found.model is model
    assert (found.states, found.signals, found.evidence) == (
        ports.states,
        ports.signals,
        ports.evidence,
    )
    assert (found.transcripts, found.unit_of_work) == (ports.transcripts, ports.unit_of_work)
    assert found.task_store is ports.task_store
    assert (found.delegate, found.context_provider, found.context_handler) == (None, None, None)
    assert found.streaming_patterns is None


@pytest.mark.requirement("LOOP-2")
def test_an_agent_without_ports_has_none() -> None:
    found = find_ports(Holder())
    assert (found.model, found.states, found.task_store) == (None, None, None)


class Slotted:
    __slots__ = ("__secret", "_plain", "unset")

    def __init__(self, plain: object, secret: object) -> None:
        self._plain = plain
        self.__secret = secret


class SlottedChild(Slotted):
    __slots__ = ("own",)

    def __init__(self, plain: object, secret: object, own: object) -> None:
        super().__init__(plain, secret)
        self.own = own


@dataclass(frozen=True, slots=True)
class Frozen:
    model: IAgentModel
    other: int = field(default=1)


@pytest.mark.requirement("LOOP-2")
def test_slots_count_as_attributes_private_and_inherited_ones_too() -> None:
    a, b, c = ScriptedModel(), ScriptedModel(), ScriptedModel()
    assert set(find_injected(SlottedChild(a, b, c), ScriptedModel)) == {a, b, c}
    assert find_model(Frozen(a)) is a
    assert None in tuple(injected_values(Slotted(a, b)))


def test_one_object_in_two_attributes_is_one() -> None:
    model = ScriptedModel()
    holder = Holder(a=model, b=model)
    assert find_injected(holder, IAgentModel) == (model,)
    assert find_model(holder) is model


def test_two_models_are_not_guessed_between() -> None:
    with pytest.raises(AgentModelConfigurationError, match="2 models"):
        find_model(Holder(a=ScriptedModel(), b=ScriptedModel()))


@pytest.mark.parametrize(("count", "named"), [(0, "none"), (2, "2 of them")])
def test_an_object_that_must_be_there_once_is_named_when_it_is_not(count: int, named: str) -> None:
    holder = Holder(**{f"a{number}": MemoryPorts() for number in range(count)})
    with pytest.raises(AgentBootstrapError, match=named) as caught:
        find_one(holder, MemoryPorts, "the teammate helper")
    assert "MemoryPorts" in str(caught.value)
    assert "the teammate helper" in str(caught.value)


def test_tool_objects_are_found_by_type_and_functions_need_none() -> None:
    ports = MemoryPorts()
    kinds = (MemoryPorts, len)
    assert find_tool_objects(Holder(x=ports), kinds) == {MemoryPorts: ports}


# ---------------------------------------------------------------- the container


@Pod(name="container_model")
class ContainerModel(ScriptedModel):
    def __init__(self) -> None:
        super().__init__()


def started(*pods: Any) -> ApplicationContext:
    context = ApplicationContext()
    for pod in pods:
        context.add(pod)
    context.start()
    return context


@pytest.mark.requirement("OP-3")
def test_a_port_that_was_not_injected_comes_from_the_container() -> None:
    context = started(ContainerModel)
    holder = Holder()
    assert remember_container(holder, context)
    assert container_of(holder) is context
    assert find_model(holder) is context.get(ContainerModel)
    assert find_port(holder, IAgentStateRepository) is None
    assert find_ports(holder).model is context.get(ContainerModel)
    context.stop()


@pytest.mark.requirement("OP-3")
def test_what_was_injected_goes_before_the_container() -> None:
    context = started(ContainerModel)
    own = ScriptedModel()
    holder = Holder(model=own)
    remember_container(holder, context)
    assert find_model(holder) is own
    context.stop()


def test_an_agent_built_by_hand_has_no_container() -> None:
    assert container_of(Holder()) is None
    assert find_port(Holder(), IAgentModel) is None
    assert container_of(Holder(_spakky_agent_container="forged")) is None


def test_an_instance_with_slots_has_no_place_for_its_container() -> None:
    context = started()
    assert not remember_container(Slotted(1, 2), context)
    assert not remember_container(Frozen(ScriptedModel()), context)
    assert container_of(Slotted(1, 2)) is None


@dataclass(frozen=True)
class FrozenHolder:
    number: int = 1


def test_a_frozen_instance_without_slots_remembers_its_container() -> None:
    context, holder = started(), FrozenHolder()
    assert remember_container(holder, context)
    assert container_of(holder) is context


DURABLE = (
    IAgentStateRepository,
    IAgentSignalRepository,
    IAgentEvidenceRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
    ITaskStore,
)


@pytest.mark.parametrize("kind", DURABLE)
def test_every_memory_port_is_found_by_its_abstract_class(kind: type[object]) -> None:
    ports = MemoryPorts()
    values = (
        ports.states,
        ports.signals,
        ports.evidence,
        ports.transcripts,
        ports.unit_of_work,
        ports.task_store,
    )
    holder = Holder(**{f"a{number}": value for number, value in enumerate(values)})
    assert find_port(holder, kind) is values[DURABLE.index(kind)]
