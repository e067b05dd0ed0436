"""Delegation to a local teammate: a child run inside the parent's run, pauses and cancels included."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentRunner,
    AgentSignal,
    AgentSignalKind,
    AgentTeammate,
    AgentYieldKind,
    IAgentModel,
    RecoveryStrategy,
    RunAgentInput,
    RunFinishedEvent,
    ToolCallResultEvent,
)
from spakky.agent_testkit.desk import DeskTools, drain
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, TurnSource, call, hang, raises, say

DELEGATE = [*call("teammate.clerk.delegate", {"instruction": "settle the bill"})]
CHILD = "boss-1/call/1.1/child"


def team(
    ports: MemoryPorts,
    parent_script: Sequence[TurnSource],
    child_script: Sequence[TurnSource],
    *,
    recovery: RecoveryStrategy = RecoveryStrategy.ACTION_BOUNDARY,
    child_recovery: RecoveryStrategy = RecoveryStrategy.ACTION_BOUNDARY,
) -> Any:
    def keep_ports(agent: Any) -> None:
        agent.a, agent.b, agent.c = ports.states, ports.signals, ports.evidence
        agent.d, agent.e = ports.transcripts, ports.unit_of_work

    @Agent(
        spec=AgentExecutionSpec(name="clerk", objective="settles bills", recovery=child_recovery)
    )
    class Clerk(DeskTools):
        def __init__(self, model: IAgentModel) -> None:
            super().__init__()
            self.model = model
            keep_ports(self)

    @Agent(
        spec=AgentExecutionSpec(
            name="boss", recovery=recovery, teammates=(AgentTeammate("clerk", pod=Clerk),)
        )
    )
    class Boss:
        def __init__(self, model: IAgentModel, clerk: Clerk) -> None:
            self.model = model
            self.clerk = clerk
            keep_ports(self)

    return Boss(ScriptedModel(parent_script), Clerk(ScriptedModel(child_script)))


async def run(boss: Any, *, resume: bool = False) -> list[Any]:
    run_input = RunAgentInput("boss-1", "" if resume else "close the month", resume=resume)
    return await drain(AgentRunner.for_agent_instance(boss).run(run_input))


async def run_events(boss: Any) -> list[Any]:
    run_input = RunAgentInput("boss-1", "close the month")
    return await drain(AgentRunner.for_agent_instance(boss).run_events(run_input))


@pytest.mark.requirement("DELEG-3", "DELEG-7", "DELEG-8", "DELEG-16", "DELEG-18", "MCP-5")
async def test_the_childs_events_come_first_and_its_answer_is_the_tools_result(
    ports: MemoryPorts,
) -> None:
    child = [[*say("looking"), *call("file.read", {"path": "bill"})], [*say("the bill is 5")]]
    boss = team(ports, [DELEGATE, [*say("closed")]], child)
    events = await run_events(boss)
    of_child = [e for e in events if e.attribution.run_id == CHILD]
    assert {(e.attribution.agent_id, e.attribution.parent_run_id) for e in of_child} == {
        ("clerk", "boss-1")
    }
    result = next(
        e for e in events if isinstance(e, ToolCallResultEvent) and e.attribution.run_id == "boss-1"
    )
    assert result.result == "the bill is 5"
    assert events.index(of_child[-1]) < events.index(result)
    answer = boss.model.requests[1].messages[-1].content
    assert answer == "the bill is 5"
    assert "looking" not in str(boss.model.requests[1].messages)
    kinds = [e.kind.value for e in await ports.evidence.list_by_state("boss-1")]
    assert "delegation" in kinds


@pytest.mark.requirement("DELEG-17")
@pytest.mark.parametrize(
    ("child", "told"),
    [([[raises(RuntimeError("x"))]], "failed"), ([[*call("fault.unknown")]], "failed")],
)
async def test_a_child_that_fails_is_told_as_a_failure(
    ports: MemoryPorts, child: Any, told: str
) -> None:
    boss = team(ports, [DELEGATE, [*say("then not")]], child)
    await run(boss)
    answer = boss.model.requests[1].messages[-1]
    assert told in answer.content
    assert answer.metadata["is_error"]


@pytest.mark.requirement("DELEG-17", "HITL-17")
@pytest.mark.parametrize(("decision", "ledger"), [("approve", ["pay 5"]), ("reject", [])])
async def test_a_child_that_asks_pauses_the_parent_and_the_decision_reaches_it(
    ports: MemoryPorts, decision: str, ledger: list[str]
) -> None:
    """OP-24."""
    child = [[*call("bank.pay", {"amount": 5})], [*say("paid 5")]]
    boss = team(ports, [DELEGATE, [*say("closed")]], child)
    items = await run(boss)
    assert items[-1].kind is AgentYieldKind.APPROVAL
    request = items[-1].payload
    assert request.id == f"{CHILD}/call/1.1/approval"
    assert (
        (await ports.states.get("boss-1")).status
        == (await ports.states.get(CHILD)).status
        == "interrupted"
    )
    payload = {"request_id": request.id, "decision": decision}
    await ports.signals.append(
        AgentSignal("d1", "boss-1", AgentSignalKind.APPROVAL_DECISION, payload)
    )
    items = await run(boss, resume=True)
    assert items[-1].kind is AgentYieldKind.FINAL
    assert boss.clerk.ledger == ledger
    told = boss.model.requests[1].messages[-1].content
    assert told == (
        "paid 5"
        if decision == "approve"
        else "clerk failed: A person rejected the call of bank.pay."
    )
    assert (await ports.states.get(CHILD)).status == (
        "completed" if decision == "approve" else "failed"
    )


async def test_a_parent_that_waits_for_its_child_waits_on_when_nothing_was_decided(
    ports: MemoryPorts,
) -> None:
    boss = team(ports, [DELEGATE, [*say("closed")]], [[*call("bank.pay", {"amount": 5})]])
    first = await run(boss)
    again = await run(boss, resume=True)
    assert again[-1].payload.id == first[-1].payload.id
    assert len(boss.clerk.model.requests) == 1


@pytest.mark.requirement("DELEG-19")
@pytest.mark.parametrize("paused", [True, False])
async def test_a_cancel_of_the_parent_cancels_the_child(ports: MemoryPorts, paused: bool) -> None:
    reached = asyncio.Event()
    child: list[TurnSource] = (
        [[*call("bank.pay", {"amount": 5})]] if paused else [[hang(reached=reached)]]
    )
    boss = team(ports, [DELEGATE], child)
    cancel = AgentSignal("c1", "boss-1", AgentSignalKind.CANCEL)
    if paused:
        await run(boss)
        await ports.signals.append(cancel)
        items = await run(boss, resume=True)
    else:
        running = asyncio.create_task(run(boss))
        await asyncio.wait_for(reached.wait(), 5)
        await ports.signals.append(cancel)
        items = await running
    assert items[-1].kind is AgentYieldKind.CANCEL
    assert (
        (await ports.states.get("boss-1")).status
        == (await ports.states.get(CHILD)).status
        == "cancelled"
    )
    assert boss.clerk.ledger == []


async def test_a_stateless_parent_is_told_that_its_child_waits(ports: MemoryPorts) -> None:
    boss = team(
        ports,
        [DELEGATE, [*say("later")]],
        [[*call("bank.pay", {"amount": 5})]],
        recovery=RecoveryStrategy.NONE,
    )
    items = await run(boss)
    assert items[-1].kind is AgentYieldKind.FINAL
    assert "waits for a person" in boss.model.requests[1].messages[-1].content


@pytest.mark.requirement("DELEG-20")
async def test_agents_that_delegate_in_a_circle_are_stopped(ports: MemoryPorts) -> None:
    @Agent(spec=AgentExecutionSpec(name="ping", teammates=(AgentTeammate("peer", pod=DeskTools),)))
    class Ping:
        def __init__(self, model: IAgentModel) -> None:
            self.model = model
            self.peer: Any = None

    ask = [*call("teammate.peer.delegate", {"instruction": "go"})]
    model = ScriptedModel([ask, [*say("gave up")]])
    first = Ping(model)
    first.peer = first
    runner = AgentRunner(
        agent=Agent.get(Ping), target=first, model=model, teammates={"peer": first}
    )
    events = await drain(runner.run_events(RunAgentInput("p1", "go")))
    assert isinstance(events[-1], RunFinishedEvent)
    assert "circle" in model.requests[1].messages[-1].content
    assert ports.store.commits == 0
