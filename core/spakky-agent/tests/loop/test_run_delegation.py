"""Delegation to a local teammate: a child run inside the parent's run, pauses and cancels included."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from spakky.agent import (
    Agent,
    AgentAuthRequiredError,
    AgentDelegateTarget,
    AgentEvent,
    AgentExecutionLimits,
    AgentExecutionSpec,
    AgentRunner,
    AgentSignal,
    AgentSignalKind,
    AgentTeammate,
    AgentYieldKind,
    DelegationExpectedOutput,
    DelegationPacket,
    IAgentModel,
    Idempotency,
    ModelToolCall,
    RecoveryStrategy,
    RunAgentInput,
    RunFinishedEvent,
    ToolCallResultEvent,
)
from spakky.agent.loop.children import ChildOrder
from spakky.agent.loop.do_delegate import (
    ANCESTORS_KEY,
    MAX_DEPTH,
    child_instruction,
    run_delegate,
)
from spakky.agent.loop.outcomes import CallReturned
from spakky.agent.loop.progress import CallStage, CallState
from spakky.agent.loop.progress import Progress as LoopProgress
from spakky.agent_testkit.desk import DeskTools, drain
from spakky.agent_testkit.memory import CommitInfo, MemoryPorts
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
async def test_agents_that_delegate_to_themselves_are_stopped(ports: MemoryPorts) -> None:
    class Peer:
        pass

    @Agent(spec=AgentExecutionSpec(name="ping", teammates=(AgentTeammate("peer", pod=Peer),)))
    class Ping(Peer):
        def __init__(self, model: IAgentModel) -> None:
            self.model = model
            self.peer: Any = None

    ask = [*call("teammate.peer.delegate", {"instruction": "go"})]
    model = ScriptedModel([ask, [*say("gave up")]])
    first = Ping(model)
    first.peer = first
    runner = AgentRunner.for_agent_instance(first)
    events = await drain(runner.run_events(RunAgentInput("p1", "go")))
    assert isinstance(events[-1], RunFinishedEvent)
    assert model.requests[1].messages[-1].content == (
        "peer could not be run: ping is already at work above this run; agents cannot delegate in a circle."
    )
    assert ports.store.commits == 0


@pytest.mark.requirement("DELEG-7", "DELEG-9")
async def test_a_child_is_told_everything_that_the_parent_and_its_author_want() -> None:
    def packet(**parts: Any) -> DelegationPacket:
        return DelegationPacket(
            "p", "r", AgentDelegateTarget("Clerk", "clerk"), {"instruction": "settle it"}, **parts
        )

    whole = packet(
        constraints=("be quick", "be kind"), expected_output=DelegationExpectedOutput("a receipt")
    )
    arguments = {"instruction": "settle it", "task": "bill 7", "context_summary": "it is due"}
    assert child_instruction(arguments, whole) == (
        "settle it\n\nTask: bill 7\n\nContext: it is due\n\nConstraint: be quick\n\n"
        "Constraint: be kind\n\nExpected output: a receipt"
    )
    assert child_instruction({"instruction": "settle it"}, packet()) == "settle it"


@pytest.mark.requirement("DELEG-20")
async def test_delegation_stops_at_a_depth(ports: MemoryPorts) -> None:
    boss = team(ports, [DELEGATE, [*say("did it myself")]], [])
    runner = AgentRunner.for_agent_instance(boss)
    above = [f"agent {number}" for number in range(MAX_DEPTH)]
    run_input = RunAgentInput("boss-1", "go", metadata={ANCESTORS_KEY: above})
    await drain(runner.run(run_input))
    told = boss.model.requests[1].messages[-1]
    assert told.metadata["is_error"]
    assert told.content == "Delegation is nested deeper than 8 agents; do the task without clerk."


@pytest.mark.requirement("DELEG-17", "EVENT-10")
async def test_a_sign_in_that_a_child_needs_pauses_the_parent_too(ports: MemoryPorts) -> None:
    sign_in = raises(AgentAuthRequiredError("acme", "Sign in to acme."))
    boss = team(ports, [DELEGATE, [*say("closed")]], [[sign_in], [*say("signed in")]])
    await run(boss)
    for run_id in ("boss-1", CHILD):
        state = await ports.states.get(run_id)
        assert (state.status, state.reason) == ("interrupted", "auth_required")
    items = await run(boss, resume=True)
    assert items[-1].kind is AgentYieldKind.FINAL
    assert boss.model.requests[1].messages[-1].content == "signed in"


@pytest.mark.requirement("DELEG-17")
async def test_a_child_that_was_paused_by_hand_is_told_as_interrupted(ports: MemoryPorts) -> None:
    boss = team(ports, [DELEGATE, [*say("later")]], [[*say("never")]])
    await ports.signals.append(AgentSignal("p1", CHILD, AgentSignalKind.PAUSE))
    items = await run(boss)
    assert items[-1].kind is AgentYieldKind.FINAL
    told = boss.model.requests[1].messages[-1]
    assert told.content.startswith("clerk was interrupted and has not finished: The run was paused")


@pytest.mark.requirement("DELEG-19")
async def test_a_child_that_was_cancelled_by_itself_is_told_as_cancelled(
    ports: MemoryPorts,
) -> None:
    boss = team(ports, [DELEGATE, [*say("then not")]], [[*say("never")]])
    await ports.signals.append(AgentSignal("c1", CHILD, AgentSignalKind.CANCEL))
    items = await run(boss)
    assert items[-1].kind is AgentYieldKind.FINAL
    assert boss.model.requests[1].messages[-1].content == "clerk was cancelled."


@pytest.mark.requirement("DELEG-19")
async def test_a_cancel_finds_a_child_that_was_never_started(ports: MemoryPorts) -> None:
    """The call was planned and on disk when the process died; the child's first commit was not."""
    boss = team(ports, [DELEGATE], [])

    class Died(BaseException):
        pass

    async def die(info: CommitInfo) -> None:
        if CHILD in info.name or dead:
            dead.append(info.number)
            raise Died

    dead: list[int] = []
    ports.store.before_commit = die
    with pytest.raises(Died):
        await run(boss)
    ports.store.before_commit = None
    await ports.advance(3600)
    await ports.signals.append(AgentSignal("c1", "boss-1", AgentSignalKind.CANCEL))
    items = await run(boss, resume=True)
    assert items[-1].kind is AgentYieldKind.CANCEL
    assert await ports.states.get_or_none(CHILD) is None


