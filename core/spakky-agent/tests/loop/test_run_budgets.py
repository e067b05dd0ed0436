"""Budgets of a run: steps, tool calls, tokens and money, shared with those that it delegates to."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any, override

import pytest

from spakky.agent import (
    Agent,
    AgentExecutionLimits,
    AgentExecutionSpec,
    AgentRunner,
    AgentRunnerFactory,
    AgentTeammate,
    AgentToolCatalog,
    AgentToolError,
    AgentYieldKind,
    DelegationBudget,
    DelegationReturnPolicy,
    IAgentModel,
    IAgentToolContributor,
    ISecretResolver,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
    RunAgentInput,
    SecretField,
    SecretRef,
    ToolEffects,
    agent_tool,
    discover_agent_tools,
)
from spakky.agent_testkit.desk import Bench, DeskTools, drain
from spakky.agent_testkit.scripted_model import ScriptedModel, TurnSource, call, say, usage

type Build = Callable[..., Bench]

ASK = [*call("teammate.clerk.delegate", {"instruction": "look it up"})]
READ = [*call("file.read", {"path": "a"})]


def team(
    parent: Sequence[TurnSource],
    child: Sequence[TurnSource],
    *,
    limits: AgentExecutionLimits | None = None,
    output_type: type | None = None,
    **terms: Any,
) -> Any:
    @Agent(spec=AgentExecutionSpec(name="clerk", output_type=output_type))
    class Clerk(DeskTools):
        def __init__(self, model: IAgentModel) -> None:
            super().__init__()
            self.model = model

    mate = AgentTeammate("clerk", pod=Clerk, **terms)
    spec = AgentExecutionSpec(
        name="boss", teammates=(mate,), limits=limits or AgentExecutionLimits()
    )

    @Agent(spec=spec)
    class Boss:
        def __init__(self, model: IAgentModel, clerk: Clerk) -> None:
            self.model = model
            self.clerk = clerk

    return Boss(ScriptedModel(parent), Clerk(ScriptedModel(child)))


async def run(boss: Any) -> list[Any]:
    return await drain(AgentRunner.for_agent_instance(boss).run(RunAgentInput("boss-1", "go")))


@pytest.mark.requirement("DELEG-21", "DELEG-11")
async def test_a_child_over_its_budget_ends_with_a_typed_failure() -> None:
    boss = team([ASK, [*say("gave up")]], [READ] * 5, budget=DelegationBudget(max_steps=2))
    await run(boss)
    assert len(boss.clerk.model.requests) == 2
    assert "limit of 2 model calls" in boss.model.requests[1].messages[-1].content


@pytest.mark.requirement("DELEG-21")
async def test_a_tool_outside_the_allowed_capabilities_is_not_offered_to_the_child() -> None:
    boss = team(
        [ASK, [*say("ok")]],
        [[*call("diary.add", {"text": "x"})], [*say("no")]],
        allowed_capabilities=("file.read",),
    )
    await run(boss)
    first = boss.clerk.model.requests[0]
    assert [tool.name for tool in first.tool_calling.tools] == ["file.read"]
    assert boss.clerk.ledger == []


@pytest.mark.requirement("DELEG-21")
async def test_the_return_policy_decides_what_comes_back() -> None:
    child = [[*say('{"value": 7}')]]
    policy = DelegationReturnPolicy.FINAL_OUTPUT
    boss = team([ASK, [*say("ok")]], child, output_type=int, return_policy=policy)
    await run(boss)
    assert boss.model.requests[1].messages[-1].content == "7"


async def test_constraints_and_expectations_reach_the_child() -> None:
    boss = team([ASK, [*say("ok")]], [[*say("done")]], constraints=("spend nothing",))
    await run(boss)
    assert "Constraint: spend nothing" in boss.clerk.model.requests[0].messages[-1].content


async def test_what_a_delegate_spends_counts_for_its_parent() -> None:
    limits = AgentExecutionLimits(max_steps=4)
    boss = team(
        [ASK, ASK, [*say("never")]], [READ, [*say("one")], READ, [*say("two")]], limits=limits
    )
    items = await run(boss)
    assert items[-1].payload.code == "agent.limit.max_steps"
    assert len(boss.model.requests) + len(boss.clerk.model.requests) == 4


async def test_a_spent_budget_leaves_nothing_to_delegate_with() -> None:
    limits = AgentExecutionLimits(max_total_tokens=100)
    boss = team([[*ASK, usage(90, 30)]], [[*say("never")]], limits=limits)
    items = await run(boss)
    assert boss.clerk.model.requests == []
    assert items[-1].payload.code == "agent.limit.max_total_tokens"


async def test_money_is_a_budget(build: Build) -> None:
    done = ModelStreamEvent(ModelStreamEventKind.DONE, usage=ModelUsage(1, 1, 2, cost=0.6))
    bench = build(
        [[*READ, done], [*READ, done], [*say("never")]],
        durable=False,
        limits=AgentExecutionLimits(max_cost=1.0),
    )
    assert (await bench.run())[-1].payload.code == "agent.limit.max_cost"


async def test_the_final_tells_what_was_spent(build: Build) -> None:
    bench = build([READ, [*say("ok"), usage(3, 4)]], durable=False)
    final = (await bench.run())[-1].payload
    assert final.metadata["spent"] == {"steps": 2, "tool_calls": 1, "tokens": 7, "cost": 0.0}


class Vault(ISecretResolver):
    def __init__(self) -> None:
        self.asked: list[str] = []

    @override
    async def resolve(self, ref: SecretRef) -> str:
        self.asked.append(ref.id)
        if ref.id != "api":
            message = f"There is no secret {ref.id}."
            raise AgentToolError(message)
        return "s3cr3t-value"


class VaultTools:
    ledger: list[str]

    def __init__(self) -> None:
        self.ledger = []
        self.vault = Vault()

    @agent_tool(schema_name="shop.order", effects=ToolEffects.external_side_effect())
    async def order(self, item: str, token: Annotated[str, SecretField()]) -> str:
        self.ledger.append(f"{item} with {token}")
        if item == "bad":
            message = f"refused for {token}"
            raise AgentToolError(message)
        return "ordered"


@pytest.mark.requirement("SAFE-2", "SAFE-9")
async def test_a_reference_to_a_secret_survives_the_wait_and_is_resolved_at_the_call(
    build: Build,
) -> None:
    """OP-21."""
    order = [*call("shop.order", {"item": "book", "token": "secret://api"})]
    bench = build([order, [*say("done")]], base=VaultTools)
    items = await bench.run()
    assert items[-1].kind is AgentYieldKind.APPROVAL
    await bench.decide("approve", items[-1].payload.id)
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.FINAL
    assert bench.agent.ledger == ["book with s3cr3t-value"]
    assert "s3cr3t-value" not in str(bench.ports.store.tables)
    assert "s3cr3t-value" not in str(items)


async def test_a_raw_secret_cannot_wait_for_approval(build: Build) -> None:
    """OP-21."""
    bench = build(
        [[*call("shop.order", {"item": "book", "token": "raw-value"})], [*say("ok")]],
        base=VaultTools,
    )
    items = await bench.run()
    assert items[-1].kind is AgentYieldKind.FINAL
    assert bench.agent.ledger == []
    assert "reference" in bench.model.requests[1].messages[-1].content
    assert "raw-value" not in str(bench.ports.store.tables)
    assert "raw-value" not in str(bench.model.requests[1])


async def test_what_a_tool_says_is_cleaned_of_the_secrets_it_was_given(build: Build) -> None:
    order = [*call("shop.order", {"item": "bad", "token": "secret://api"})]
    missing = [*call("shop.order", {"item": "book", "token": "secret://other"})]
    bench = build([order, missing, [*say("done")]], base=VaultTools)
    for _ in range(2):
        items = await bench.run() if bench.items == [] else await bench.resume()
        await bench.decide("approve", items[-1].payload.id, items[-1].payload.id)
    await bench.resume()
    assert "s3cr3t-value" not in str(bench.model.requests)
    assert "There is no secret other" in bench.model.requests[2].messages[-1].content


class Extra:
    @agent_tool(schema_name="extra.ping")
    async def ping(self) -> str:
        return "pong"


class Contributor(IAgentToolContributor):
    closed = 0

    @override
    def open_tools(
        self, agent_instance: object, run_input: RunAgentInput | None = None
    ) -> AbstractAsyncContextManager[AgentToolCatalog]:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[AgentToolCatalog, None]:
        try:
            yield discover_agent_tools(Extra)
        finally:
            type(self).closed += 1


@pytest.mark.requirement("LOOP-15")
async def test_contributed_tools_are_offered_and_let_go_of(build: Build) -> None:
    """OP-40."""
    bench = build([[*say("ok")]], durable=False)
    factory = AgentRunnerFactory(contributors=(Contributor(),))
    async with factory.open_runner(bench.agent) as runner:
        await drain(runner.run(bench.input()))
    tools = bench.model.requests[0].tool_calling
    assert tools is not None
    assert "extra.ping" in {tool.name for tool in tools.tools}
    assert Contributor.closed == 1
