"""``@Agent``: an agent is an ordinary component of the application."""

import importlib.util
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.pod.annotations.pod import Pod

from spakky.agent import (
    Agent,
    AgentDefinitionError,
    AgentExecutionSpec,
    AgentSignal,
    AgentSignalKind,
    AgentTeammate,
    AgentYield,
    AgentYieldKind,
    Final,
    IAgentModel,
    Idempotency,
    RecoveryStrategy,
    RunAgentInput,
    ToolEffects,
    agent_tool,
    on_signal,
)
from spakky.agent.agent import execute
from spakky.agent.main import PLUGIN_NAME
from spakky.agent_testkit.desk import drain
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say


@Pod(name="model")
class Model(ScriptedModel):
    def __init__(self) -> None:
        super().__init__([[say("hi")]])


def start(*pods: Any) -> SpakkyApplication:
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    for pod in pods:
        app.add(pod)
    app.start()
    return app


@Agent(spec=AgentExecutionSpec(name="greeter", objective="Greet people."))
class Greeter:
    def __init__(self, model: IAgentModel) -> None:
        self.model = model

    @agent_tool(effects=ToolEffects.read_only())
    async def look(self) -> str:
        """Look."""
        return "socks"


# ---------------------------------------------------------------- the stereotype


@pytest.mark.requirement("SPEC-1", "SPEC-2", "SPEC-12")
async def test_an_agent_is_resolved_and_executed_like_any_other_component() -> None:
    assert issubclass(Agent, Pod)
    app = start(Model, Greeter)
    greeter: Any = app.container.get(Greeter)
    again: Any = app.container.get(Greeter)
    assert again is greeter
    assert greeter.model is app.container.get(Model)
    items = await drain(greeter.execute(RunAgentInput("r", "go")))
    assert [item.kind for item in items] == [AgentYieldKind.TOKEN, AgentYieldKind.FINAL]
    app.stop()


@pytest.mark.requirement("SPEC-3")
def test_the_annotation_holds_spec_and_catalogs() -> None:
    annotation = Agent.get(Greeter)
    assert annotation is Pod.get(Greeter)
    assert annotation.spec.objective == "Greet people."
    assert annotation.tool_catalog.names == ("look",)
    assert annotation.signal_hook_catalog.descriptors == ()
    assert annotation.agent_name == "greeter"
    assert annotation.has_standard_loop


@pytest.mark.requirement("SPEC-3")
def test_without_a_spec_an_agent_has_the_default_one_and_the_name_of_its_class() -> None:
    @Agent()
    class Plain:
        pass

    annotation = Agent.get(Plain)
    assert annotation.spec == AgentExecutionSpec()
    assert annotation.agent_name == "Plain"


@pytest.mark.requirement("SPEC-18")
def test_functions_and_other_specs_are_refused() -> None:
    with pytest.raises(AgentDefinitionError, match="decorates classes"):

        @Agent()
        def greet() -> Greeter:
            raise NotImplementedError

    wrong: Any = {"name": "x"}
    with pytest.raises(AgentDefinitionError, match=r"Bad.*dict"):

        @Agent(spec=wrong)
        class Bad:
            pass


# ---------------------------------------------------------------- written loops


@pytest.mark.requirement("SPEC-12", "SPEC-13", "SPEC-14")
async def test_a_written_or_inherited_execute_is_left_alone() -> None:
    class Base:
        async def execute(self) -> AsyncGenerator[AgentYield[Final[str]], None]:
            yield AgentYield(AgentYieldKind.FINAL, Final("mine"))

    before = Base.execute

    @Agent()
    class Inheriting(Base):
        pass

    @Agent()
    class Writing:
        async def execute(self, number: int) -> int:
            return number

    assert Inheriting.execute is before
    assert not Agent.get(Inheriting).has_standard_loop
    app = start(Inheriting, Writing)
    assert await app.container.get(Writing).execute(7) == 7
    items = await drain(app.container.get(Inheriting).execute())
    assert items[0].payload == Final("mine")
    app.stop()


@pytest.mark.requirement("SPEC-12")
def test_a_class_without_execute_gets_the_standard_loop() -> None:
    assert vars(Greeter)["execute"] is execute


