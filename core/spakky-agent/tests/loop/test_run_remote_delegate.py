"""Delegation to a teammate elsewhere: what goes out through the port, what comes back, and how it ends otherwise."""

import ast
import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from spakky.agent import (
    AgentDelegateTarget,
    AgentEvidenceKind,
    AgentModelError,
    AgentSignalKind,
    AgentTeammate,
    AgentYield,
    AgentYieldKind,
    CustomEvent,
    DelegationBudget,
    DelegationExpectedOutput,
    DelegationPacket,
    DelegationResult,
    DelegationReturnPolicy,
    DelegationToolResult,
    Error,
    IAgentDelegate,
    Progress,
    ToolApprovalRequirement,
)
from spakky.agent.loop import children, do_delegate
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import call, say

type Build = Callable[..., Bench]
type Item = AgentYield[Any]

ASK = [
    *call(
        "teammate.clerk.delegate",
        {"instruction": "settle the bill", "task": "bill 7", "context_summary": "it is due"},
    )
]
SCRIPT = [ASK, [*say("closed")]]


def teammate(**more: Any) -> AgentTeammate:
    more.setdefault("approval", ToolApprovalRequirement.NOT_REQUIRED)
    return AgentTeammate("clerk", card_url="https://clerk.example/card", **more)


def result_of(packet: DelegationPacket, summary: str = "settled", **more: Any) -> Item:
    result: DelegationResult = DelegationResult("r-1", packet.id, packet.target, summary, **more)
    return AgentYield(AgentYieldKind.EVIDENCE, result)


class Remote(IAgentDelegate):
    """Answers each packet with the items that a test chose."""

    def __init__(self, answer: Callable[[DelegationPacket], Sequence[Item]] | None = None) -> None:
        self.packets: list[DelegationPacket] = []
        self.answer = answer or (lambda packet: [result_of(packet)])
        self.error: Exception | None = None

    async def delegate(
        self, packet: DelegationPacket
    ) -> AsyncGenerator[AgentYield[DelegationResult], None]:
        self.packets.append(packet)
        for item in self.answer(packet):
            yield item
        if self.error is not None:
            raise self.error

    async def delegate_tool_result(self, packet: DelegationPacket) -> DelegationToolResult:
        raise NotImplementedError


