"""Start-up: what an agent declares a need for is there, or the application does not start."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.common.error import AbstractSpakkyFrameworkError
from spakky.core.pod.annotations.pod import Pod
from spakky.core.pod.interfaces.container import IContainer

from spakky.agent import (
    Agent,
    AgentBootstrapError,
    AgentDefinitionError,
    AgentExecutionSpec,
    AgentModelConfigurationError,
    AgentPersistenceConfigurationError,
    AgentSignalKind,
    AgentTeammate,
    AgentYield,
    IAgentEvidenceRepository,
    IAgentModel,
    IAgentSignalRepository,
    IAgentStateRepository,
    RecoveryStrategy,
    RunAgentInput,
    ToolApprovalRequirement,
    ToolEffects,
    agent_tool,
)
from spakky.agent.bootstrap import AgentBootstrapValidator
from spakky.agent.main import PLUGIN_NAME
from spakky.agent.ports.repositories import IAgentTranscriptRepository, IAgentUnitOfWork
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, say

DURABLE = AgentExecutionSpec(recovery=RecoveryStrategy.ACTION_BOUNDARY)
REPOSITORIES = ["IAgentStateRepository", "IAgentSignalRepository", "IAgentEvidenceRepository"]
ALL_FIVE = [*REPOSITORIES, "IAgentTranscriptRepository", "IAgentUnitOfWork"]


@Pod(name="model")
class Model(ScriptedModel):
    def __init__(self) -> None:
        super().__init__([[say("hi")]])


def port_pods(ports: MemoryPorts, *without: str) -> list[Callable[..., object]]:
    """Give the pods of the durable ports, each under the name of its type, without some."""

    def states() -> IAgentStateRepository:
        return ports.states

    def signals() -> IAgentSignalRepository:
        return ports.signals

    def evidence() -> IAgentEvidenceRepository:
        return ports.evidence

    def transcripts() -> IAgentTranscriptRepository:
        return ports.transcripts

    def unit_of_work() -> IAgentUnitOfWork:
        return ports.unit_of_work

    makers = (states, signals, evidence, transcripts, unit_of_work)
    named = zip(ALL_FIVE, makers, strict=True)
    return [Pod(name=name)(maker) for name, maker in named if name not in without]


def start(*pods: Any) -> SpakkyApplication:
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    for pod in pods:
        app.add(pod)
    app.start()
    return app


def agent(spec: AgentExecutionSpec | None = None, base: type = object) -> type[Any]:
    class Worker(base):  # type: ignore[misc]  # the base is chosen by the test
        def __init__(self) -> None:
            pass

    return Agent(spec=spec or AgentExecutionSpec())(Worker)


# ---------------------------------------------------------------- repositories


@pytest.mark.parametrize("missing", [*ALL_FIVE, "all"])
@pytest.mark.requirement("BOOT-1", "BOOT-2", "BOOT-3", "BOOT-4")
def test_a_durable_agent_does_not_start_without_each_of_its_repositories(missing: str) -> None:
    gone = ALL_FIVE if missing == "all" else [missing]
    with pytest.raises(AgentPersistenceConfigurationError) as caught:
        start(Model, *port_pods(MemoryPorts(), *gone), agent(DURABLE))
    message = str(caught.value)
    assert isinstance(caught.value, AgentBootstrapError)
    assert [name for name in ALL_FIVE if name in message] == gone
    assert "spakky-sqlalchemy[agent]" in message
    assert "spakky.contributions.spakky.agent" in message
    assert "Worker" in message


@pytest.mark.parametrize(
    "spec", [DURABLE, AgentExecutionSpec(accepted_signals=(AgentSignalKind.USER_MESSAGE,))]
)
@pytest.mark.requirement("BOOT-1", "SPEC-19", "OP-3")
async def test_a_durable_agent_runs_on_the_repositories_of_its_container(
    spec: AgentExecutionSpec,
) -> None:
    ports = MemoryPorts()
    worker = agent(spec)
    app = start(Model, *port_pods(ports), worker)
    items = [item async for item in app.container.get(worker).execute(RunAgentInput("r", "go"))]
    assert items[-1].kind.value == "final"
    assert (await ports.states.get("r")).status.value == "completed"
    app.stop()


@pytest.mark.requirement("BOOT-1")
def test_an_agent_that_writes_its_own_loop_needs_the_three_and_no_model() -> None:
    class Written:
        def execute(self) -> int:
            return 1

    app = start(*port_pods(MemoryPorts(), *ALL_FIVE[3:]), agent(DURABLE, Written))
    app.stop()
    with pytest.raises(AgentPersistenceConfigurationError, match="IAgentSignalRepository"):
        start(*port_pods(MemoryPorts(), "IAgentSignalRepository"), agent(DURABLE, Written))


@pytest.mark.requirement("BOOT-5", "SPEC-20", "PKG-3")
async def test_a_stateless_agent_starts_with_a_model_alone() -> None:
    worker = agent()
    app = start(Model, worker)
    items = [item async for item in app.container.get(worker).execute(RunAgentInput("r", "go"))]
    assert items[-1].kind.value == "final"
    app.stop()


# ---------------------------------------------------------------- the model


@pytest.mark.requirement("BOOT-6")
def test_an_agent_with_the_standard_loop_does_not_start_without_a_model() -> None:
    with pytest.raises(AgentModelConfigurationError, match="Worker has no IAgentModel"):
        start(agent())


@pytest.mark.requirement("BOOT-6")
def test_two_injected_models_are_not_guessed_between() -> None:
    @Agent()
    class Torn:
        def __init__(self, model: Model) -> None:
            self.a, self.b = model, ScriptedModel()

    with pytest.raises(AgentModelConfigurationError, match="2 models"):
        start(Model, Torn)


@pytest.mark.requirement("BOOT-6")
def test_two_registered_models_of_which_none_was_injected_do_not_start_either() -> None:
    @Pod(name="second")
    class Second(ScriptedModel):
        def __init__(self) -> None:
            super().__init__()

    with pytest.raises(Exception, match="IAgentModel") as caught:
        start(Model, Second, agent())
    assert "second" in str(caught.value)


@pytest.mark.requirement("BOOT-3", "BOOT-6")
def test_a_port_that_a_constructor_asks_for_is_named_with_its_cure() -> None:
    @Agent(spec=DURABLE)
    class Asking:
        def __init__(
            self,
            model: IAgentModel,
            states: IAgentStateRepository,
            evidence: IAgentEvidenceRepository | None = None,
        ) -> None:
            self.ports = (model, states, evidence)

    with pytest.raises(AgentModelConfigurationError, match="Asking has no IAgentModel"):
        start(*port_pods(MemoryPorts()), Asking)
    with pytest.raises(AgentPersistenceConfigurationError) as caught:
        start(Model, *port_pods(MemoryPorts(), "IAgentStateRepository"), Asking)
    assert "IAgentStateRepository" in str(caught.value)
    assert "spakky-sqlalchemy[agent]" in str(caught.value)


def test_a_missing_component_that_is_no_port_is_the_containers_matter() -> None:
    class Stranger:
        pass

    @Agent()
    class Asking:
        def __init__(self, stranger: Stranger) -> None:
            self.stranger = stranger

    with pytest.raises(AbstractSpakkyFrameworkError) as caught:
        start(Model, Asking)
    assert not isinstance(caught.value, AgentBootstrapError)


# ---------------------------------------------------------------- slots


@Agent()
@dataclass(frozen=True, slots=True)
class Slotted:
    model: IAgentModel


async def test_an_agent_with_slots_runs_on_what_was_injected() -> None:
    app = start(Model, Slotted)
    # Decorating with slots makes another class, which is the one that was registered.
    worker: Any = app.container.get(Slotted)
    items = [item async for item in worker.execute(RunAgentInput("r", "go"))]
    assert items[-1].kind.value == "final"
    app.stop()


@pytest.mark.requirement("BOOT-3", "BOOT-6")
def test_an_agent_with_slots_is_told_that_only_its_constructor_counts() -> None:
    @Agent()
    class Bare:
        __slots__ = ()

    with pytest.raises(AgentModelConfigurationError, match="slots"):
        start(Model, Bare)

    @Agent(spec=DURABLE)
    class Durable:
        __slots__ = ("model",)

        def __init__(self, model: IAgentModel) -> None:
            self.model = model

    with pytest.raises(AgentPersistenceConfigurationError, match="slots"):
        start(Model, *port_pods(MemoryPorts()), Durable)


# ---------------------------------------------------------------- tools and teammates


class Risky:
    @agent_tool(effects=ToolEffects.destructive_action())
    async def drop(self, path: str) -> None:
        """Drop."""


class Allowed:
    @agent_tool(
        effects=ToolEffects.destructive_action(), approval=ToolApprovalRequirement.NOT_REQUIRED
    )
    async def drop(self, path: str) -> None:
        """Drop."""


@pytest.mark.requirement("HITL-16")
def test_a_stateless_agent_with_a_tool_that_needs_approval_does_not_start() -> None:
    with pytest.raises(AgentBootstrapError, match="drop") as caught:
        start(Model, agent(base=Risky))
    assert "ACTION_BOUNDARY" in str(caught.value)
    start(Model, agent(base=Allowed)).stop()
    start(Model, *port_pods(MemoryPorts()), agent(DURABLE, Risky)).stop()


@pytest.mark.requirement("HITL-16")
def test_an_agent_that_writes_its_own_loop_gates_its_tools_itself() -> None:
    class Written(Risky):
        def execute(self) -> int:
            return 1

    start(agent(base=Written)).stop()


class Later:
    @agent_tool()
    async def use(self, thing: "NotThere") -> None:  # type: ignore[name-defined]  # noqa: F821 - missing
        """Use."""


@pytest.mark.requirement("SPEC-18")
def test_a_tool_whose_signature_cannot_be_read_stops_the_start() -> None:
    with pytest.raises(AgentDefinitionError, match="thing"):
        start(Model, agent(base=Later))


@pytest.mark.requirement("SPEC-18")
def test_an_output_type_without_a_json_form_stops_the_start() -> None:
    with pytest.raises(AgentDefinitionError, match="list"):
        start(Model, agent(AgentExecutionSpec(output_type=list)))


@Pod(name="drawer")
class Drawer:
    @agent_tool(effects=ToolEffects.read_only())
    async def look(self) -> str:
        """Look."""
        return "socks"


def with_attributes(spec: AgentExecutionSpec, count: int) -> type[Any]:
    @Agent(spec=spec)
    class Owner:
        def __init__(self, drawer: Drawer) -> None:
            self.first = drawer if count else None
            self.second = Drawer() if count == 2 else None

    return Owner


@pytest.mark.parametrize(("count", "named"), [(0, "none"), (2, "2 of them")])
@pytest.mark.requirement("SPEC-18", "OP-30")
def test_a_tool_object_must_be_injected_once(count: int, named: str) -> None:
    owner = with_attributes(AgentExecutionSpec(tools=(Drawer,)), count)
    with pytest.raises(AgentBootstrapError, match=named) as caught:
        start(Model, Drawer, owner)
    assert "tools" in str(caught.value)


@pytest.mark.parametrize(("count", "named"), [(0, "none"), (2, "2 of them")])
@pytest.mark.requirement("LOOP-3", "SPEC-18")
def test_a_local_teammate_must_be_injected_once(count: int, named: str) -> None:
    spec = AgentExecutionSpec(teammates=(AgentTeammate("tidier", pod=Drawer),))
    with pytest.raises(AgentBootstrapError, match=named) as caught:
        start(Model, Drawer, with_attributes(spec, count))
    assert "tidier" in str(caught.value)
    start(Model, Drawer, with_attributes(spec, 1)).stop()


def test_a_remote_teammate_needs_no_component() -> None:
    mate = AgentTeammate(
        "far",
        card_url="https://agents.example/card",
        approval=ToolApprovalRequirement.NOT_REQUIRED,
    )
    start(Model, agent(AgentExecutionSpec(teammates=(mate,)))).stop()


# ---------------------------------------------------------------- the validator itself


def test_other_pods_pass_and_without_a_container_nothing_is_checked() -> None:
    validator = AgentBootstrapValidator()
    other, worker = object(), agent()()
    assert validator.post_process(other) is other
    assert validator.post_process(worker) is worker
    container: IContainer = ApplicationContext()
    validator.set_container(container)
    assert validator.post_process(other) is other
    with pytest.raises(AgentModelConfigurationError):
        validator.post_process(worker)


@pytest.mark.requirement("BOOT-2")
def test_no_agent_runs_in_an_application_that_did_not_start() -> None:
    ran: list[str] = []

    class Written:
        async def execute(self) -> AsyncGenerator[AgentYield[object], None]:
            ran.append("ran")
            return
            yield

    with pytest.raises(AgentPersistenceConfigurationError):
        start(agent(DURABLE, Written))
    assert ran == []