@pytest.mark.requirement("SPEC-15", "SPEC-18")
def test_an_execute_of_another_form_is_refused_when_the_class_is_defined() -> None:
    with pytest.raises(AgentDefinitionError, match="streams"):

        @Agent()
        class Bad:
            async def execute(self) -> AsyncGenerator[str, None]:
                yield ""


# ---------------------------------------------------------------- durable or not


@pytest.mark.parametrize("recovery", list(RecoveryStrategy))
@pytest.mark.parametrize("accepted", [(), (AgentSignalKind.CANCEL,)])
@pytest.mark.requirement("SPEC-19", "SPEC-20")
def test_durability_follows_from_recovery_or_signals(
    recovery: RecoveryStrategy, accepted: tuple[AgentSignalKind, ...]
) -> None:
    @Agent(spec=AgentExecutionSpec(recovery=recovery, accepted_signals=accepted))
    class Worker:
        pass

    durable = recovery is RecoveryStrategy.ACTION_BOUNDARY or bool(accepted)
    needed = Agent.get(Worker).required_persistence_repository_types()
    assert bool(needed) is durable
    assert len(needed) in {0, 3}


@pytest.mark.requirement("SPEC-20")
async def test_a_stateless_agent_leaves_injected_repositories_alone() -> None:
    ports = MemoryPorts()

    @Agent()
    class Worker:
        def __init__(self, model: IAgentModel) -> None:
            self.model, self.states, self.signals = model, ports.states, ports.signals
            self.evidence, self.transcripts = ports.evidence, ports.transcripts
            self.unit_of_work = ports.unit_of_work

    app = start(Model, Worker)
    worker: Any = app.container.get(Worker)
    await drain(worker.execute(RunAgentInput("r", "go")))
    store = ports.store
    assert (store.reads, store.commits, store.lease_calls) == (0, 0, 0)
    app.stop()


# ---------------------------------------------------------------- hooks, tools, teammates


