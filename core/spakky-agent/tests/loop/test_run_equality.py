"""One story told twice: what ``run()`` shows and what ``run_events()`` shows, item by item, and what both leave behind."""

import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, get_type_hints

import pytest

from spakky.agent import (
    AgentEvent,
    AgentEvidenceKind,
    AgentRunner,
    AgentSignalKind,
    AgentYield,
    AgentYieldKind,
    CustomEvent,
    MessageDeltaEvent,
    RejectionPolicy,
    RunAgentInput,
    RunFinishedEvent,
    RunPausedEvent,
    ToolCallResultEvent,
)
from spakky.agent_testkit.desk import Bench, make_bench
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import TurnSource, call, fail, raises, say, think

type Told = list[tuple[str, Any]]

PAY = [*call("bank.pay", {"amount": 5})]
SCRIPTS: dict[str, list[TurnSource]] = {
    "text": [[*think("hm"), *say("hello world", chunk=3)]],
    "tools": [
        [*say("two"), *call("file.read", {"path": "a"}), *call("diary.add", {"text": "x"})],
        [*call("fault.known"), *call("no.such")],
        [*say("ok")],
    ],
    "approval": [[*call("file.read", {"path": "a"}), *PAY], [*say("paid")]],
    "two approvals": [[*PAY, *call("bank.pay", {"amount": 6})], [*say("paid")]],
    "model error": [[*say("half"), fail("overloaded", "try later", retryable=True)]],
    "broken adapter": [[raises(LookupError("x"))]],
    "broken tool": [[*call("fault.unknown")]],
}


def told_by_items(items: Sequence[AgentYield[Any]]) -> Told:
    told: Told = []
    for item in items:
        payload = item.payload
        match item.kind:
            case AgentYieldKind.TOKEN:
                told.append(("text", payload.text))
            case AgentYieldKind.TOOL:
                told.append(("tool", (payload.call_id, payload.name, payload.result)))
            case AgentYieldKind.APPROVAL:
                told.append(("pause", (payload.id, payload.prompt)))
            case AgentYieldKind.ERROR:
                told.append(("error", (payload.code, payload.message, payload.retryable)))
            case AgentYieldKind.CANCEL:
                told.append(("cancel", (payload.reason, payload.requested_by)))
            case AgentYieldKind.FINAL:
                told.append(("final", payload.output.output_text))
            case kind:
                told.append((kind.value, None))
    return told


def told_by_events(events: Sequence[AgentEvent]) -> Told:
    told: Told = []
    for event in events:
        match event:
            case MessageDeltaEvent():
                told.append(("text", event.delta))
            case ToolCallResultEvent():
                told.append(("tool", (event.call_id, event.tool_name, event.result)))
            case RunPausedEvent():
                requests: Any = event.metadata.get("approvals", ())
                told.extend(("pause", (r["id"], r["prompt"])) for r in requests)
            case RunFinishedEvent(error=None):
                result: Any = event.result
                told.append(("final", result["output_text"]))
            case RunFinishedEvent(status="cancelled"):
                error: Any = event.error
                told.append(("cancel", (error["message"], error["requested_by"])))
            case RunFinishedEvent():
                error = event.error
                told.append(("error", (error["code"], error["message"], error["retryable"])))
            case CustomEvent():
                told.append((event.name, None))
            case _:
                continue
    return told


def effects(bench: Bench) -> dict[str, Any]:
    tables = bench.ports.store.tables
    return {
        "ledger": bench.tools.ledger,
        "states": [row.text for row in tables.states.values()],
        "evidence": [row.text for row in tables.evidence.values()],
        "transcripts": dict(tables.transcripts),
        "turns": dict(tables.turns),
        "requests": bench.model.requests,
    }


async def tell(
    stream: str, script: Sequence[TurnSource], then: Callable[[Bench], Any] | None = None
) -> tuple[Told, Bench]:
    bench = make_bench(MemoryPorts(), script, on_rejection=RejectionPolicy.INFORM_MODEL)
    shown = await getattr(bench, stream)("go", conversation_id="talk")
    if then is not None:
        await then(bench)
        shown = [*shown, *await getattr(bench, stream)("", resume=True)]
    by_stream: dict[str, Callable[[Any], Told]] = {
        "run": told_by_items,
        "run_events": told_by_events,
    }
    return by_stream[stream](shown), bench


