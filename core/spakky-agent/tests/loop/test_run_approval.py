"""A durable run at a risk boundary: it asks, waits, and goes on with what a person decided."""

from collections.abc import Callable
from typing import Any

import pytest

from spakky.agent import (
    AgentEvidenceKind,
    AgentRunEndedError,
    AgentRunUnfinishedError,
    AgentSignalKind,
    AgentYieldKind,
    ModelMessageRole,
    RejectionPolicy,
    RunFinishedEvent,
    RunPausedEvent,
    ToolCallStartEvent,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.memory.store import CommitInfo
from spakky.agent_testkit.scripted_model import call, say

type Build = Callable[..., Bench]


PAY = [*call("bank.pay", {"amount": 5})]
APPROVAL = "run-1/call/1.1/approval"


async def standing(bench: Bench) -> tuple[str | None, ...]:
    state = await bench.ports.states.get(bench.run_id)
    return (state.status, state.transition, state.reason)


@pytest.mark.requirement("HITL-4", "HITL-12", "EVENT-8", "EVENT-9", "SPEC-19", "LOOP-8")
async def test_a_risky_call_pauses_the_run_with_its_request(build: Build) -> None:
    bench = build([PAY])
    items = await bench.run()
    assert items[-1].kind is AgentYieldKind.APPROVAL
    assert items[-1].payload.id == APPROVAL
    assert await standing(bench) == ("interrupted", "waiting_approval", "approval_required")
    bench = build([PAY])
    bench.run_id = "run-2"
    paused = (await bench.run_events())[-1]
    assert isinstance(paused, RunPausedEvent)
    assert (paused.approval_id, paused.reason.value) == (
        "run-2/call/1.1/approval",
        "approval_required",
    )
    started = next(e for e in bench.events if isinstance(e, ToolCallStartEvent))
    assert paused.tool_call_id == started.call_id
    assert paused.allowed_decisions == ("approve", "reject", "modify", "defer", "cancel")
    assert not any(isinstance(event, RunFinishedEvent) for event in bench.events)
    assert bench.tools.ledger == []


@pytest.mark.requirement("HITL-1", "HITL-3")
async def test_a_harmless_call_asks_nobody(build: Build) -> None:
    bench = build([[*call("file.read", {"path": "a"})], [*say("ok")]])
    assert AgentYieldKind.APPROVAL not in {item.kind for item in await bench.run()}
    evidence = await bench.ports.evidence.list_by_state("run-1")
    assert not any(e.payload.get("action_kind") == "approval_wait" for e in evidence)


@pytest.mark.requirement("HITL-7", "HITL-13", "RECOV-10", "LOOP-22", "LOOP-9")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_an_approved_call_runs_once_and_the_model_is_not_asked_again_for_it(
    build: Build, stream: str
) -> None:
    bench = build([PAY, [*say("paid")]])
    await bench.run()
    await bench.decide("approve", APPROVAL)
    await getattr(bench, stream)("", resume=True)
    assert bench.tools.ledger == ["pay 5"]
    assert bench.tools.keys == ["run-1/call/1.1"]
    assert len(bench.model.requests) == 2
    assert await standing(bench) == ("completed", "completed", None)


@pytest.mark.requirement("HITL-18", "SIG-8")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_a_decision_given_at_the_item_is_seen_by_the_same_stream(
    build: Build, stream: str
) -> None:
    bench = build([PAY, [*say("paid")]])
    source = getattr(bench.runner(), stream)(bench.input())

    async def decide_once_asked(info: CommitInfo) -> None:
        if "waiting_approval" in info.name and stream == "run_events":
            bench.ports.store.after_commit = None
            await bench.decide("approve", APPROVAL)

    bench.ports.store.after_commit = decide_once_asked
    last: Any = None
    async for item in source:
        last = item
        if getattr(item, "kind", None) is AgentYieldKind.APPROVAL:
            await bench.decide("approve", item.payload.id)
    assert bench.tools.ledger == ["pay 5"]
    assert last.kind in {AgentYieldKind.FINAL, "run_finished"}


@pytest.mark.requirement("HITL-9")
async def test_a_rejection_fails_the_run_and_the_tool_never_ran(build: Build) -> None:
    bench = build([PAY])
    await bench.run()
    await bench.decide("reject", APPROVAL)
    items = await bench.resume()
    assert items[-1].payload.code == "agent.approval.rejected"
    assert await standing(bench) == ("failed", "failed", "approval_rejected")
    assert bench.tools.ledger == []
    stored = await bench.ports.transcripts.load("run-1")
    assert [m.role for m in stored[-2:]] == [ModelMessageRole.ASSISTANT, ModelMessageRole.TOOL]


async def test_a_rejection_can_inform_the_model_instead(build: Build) -> None:
    bench = build([PAY, [*say("then not")]], on_rejection=RejectionPolicy.INFORM_MODEL)
    await bench.run()
    await bench.decide("reject", APPROVAL, comment="too much")
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.FINAL
    assert "too much" in bench.model.requests[1].messages[-1].content
    assert bench.tools.ledger == []
    assert items[-1].payload.output.tool_calls == ()


@pytest.mark.requirement("HITL-14", "HITL-7")
async def test_modified_arguments_are_what_runs_and_both_are_on_record(build: Build) -> None:
    bench = build([PAY, [*say("paid less")]])
    await bench.run()
    await bench.decide("modify", APPROVAL, modified_payload={"amount": 3})
    await bench.resume()
    assert bench.tools.ledger == ["pay 3"]
    approvals = [
        e
        for e in await bench.ports.evidence.list_by_state("run-1")
        if e.kind is AgentEvidenceKind.APPROVAL
    ]
    assert approvals[0].payload["proposed_digest"] != approvals[0].payload["decided_digest"]


@pytest.mark.requirement("HITL-14")
@pytest.mark.parametrize("payload", [{"amount": "lots"}, {"nope": 1}])
async def test_modified_arguments_that_do_not_bind_leave_the_request_open(
    build: Build, payload: dict[str, Any]
) -> None:
    bench = build([PAY, [*say("paid")]])
    await bench.run()
    await bench.decide("modify", APPROVAL, modified_payload=payload)
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.APPROVAL
    assert items[-1].payload.metadata["refused"]
    assert bench.tools.ledger == []
    await bench.decide("approve", APPROVAL, "decision-2")
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    assert bench.tools.ledger == ["pay 5"]


@pytest.mark.requirement("HITL-8")
async def test_a_deferred_request_stays_open(build: Build) -> None:
    bench = build([PAY, [*say("paid")]])
    await bench.run()
    await bench.decide("defer", APPROVAL)
    items = await bench.resume()
    assert items[-1].payload.id == APPROVAL
    assert await standing(bench) == ("interrupted", "waiting_approval", "approval_deferred")
    await bench.decide("approve", APPROVAL, "decision-2")
    await bench.resume()
    assert bench.tools.ledger == ["pay 5"]


@pytest.mark.requirement("HITL-10", "CANCEL-9")
async def test_a_cancel_decision_cancels_the_run(build: Build) -> None:
    bench = build([PAY])
    await bench.run()
    await bench.decide("cancel", APPROVAL)
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.CANCEL
    assert await standing(bench) == ("cancelled", "cancelled", "cancellation_requested")
    assert bench.tools.ledger == []


@pytest.mark.requirement("HITL-15")
async def test_two_calls_of_one_tool_need_two_decisions(build: Build) -> None:
    two = [*call("bank.pay", {"amount": 1}), *call("bank.pay", {"amount": 2})]
    bench = build([two, [*say("both")]])
    items = await bench.run()
    first, second = [i.payload.id for i in items if i.kind is AgentYieldKind.APPROVAL]
    assert first != second
    await bench.decide("approve", second)
    await bench.resume()
    assert bench.tools.ledger == []
    await bench.decide("approve", first, "decision-2")
    await bench.resume()
    assert bench.tools.ledger == ["pay 1", "pay 2"]


@pytest.mark.requirement("HITL-13")
async def test_an_ungated_call_beside_a_gated_one_runs_at_once_and_only_once(build: Build) -> None:
    """OP-C06, in both orders."""
    for script in (
        [*call("file.read", {"path": "a"}), *PAY],
        [*PAY, *call("file.read", {"path": "a"})],
    ):
        bench = build([script, [*say("ok")]])
        bench.run_id = f"run-{id(script)}"
        items = await bench.run()
        assert bench.tools.ledger == ["read a"]
        await bench.decide("approve", items[-1].payload.id, f"decision-{bench.run_id}")
        await bench.resume()
        assert bench.tools.ledger == ["read a", "pay 5"]
        asked, *answers = bench.model.requests[1].messages[-3:]
        assert [a.tool_call_id for a in answers] == [c.call_id for c in asked.tool_calls]


@pytest.mark.requirement("RECOV-6", "RECOV-11")
async def test_a_resume_without_a_decision_waits_on_with_the_same_request(build: Build) -> None:
    bench = build([PAY])
    first = await bench.run()
    again = await bench.resume()
    assert [i.payload.id for i in again] == [first[-1].payload.id]
    assert len(bench.model.requests) == 1
    assert await standing(bench) == ("interrupted", "interrupted", "recovery_requires_hitl")


async def test_a_late_or_doubled_decision_has_no_effect(build: Build) -> None:
    """OP-C02 and OP-C03 at the level of the loop."""
    bench = build([PAY, [*say("paid")]])
    await bench.run()
    await bench.decide("approve", APPROVAL)
    await bench.decide("approve", APPROVAL, "decision-2")
    await bench.resume()
    assert bench.tools.ledger == ["pay 5"]


async def test_an_approval_behind_a_cancel_is_dead(build: Build) -> None:
    """OP-C03."""
    bench = build([PAY])
    await bench.run()
    await bench.signal(AgentSignalKind.CANCEL)
    await bench.decide("approve", APPROVAL)
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.CANCEL
    await bench.decide("approve", APPROVAL, "decision-2")
    assert (await bench.resume())[-1].kind is AgentYieldKind.CANCEL
    assert bench.tools.ledger == []


@pytest.mark.requirement("STATE-6")
async def test_an_ended_run_is_not_opened_again_and_shows_its_ending_when_resumed(
    build: Build,
) -> None:
    bench = build([[*say("done")]])
    first = await bench.run()
    before = await bench.ports.states.get("run-1")
    with pytest.raises(AgentRunEndedError, match="run-1"):
        await bench.run("another")
    assert (await bench.resume())[-1] == first[-1]
    assert await bench.ports.states.get("run-1") == before
    assert len(bench.model.requests) == 1


async def test_an_unfinished_run_is_not_started_over(build: Build) -> None:
    bench = build([PAY])
    await bench.run()
    with pytest.raises(AgentRunUnfinishedError, match="resume"):
        await bench.run("another")