class Queued(Remote):
    """Hands packets to a worker over a queue, and waits for what comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: asyncio.Queue[DelegationPacket] = asyncio.Queue()
        self.results: asyncio.Queue[Item] = asyncio.Queue()
        self.closed = 0

    async def delegate(
        self, packet: DelegationPacket
    ) -> AsyncGenerator[AgentYield[DelegationResult], None]:
        self.jobs.put_nowait(packet)
        try:
            yield await self.results.get()
        finally:
            self.closed += 1


@pytest.fixture
def office(build: Build) -> Build:
    def make(remote: IAgentDelegate | None, mate: AgentTeammate, **more: Any) -> Bench:
        bench = build(SCRIPT, teammates=(mate,), **more)
        bench.agent.remote = remote
        return bench

    return make


@pytest.mark.requirement("DELEG-9", "DELEG-11", "DELEG-12", "DELEG-13")
async def test_the_port_gets_a_packet_that_states_everything(office: Build) -> None:
    budget = DelegationBudget(max_steps=3)
    output = DelegationExpectedOutput("a receipt")
    mate = teammate(
        constraints=("be quick",),
        expected_output=output,
        budget=budget,
        allowed_capabilities=("file.read",),
        return_policy=DelegationReturnPolicy.SUMMARY,
    )
    bench = office(remote := Remote(), mate)
    await bench.run("close the month", conversation_id="talk")
    (packet,) = remote.packets
    assert packet == DelegationPacket(
        "run-1/call/1.1",
        "run-1",
        AgentDelegateTarget("https://clerk.example/card", "clerk"),
        {"instruction": "settle the bill", "task": "bill 7"},
        packet.context,
        ("be quick",),
        output,
        budget,
        ("file.read",),
        DelegationReturnPolicy.SUMMARY,
        {"conversation_id": "talk"},
    )
    assert packet.context.summary == "it is due"
    assert bench.model.requests[1].messages[-1].content == "settled"


@pytest.mark.requirement("DELEG-15", "DELEG-16")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_what_came_back_is_on_record_and_shown_and_the_trace_is_not_sent_on(
    office: Build, stream: str
) -> None:
    step: Item = AgentYield(AgentYieldKind.PROGRESS, Progress("looking at every page"))
    remote = Remote(lambda packet: [step, result_of(packet, evidence_refs=("e-9",))])
    bench = office(remote, teammate())
    shown = await getattr(bench, stream)()
    evidence = await bench.ports.evidence.list_by_state("run-1")
    (kept,) = [e for e in evidence if e.kind is AgentEvidenceKind.DELEGATION]
    assert kept.payload["packet_id"] == "run-1/call/1.1"
    assert kept.payload["evidence_refs"] == ["e-9"]
    if stream == "run":
        items = [i.payload.evidence for i in shown if i.kind is AgentYieldKind.EVIDENCE]
        assert [e.id for e in items] == [kept.id]
    else:
        assert [e.name for e in shown if isinstance(e, CustomEvent)] == ["evidence"]
    assert "looking" not in repr(bench.model.requests)


@pytest.mark.requirement("DELEG-21")
@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (DelegationReturnPolicy.SUMMARY, "settled"),
        (DelegationReturnPolicy.EVIDENCE_REFS, '["e-9"]'),
        (DelegationReturnPolicy.FINAL_OUTPUT, '{"sum": 5}'),
        (
            DelegationReturnPolicy.SUMMARY_AND_EVIDENCE,
            '{"summary": "settled", "evidence_refs": ["e-9"]}',
        ),
    ],
)
async def test_the_return_policy_decides_what_the_model_reads(
    office: Build, policy: DelegationReturnPolicy, told: str
) -> None:
    remote = Remote(lambda p: [result_of(p, output={"sum": 5}, evidence_refs=("e-9",))])
    bench = office(remote, teammate(return_policy=policy))
    await bench.run()
    assert bench.model.requests[1].messages[-1].content == told


@pytest.mark.requirement("DELEG-14")
async def test_a_worker_behind_a_queue_may_stand_behind_the_port(office: Build) -> None:
    bench = office(remote := Queued(), teammate())
    running = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        packet = await remote.jobs.get()
        remote.results.put_nowait(result_of(packet, "done by a worker"))
        assert (await running)[-1].kind is AgentYieldKind.FINAL
    assert bench.model.requests[1].messages[-1].content == "done by a worker"
    assert remote.closed == 1


@pytest.mark.requirement("DELEG-19", "CANCEL-2")
async def test_a_cancel_reaches_a_running_delegate(office: Build) -> None:
    bench = office(remote := Queued(), teammate())
    running = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        await remote.jobs.get()
        await bench.signal(AgentSignalKind.CANCEL)
        assert (await running)[-1].kind is AgentYieldKind.CANCEL
    assert remote.closed == 1
    evidence = await bench.ports.evidence.list_by_state("run-1")
    (report,) = [e for e in evidence if e.kind is AgentEvidenceKind.CANCELLATION]
    assert "delegate_execution" in repr(report.payload)
    assert (await bench.ports.states.get("run-1")).status == "cancelled"


@pytest.mark.requirement("DELEG-19", "LOOP-27")
async def test_closing_the_stream_closes_the_delegate(office: Build) -> None:
    bench = office(remote := Queued(), teammate())
    running = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        await remote.jobs.get()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert remote.closed == 1


@pytest.mark.requirement("HITL-17")
async def test_handing_a_task_to_a_remote_teammate_asks_unless_its_author_says_otherwise(
    office: Build,
) -> None:
    """OP-49."""
    bench = office(remote := Remote(), teammate(approval=ToolApprovalRequirement.DERIVED))
    items = await bench.run()
    assert items[-1].kind is AgentYieldKind.APPROVAL
    assert remote.packets == []
    await bench.decide("approve", items[-1].payload.id)
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    assert len(remote.packets) == 1


def failure(_packet: DelegationPacket) -> Sequence[Item]:
    return [AgentYield(AgentYieldKind.ERROR, Error("remote.down", "the clerk is ill"))]


def nothing(_packet: DelegationPacket) -> Sequence[Item]:
    return []


@pytest.mark.requirement("DELEG-17", "LOOP-26")
@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (failure, None, "clerk failed: the clerk is ill"),
        (nothing, None, "clerk ended without a result."),
        (nothing, AgentModelError("no route"), "clerk could not be run: no route"),
        (nothing, ConnectionResetError("10.0.0.1"), "ConnectionResetError"),
        (nothing, asyncio.CancelledError(), "cancelled"),
    ],
)
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_a_delegate_that_fails_is_told_as_a_failure(
    office: Build,
    answer: Callable[[DelegationPacket], Sequence[Item]],
    error: Exception,
    told: str,
    stream: str,
) -> None:
    remote = Remote(answer)
    remote.error = error
    bench = office(remote, teammate())
    shown = await getattr(bench, stream)()
    if isinstance(error, asyncio.CancelledError):
        assert "although nobody cancelled it" in repr(shown[-1])
        return
    assert shown[-1].kind in {AgentYieldKind.FINAL, "run_finished"}
    answered = bench.model.requests[1].messages[-1]
    assert told in answered.content
    assert answered.metadata["is_error"]


@pytest.mark.requirement("DELEG-9", "DELEG-17", "ERR-2")
async def test_without_a_delegate_the_model_is_told_that_nobody_can_be_reached(
    office: Build,
) -> None:
    bench = office(None, teammate())
    assert (await bench.run())[-1].kind is AgentYieldKind.FINAL
    assert "IAgentDelegate" in bench.model.requests[1].messages[-1].content


@pytest.mark.requirement("DELEG-10")
@pytest.mark.parametrize("module", [do_delegate, children])
def test_delegation_starts_no_process_thread_or_task_of_its_own(module: Any) -> None:
    tree = ast.parse(inspect.getsource(module))
    imported = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }
    forbidden = {"asyncio", "threading", "multiprocessing", "subprocess", "concurrent", "queue"}
    assert not imported & forbidden