@pytest.mark.requirement("SPEC-3", "SPEC-18", "OP-52")
def test_hooks_are_found_and_those_that_never_fire_are_refused() -> None:
    class Hooked:
        @on_signal(AgentSignalKind.USER_MESSAGE)
        async def hear(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
            return
            yield

    accepted = AgentExecutionSpec(accepted_signals=(AgentSignalKind.USER_MESSAGE,))
    hooked = Agent(spec=accepted)(type("Listener", (Hooked,), {}))
    assert len(Agent.get(hooked).signal_hook_catalog.descriptors) == 1
    with pytest.raises(AgentDefinitionError, match="accepted_signals"):
        Agent()(type("Deaf", (Hooked,), {}))


@agent_tool(effects=ToolEffects.read_only())
async def tell_time() -> str:
    """Tell the time."""
    return "noon"


@Pod(name="drawer")
class Drawer:
    def __init__(self) -> None:
        self.looked = 0

    @agent_tool(schema_name="drawer.look", effects=ToolEffects.read_only())
    async def look(self) -> str:
        """Look."""
        self.looked += 1
        return "socks"


@pytest.mark.requirement("OP-30")
async def test_tools_of_components_and_functions_join_those_of_the_class() -> None:
    @Agent(spec=AgentExecutionSpec(tools=(Drawer, tell_time)))
    class Owner:
        def __init__(self, drawer: Drawer) -> None:
            self.drawer = drawer
            self.model = ScriptedModel(
                [[call("drawer.look"), call("tell_time"), call("own")], [say("done")]]
            )

        @agent_tool(effects=ToolEffects.read_only())
        async def own(self) -> str:
            """Own."""
            return type(self).__name__

    assert Agent.get(Owner).tool_catalog.names == ("own", "drawer.look", "tell_time")
    app = start(Drawer, Owner)
    owner: Any = app.container.get(Owner)
    items = await drain(owner.execute(RunAgentInput("r", "go")))
    results = [item.payload.result for item in items if item.kind is AgentYieldKind.TOOL]
    assert sorted(results) == ["Owner", "noon", "socks"]
    assert app.container.get(Drawer).looked == 1
    app.stop()


@pytest.mark.requirement("SPEC-18")
def test_two_tools_of_one_name_are_refused_when_the_class_is_defined() -> None:
    with pytest.raises(AgentDefinitionError, match="tell_time"):

        @Agent(spec=AgentExecutionSpec(tools=(tell_time,)))
        class Owner:
            @agent_tool()
            async def tell_time(self) -> str:
                """Tell the time."""
                return "late"


@pytest.mark.requirement("DELEG-1", "LOOP-3")
async def test_an_injected_teammate_is_offered_as_a_tool_and_runs() -> None:
    @Agent(
        spec=AgentExecutionSpec(name="boss", teammates=(AgentTeammate("Greeter One", pod=Greeter),))
    )
    class Boss:
        def __init__(self, mate: Greeter) -> None:
            self.mate = mate
            self.model = ScriptedModel(
                [
                    [call("teammate.greeter_one.delegate", {"instruction": "greet"})],
                    [say("done")],
                ]
            )

    (tool,) = Agent.get(Boss).tool_catalog.descriptors
    assert tool.description is not None
    assert "Greet people." in tool.description
    app = start(Model, Greeter, Boss)
    boss: Any = app.container.get(Boss)
    items = await drain(boss.execute(RunAgentInput("r", "go")))
    results = [item.payload.result for item in items if item.kind is AgentYieldKind.TOOL]
    assert results == ["hi"]
    assert items[-1].payload.output.output_text == "done"
    app.stop()


def test_a_teammate_that_is_no_agent_has_no_objective_to_show() -> None:
    @Agent(spec=AgentExecutionSpec(teammates=(AgentTeammate("drawer", pod=Drawer),)))
    class Boss:
        pass

    assert Agent.get(Boss).tool_catalog.names == ("teammate.drawer.delegate",)


@pytest.mark.requirement("RECOV-4")
def test_delegating_to_a_durable_agent_may_be_repeated() -> None:
    @Agent(spec=AgentExecutionSpec(recovery=RecoveryStrategy.ACTION_BOUNDARY))
    class Durable:
        pass

    @Agent(spec=AgentExecutionSpec(teammates=(AgentTeammate("d", pod=Durable),)))
    class Boss:
        pass

    (tool,) = Agent.get(Boss).tool_catalog.descriptors
    assert tool.metadata.idempotency is Idempotency.IDEMPOTENT


def test_two_agents_of_one_class_name_live_in_one_application_under_names_of_their_own() -> None:
    def make(name: str) -> type[Any]:
        @Agent(name=name, spec=AgentExecutionSpec(name=name))
        class Worker:
            pass

        return Worker

    one, two = make("one"), make("two")
    app = start(Model, one, two)
    assert type(app.container.get(one)) is one
    assert type(app.container.get(two)) is two
    assert Agent.get(one).agent_name != Agent.get(two).agent_name
    app.stop()


# ---------------------------------------------------------------- modules of all sorts

POSTPONED = '''
from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from spakky.agent import Agent, AgentYield, IAgentModel, agent_tool


@Agent()
class Sorter:
    def __init__(self, model: IAgentModel) -> None:
        self.model = model

    @agent_tool()
    async def sort(self, sock: Sock) -> str:
        """Sort."""
        return sock.colour


@Agent()
class Written:
    async def execute(self) -> AsyncGenerator[AgentYield[object], None]:
        return
        yield


@dataclass
class Sock:
    colour: str
'''


@pytest.fixture
def postponed(tmp_path: Path) -> Iterator[ModuleType]:
    """Give a module with postponed annotations and a class that is defined after the agent that names it."""
    path = tmp_path / "postponed_agents.py"
    path.write_text(POSTPONED, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("postponed_agents", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["postponed_agents"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["postponed_agents"]


@pytest.mark.requirement("SPEC-1", "SPEC-18")
async def test_postponed_annotations_and_a_scan_work_as_well(postponed: ModuleType) -> None:
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    app.add(Model)
    app.scan(postponed)
    app.start()
    sorter = app.container.get(postponed.Sorter)
    assert isinstance(sorter.model, Model)
    tool = Agent.get(postponed.Sorter).tool_catalog.by_schema_name("sort")
    bound = tool.bind_invocation({"sock": {"colour": "red"}})
    assert postponed.Sock("red") in (*bound.args, *bound.kwargs.values())
    assert await drain(app.container.get(postponed.Written).execute()) == []
    app.stop()
