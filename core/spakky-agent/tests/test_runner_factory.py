"""Opening a runner for one request."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, override

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.pod.annotations.pod import Pod

from spakky.agent import (
    Agent,
    AgentBootstrapError,
    AgentDefinitionError,
    AgentExecutionSpec,
    AgentModelConfigurationError,
    AgentPersistenceConfigurationError,
    AgentRunner,
    AgentRunnerFactory,
    AgentToolCatalog,
    AgentToolDescriptor,
    AgentToolMetadata,
    IAgentModel,
    IAgentModelResolver,
    IAgentRunnerFactory,
    RecoveryStrategy,
    RunAgentInput,
    ToolEffects,
)
from spakky.agent.main import PLUGIN_NAME
from spakky.agent.runner_factory import find_runner_factory
from spakky.agent.tool_contributor import IAgentToolContributor
from spakky.agent_testkit.desk import drain
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say

ASKED = RunAgentInput("r", "go")


@Agent()
class Worker:
    def __init__(self, model: IAgentModel) -> None:
        self.model = model


class Resolver(IAgentModelResolver):
    def __init__(self, model: IAgentModel | None) -> None:
        self.model = model
        self.seen: list[tuple[object, RunAgentInput | None]] = []

    @override
    def resolve_model(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> IAgentModel | None:
        self.seen.append((agent_instance, run_input))
        return self.model


@pytest.mark.requirement("LOOP-15")
async def test_the_default_opens_a_runner_on_the_agents_own_ports() -> None:
    model = ScriptedModel([[say("hi")]])
    worker = Worker(model)
    async with AgentRunnerFactory().open_runner(worker) as runner:
        assert isinstance(runner, AgentRunner)
        assert (runner.target, runner.model) == (worker, model)
        items = await drain(runner.run(ASKED))
    assert items[-1].kind.value == "final"


@pytest.mark.requirement("LOOP-15")
async def test_a_resolver_chooses_the_model_of_a_run() -> None:
    own, chosen = ScriptedModel(), ScriptedModel([[say("hi")]])
    worker, resolver = Worker(own), Resolver(chosen)
    async with AgentRunnerFactory(resolver).open_runner(worker, ASKED) as runner:
        assert runner.model is chosen
    assert resolver.seen == [(worker, ASKED)]
    async with AgentRunnerFactory(Resolver(None)).open_runner(worker) as runner:
        assert runner.model is own


async def test_what_cannot_be_run_is_refused_when_it_is_opened() -> None:
    factory = AgentRunnerFactory()
    with pytest.raises(AgentBootstrapError, match="no agent"):
        async with factory.open_runner(object()):
            pass
    without: Any = Worker(None)  # type: ignore[arg-type]  # the model is missing on purpose
    with pytest.raises(AgentModelConfigurationError, match="Worker has no IAgentModel"):
        async with factory.open_runner(without):
            pass


class Contributor(IAgentToolContributor):
    def __init__(self, name: str) -> None:
        self.name = name
        self.log: list[str] = []

    @override
    @asynccontextmanager
    async def open_tools(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> AsyncGenerator[AgentToolCatalog, None]:
        self.log.append("opened")
        tool = AgentToolDescriptor.foreign(
            source="server",
            name=self.name,
            call=lambda: "found",
            input_schema={"type": "object", "properties": {}},
            metadata=AgentToolMetadata(effects=ToolEffects.read_only()),
        )
        try:
            yield AgentToolCatalog((tool,))
        finally:
            self.log.append("closed")


@pytest.mark.requirement("LOOP-16", "HITL-17")
async def test_contributed_tools_join_the_run_and_are_let_go_of_with_it() -> None:
    worker = Worker(ScriptedModel([[call("search")], [say("done")]]))
    first, second = Contributor("search"), Contributor("fetch")
    factory = AgentRunnerFactory(contributors=(first, second))
    async with factory.open_runner(worker, ASKED) as runner:
        assert runner.external_tools.names == ("search", "fetch")
        items = await drain(runner.run(ASKED))
        assert first.log == ["opened"]
    assert [item.payload.result for item in items if item.kind.value == "tool"] == ["found"]  # type: ignore[attr-defined]  # a tool's item
    assert first.log == second.log == ["opened", "closed"]


@pytest.mark.requirement("LOOP-16")
async def test_two_contributed_tools_of_one_name_are_refused_and_let_go_of() -> None:
    first, second = Contributor("search"), Contributor("search")
    factory = AgentRunnerFactory(contributors=(first, second))
    with pytest.raises(AgentDefinitionError, match="search"):
        async with factory.open_runner(Worker(ScriptedModel())):
            pass
    assert first.log == second.log == ["opened", "closed"]


@pytest.mark.requirement("BOOT-3")
async def test_a_durable_agent_built_by_hand_names_the_ports_that_it_lacks() -> None:
    @Agent(spec=AgentExecutionSpec(recovery=RecoveryStrategy.ACTION_BOUNDARY))
    class Durable:
        def __init__(self) -> None:
            self.model = ScriptedModel()

    async with AgentRunnerFactory().open_runner(Durable()) as runner:
        for stream in (runner.run(ASKED), runner.run_events(ASKED)):
            with pytest.raises(AgentPersistenceConfigurationError, match="IAgentUnitOfWork"):
                await anext(stream)


def test_an_agent_built_by_hand_gets_the_default_factory() -> None:
    assert type(find_runner_factory(Worker(ScriptedModel()))) is AgentRunnerFactory


@Pod(name="resolver")
class ContainerResolver(Resolver):
    def __init__(self) -> None:
        super().__init__(ScriptedModel())


@Pod(name="model")
class Model(ScriptedModel):
    def __init__(self) -> None:
        super().__init__()


def start(*pods: Any) -> SpakkyApplication:
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    for pod in pods:
        app.add(pod)
    app.start()
    return app


@pytest.mark.requirement("LOOP-15", "PKG-11")
async def test_the_container_gives_the_factory_and_the_resolver_to_it() -> None:
    app = start(Model, ContainerResolver, Worker)
    factory = app.container.get(IAgentRunnerFactory)
    assert find_runner_factory(app.container.get(Worker)) is factory
    async with factory.open_runner(app.container.get(Worker)) as runner:
        assert runner.model is app.container.get(ContainerResolver).model
    app.stop()


@pytest.mark.requirement("LOOP-16")
async def test_a_plugin_can_put_its_own_factory_around_the_default() -> None:
    opened: list[str] = []

    class Widened(IAgentRunnerFactory):
        def __init__(self, inner: IAgentRunnerFactory) -> None:
            self.inner = inner

        @override
        @asynccontextmanager
        async def open_runner(
            self, agent_instance: object, run_input: RunAgentInput | None = None
        ) -> AsyncGenerator[AgentRunner, None]:
            opened.append("session")
            async with self.inner.open_runner(agent_instance, run_input) as runner:
                yield runner
            opened.append("closed")

    async with Widened(AgentRunnerFactory()).open_runner(Worker(ScriptedModel())):
        assert opened == ["session"]
    assert opened == ["session", "closed"]