async def test_without_budget_nothing_is_delegated(ports: MemoryPorts) -> None:
    boss = team(ports, [DELEGATE, [*say("did it myself")]], [])
    runner = AgentRunner.for_agent_instance(boss)
    limits = AgentExecutionLimits(max_tool_calls=1)
    narrowed = replace(runner, narrowed_spec=replace(runner.agent.spec, limits=limits))
    await drain(narrowed.run(RunAgentInput("boss-1", "go")))
    told = boss.model.requests[1].messages[-1].content
    assert "Nothing is left of the run's budget to delegate to clerk with." in told


async def test_a_child_that_ends_without_an_event_is_told_as_a_failure(ports: MemoryPorts) -> None:
    boss = team(ports, [DELEGATE], [])
    runner = AgentRunner.for_agent_instance(boss)
    kit = runner._kit(RunAgentInput("boss-1", "go"))

    async def silent(_: ChildOrder) -> AsyncGenerator[AgentEvent, None]:
        events: tuple[AgentEvent, ...] = ()
        for event in events:
            yield event

    kit.open_child = silent
    asked = ModelToolCall("teammate.clerk.delegate", {"instruction": "go"}, "c1")
    started = CallState(
        "boss-1/call/1.1",
        asked,
        "sha256:0",
        CallStage.STARTED,
        Idempotency.UNKNOWN,
        delegate="clerk",
    )
    (outcome,) = await drain(run_delegate(kit, LoopProgress("boss-1"), started))
    assert isinstance(outcome, CallReturned)
    assert outcome.message.content == "clerk ended without a result."