async def require_equal(
    script: Sequence[TurnSource], then: Callable[[Bench], Any] | None = None
) -> Told:
    items, one = await tell("run", script, then)
    events, other = await tell("run_events", script, then)
    assert items == events
    assert effects(one) == effects(other)
    return items


@pytest.mark.requirement("LOOP-4", "LOOP-9", "YIELD-3")
@pytest.mark.parametrize("name", list(SCRIPTS))
async def test_both_streams_tell_the_same_and_leave_the_same(name: str) -> None:
    assert await require_equal(SCRIPTS[name])


@pytest.mark.requirement("LOOP-4", "LOOP-9")
@pytest.mark.parametrize("decision", ["approve", "reject", "defer", "modify"])
async def test_both_streams_go_on_alike_after_a_decision(decision: str) -> None:
    async def decide(bench: Bench) -> None:
        more: dict[str, Any] = {"modified_payload": {"amount": 3}} if decision == "modify" else {}
        await bench.decide(decision, "run-1/call/1.1/approval", **more)

    told = await require_equal([PAY, [*say("went on")]], decide)
    assert told[-1][0] == ("pause" if decision == "defer" else "final")


@pytest.mark.requirement("LOOP-4", "CANCEL-8", "STATE-5")
async def test_both_streams_end_alike_by_a_cancel() -> None:
    async def cancel(bench: Bench) -> None:
        await bench.signal(AgentSignalKind.CANCEL, reason="enough", requested_by="kim")

    told = await require_equal([PAY], cancel)
    assert told[-1] == ("cancel", ("enough", "kim"))


@pytest.mark.requirement("LOOP-1", "LOOP-5", "LOOP-6")
def test_the_runner_promises_two_async_generators() -> None:
    for name, item in (("run", AgentYield[object]), ("run_events", AgentEvent)):
        method = getattr(AgentRunner, name)
        assert inspect.isasyncgenfunction(method)
        assert get_type_hints(method)["return"] == AsyncGenerator[item, None]  # type: ignore[valid-type]  # compared, not used


@pytest.mark.requirement("LOOP-13", "LOOP-1", "SPEC-12")
async def test_a_caller_gives_an_input_to_execute_and_walks_the_stream() -> None:
    bench = make_bench(MemoryPorts(), SCRIPTS["tools"])
    walked = [item async for item in bench.agent.execute(RunAgentInput("run-1", "go"))]
    other = make_bench(MemoryPorts(), SCRIPTS["tools"])
    assert walked == await other.run("go")
    assert effects(bench) == effects(other)


@pytest.mark.requirement("EVENT-3", "EVENT-4", "EVENT-11")
async def test_every_event_names_its_run_and_a_result_the_message_it_belongs_to() -> None:
    bench = make_bench(MemoryPorts(), SCRIPTS["tools"])
    events = await bench.run_events("go", conversation_id="talk", parent_run_id="above")
    by = {
        (a.agent_id, a.run_id, a.conversation_id, a.parent_run_id)
        for a in (event.attribution for event in events)
    }
    assert by == {("desk", "run-1", "talk", "above")}
    results = [e.message_id for e in events if isinstance(e, ToolCallResultEvent)]
    sent = bench.model.requests[-1].messages
    assert sorted(results) == sorted(m.message_id or "" for m in sent if m.tool_call_id)


@pytest.mark.requirement("TOOL-2", "EVID-4", "LOOP-14")
async def test_the_summary_counts_what_is_on_record() -> None:
    bench = make_bench(MemoryPorts(), SCRIPTS["tools"])
    items = await bench.run("go")
    summary = items[-1].payload.output
    assert summary.tool_calls == ("file.read", "diary.add", "fault.known")
    evidence = await bench.ports.evidence.list_by_state("run-1")
    # The last commit is written after the summary was made, and holds no evidence.
    assert summary.evidence_count == len(evidence)
    assert {e.kind for e in evidence} == {AgentEvidenceKind.ACTION_BOUNDARY}
