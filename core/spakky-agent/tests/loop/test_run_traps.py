"""Inputs from the field that break such loops, each as a whole run; the names in the docstrings are those of the cases."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spakky.agent import (
    AgentCompactionPolicy,
    AgentRunEndedError,
    AgentRunInProgressError,
    AgentSignalKind,
    AgentYieldKind,
    Idempotency,
    KeepRecentMessagesCompactionStrategy,
    ModelMessage,
    ModelMessageRole,
    RunPausedEvent,
    ToolApprovalRequirement,
    TrimToolResultsCompactionStrategy,
    agent_tool,
)
from spakky.agent_testkit.desk import Bench, DeskTools, drain
from spakky.agent_testkit.scripted_model import call, fail, say

type Build = Callable[..., Bench]

PAY = [*call("bank.pay", {"amount": 5})]
APPROVAL = "run-1/call/1.1/approval"


class Files(DeskTools):
    """Writes files with approval, and can break by a timeout of its own."""

    @agent_tool(
        schema_name="file.write",
        idempotency=Idempotency.NON_IDEMPOTENT,
        approval=ToolApprovalRequirement.REQUIRED,
    )
    async def write(self, path: str) -> str:
        """Write a file; needs approval."""
        await self._did(f"write {path}")
        return "written"

    @agent_tool(schema_name="net.fetch")
    async def fetch(self) -> str:
        """Fetch a page that does not come."""
        await self._did("fetch")
        message = "the page took too long"
        raise TimeoutError(message)


def well_formed(messages: Sequence[ModelMessage]) -> bool:
    open_calls: list[str | None] = []
    for message in messages:
        if message.role is ModelMessageRole.TOOL:
            if message.tool_call_id not in open_calls:
                return False
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            return False
        open_calls.extend(c.call_id for c in message.tool_calls)
    return not open_calls


# ---------------------------------------------------------------- approval, resume, history


@pytest.mark.requirement("HITL-13", "SIG-9")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_two_who_approve_and_resume_at_once_pay_once(build: Build, stream: str) -> None:
    """OP-C02: the loser ends with a typed answer, or shows the same ending."""
    for attempt in range(20):
        bench = build([PAY, [*say("paid")]])
        bench.run_id = f"run-{attempt}"
        await bench.run()
        barrier = asyncio.Barrier(2)

        async def approve(
            number: int, bench: Bench = bench, barrier: asyncio.Barrier = barrier
        ) -> str:
            request_id = f"{bench.run_id}/call/1.1/approval"
            await bench.decide("approve", request_id, f"{bench.run_id}/decision-{number}")
            await barrier.wait()
            try:
                shown = await drain(getattr(bench.runner(), stream)(bench.input("", resume=True)))
            except AgentRunInProgressError:
                return "refused"
            return str(shown[-1].kind)

        async with asyncio.timeout(5):
            told = await asyncio.gather(approve(1), approve(2))
        assert bench.tools.ledger == ["pay 5"]
        assert set(told) <= {"refused", "final", "run_finished"}
        assert len(bench.model.requests) == 2
        stored = await bench.ports.transcripts.load(bench.run_id)
        assert sum(m.role is ModelMessageRole.TOOL for m in stored) == 1


@pytest.mark.requirement("CANCEL-9", "HITL-11", "STATE-6")
@pytest.mark.parametrize("late", [False, True])
async def test_a_cancel_in_front_of_an_approval_kills_it(build: Build, late: bool) -> None:
    """OP-C03: also with the approval appended once the run is cancelled."""
    bench = build([PAY])
    await bench.run()
    await bench.signal(AgentSignalKind.CANCEL)
    if not late:
        await bench.decide("approve", APPROVAL)
    assert (await bench.resume())[-1].kind is AgentYieldKind.CANCEL
    if late:
        await bench.decide("approve", APPROVAL)
        assert (await bench.resume())[-1].kind is AgentYieldKind.CANCEL
    with pytest.raises(AgentRunEndedError):
        await bench.run("again")
    assert bench.tools.ledger == []
    assert (await bench.ports.states.get("run-1")).status == "cancelled"


@pytest.mark.requirement("HITL-14")
async def test_what_a_person_changed_is_what_ran_and_what_the_model_is_told(build: Build) -> None:
    """OP-C04: evidence holds both digests, and no request says that the proposed call ran."""
    script = [
        [*call("file.write", {"path": "secret-a"})],
        [*call("file.read", {"path": "c"})],
        [*say("ok")],
    ]
    bench = build(script, base=Files)
    await bench.run()
    await bench.decide("modify", APPROVAL, modified_payload={"path": "b"})
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.FINAL
    assert bench.tools.ledger == ["write b", "read c"]
    for request in bench.model.requests[1:]:
        assert well_formed(request.messages)
        assert "secret-a" not in str(request.messages)
        asked = next(m for m in request.messages if m.tool_calls)
        assert asked.tool_calls[0].arguments == {"path": "b"}
    tool = next(i for i in items if i.kind is AgentYieldKind.TOOL)
    assert tool.payload.arguments == {"path": "b"}
    evidence = await bench.ports.evidence.list_by_state("run-1")
    decided = next(e.payload for e in evidence if "decided_digest" in e.payload)
    assert decided["proposed_digest"] != decided["decided_digest"]


@pytest.mark.requirement("HITL-14")
@pytest.mark.parametrize("payload", [{"path": 1}, {"nope": "b"}])
async def test_a_change_that_does_not_bind_runs_nothing(
    build: Build, payload: dict[str, Any]
) -> None:
    """OP-C04, second and third run."""
    bench = build([[*call("file.write", {"path": "a"})], [*say("ok")]], base=Files)
    await bench.run()
    await bench.decide("modify", APPROVAL, modified_payload=payload)
    items = await bench.resume()
    assert "file.write" in items[-1].payload.metadata["refused"]
    assert bench.tools.ledger == []


@pytest.mark.requirement("HITL-18", "STATE-7")
async def test_a_decision_in_the_tick_of_the_pause_is_not_lost(build: Build) -> None:
    """OP-C07 (2): the state is stored before the pause is shown."""
    bench = build([PAY, [*say("paid")]])
    events = bench.runner().run_events(bench.input())
    async with asyncio.timeout(5):
        async for event in events:
            if isinstance(event, RunPausedEvent):
                assert event.approval_id is not None
                await bench.decide("approve", event.approval_id)
                break
        await events.aclose()
        await bench.resume()
    assert bench.tools.ledger == ["pay 5"]


@pytest.mark.requirement("HITL-12", "HITL-13")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_a_second_pause_in_a_resumed_run_is_told_like_the_first(
    build: Build, stream: str
) -> None:
    """OP-C07 (4)."""
    bench = build([PAY, [*call("bank.pay", {"amount": 6})], [*say("paid")]])
    first = await getattr(bench, stream)()
    await bench.decide("approve", APPROVAL)
    second = await getattr(bench, stream)("", resume=True)
    assert type(second[-1]) is type(first[-1])
    assert second[-1].kind == first[-1].kind
    assert APPROVAL not in repr(second[-1])
    await bench.decide("approve", "run-1/call/2.1/approval", "decision-2")
    await getattr(bench, stream)("", resume=True)
    assert bench.tools.ledger == ["pay 5", "pay 6"]
    assert len(bench.model.requests) == 3


@pytest.mark.requirement("COMPACT-13", "COMPACT-9")
@pytest.mark.parametrize("most", range(1, 9))
async def test_compaction_never_parts_a_call_from_its_result(build: Build, most: int) -> None:
    """OP-C08, in a run: every number of messages to keep, also behind another strategy."""
    read_two = [*call("file.read", {"path": "b"}), *call("file.read", {"path": "c"})]
    for chain in (
        (KeepRecentMessagesCompactionStrategy(most),),
        (TrimToolResultsCompactionStrategy(3), KeepRecentMessagesCompactionStrategy(most)),
    ):
        bench = build(
            [[*call("file.read", {"path": "a"})], read_two, [*say("ok")]],
            durable=False,
            compaction=AgentCompactionPolicy(chain, 1),
        )
        bench.agent.f = None
        await bench.run("a long instruction, longer than the threshold")
        for request in bench.model.requests:
            assert well_formed(request.messages)
            assert request.messages[0].content == "Be exact."
            assert 1 <= len(request.messages) - 1 <= most


# ---------------------------------------------------------------- cancellation


@pytest.mark.requirement("LOOP-27")
@pytest.mark.parametrize("stream", ["run", "run_events"])
@pytest.mark.parametrize(
    "script",
    [
        [[*say("text"), fail("x", "broken")]],
        [[*call("fault.unknown")]],
        [[*call("file.read", {"path": "a"}), *call("diary.add", {"text": "x"})], [*say("ok")]],
    ],
)
async def test_closing_after_any_number_of_items_is_quiet_whatever_went_wrong(
    build: Build, stream: str, script: Any
) -> None:
    """OP-D02, where the run breaks, and where it runs many tools."""
    problems: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: problems.append(context))
    before = asyncio.all_tasks()
    for count in range(16):
        bench = build(script)
        bench.run_id = f"{stream}-{count}"
        generator = getattr(bench.runner(), stream)(bench.input())
        for _ in range(count):
            if await anext(generator, None) is None:
                break
        await generator.aclose()
        assert bench.model.closed == bench.model.opened
        assert asyncio.all_tasks() == before
        assert not bench.ports.store.is_live(bench.run_id)
    assert problems == []


@pytest.mark.requirement("LOOP-27")
async def test_a_task_cancelled_while_the_store_waits_ends_as_cancelled(build: Build) -> None:
    """OP-D03 (3): no further model request, and nobody takes the run for a running one."""
    bench = build([[*call("file.read", {"path": "a"})], [*say("never")]])
    reached = asyncio.Event()

    async def stall(_name: str) -> None:
        if bench.tools.ledger:
            reached.set()
            await asyncio.Event().wait()

    bench.ports.store.before_read = stall
    task = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        await asyncio.wait_for(reached.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert task.cancelled()
    bench.ports.store.before_read = None
    assert len(bench.model.requests) == 1
    assert (await bench.ports.states.get("run-1")).status == "interrupted"
    assert not bench.ports.store.is_live("run-1")
    stored = await bench.ports.transcripts.load("run-1")
    assert "cancelled" not in str([m.content for m in stored])


@pytest.mark.requirement("LOOP-26")
async def test_a_timeout_of_the_tools_own_is_an_ordinary_fault(build: Build) -> None:
    """OP-D03, last part."""
    bench = build([[*call("net.fetch")]], base=Files)
    items = await bench.run()
    assert items[-1].payload.code == "agent.tool.failed"
    assert "TimeoutError: the page took too long" in items[-1].payload.message
    state = await bench.ports.states.get("run-1")
    assert (state.status, state.reason) == ("failed", "execution_failed")
