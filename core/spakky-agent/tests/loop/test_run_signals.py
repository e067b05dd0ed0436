"""Signals that arrive while a durable run goes on."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from spakky.agent import (
    AgentSignal,
    AgentSignalKind,
    AgentYield,
    AgentYieldKind,
    Cancel,
    Final,
    Progress,
    on_signal,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.memory.store import CommitInfo
from spakky.agent_testkit.scripted_model import call, gate, hang, say

type Build = Callable[..., Bench]


ACCEPTED = (AgentSignalKind.USER_MESSAGE, AgentSignalKind.STEERING_INSTRUCTION)


async def standing(bench: Bench) -> tuple[str | None, ...]:
    state = await bench.ports.states.get(bench.run_id)
    return (state.status.value, state.reason.value if state.reason else None)


@pytest.mark.requirement("HOOK-6", "HOOK-8")
async def test_a_user_message_joins_the_next_request_and_shows_a_line(build: Build) -> None:
    bench = build([[*call("file.read", {"path": "a"})], [*say("ok")]], accepted_signals=ACCEPTED)
    await bench.signal(AgentSignalKind.USER_MESSAGE, message="in French")
    items = await bench.run()
    assert items[0].kind is AgentYieldKind.PROGRESS
    assert bench.model.requests[0].messages[-1].content == "in French"
    assert await bench.ports.signals.list_pending("run-1") == ()


async def test_a_message_that_comes_with_the_answer_makes_the_model_answer_again(
    build: Build,
) -> None:
    waiting, go = asyncio.Event(), asyncio.Event()
    bench = build(
        [[*say("first"), gate(go, reached=waiting)], [*say("second")]], accepted_signals=ACCEPTED
    )
    running = asyncio.create_task(bench.run())
    await asyncio.wait_for(waiting.wait(), 5)
    await bench.signal(AgentSignalKind.USER_MESSAGE, message="also this")
    go.set()
    items = await running
    assert items[-1].payload.output.output_text == "second"
    assert [m.content for m in bench.model.requests[1].messages[-2:]] == ["first", "also this"]


@pytest.mark.requirement("SIG-6", "SPEC-22")
async def test_a_kind_that_is_not_accepted_is_left_and_holds_up_what_is_behind_it(
    build: Build,
) -> None:
    bench = build([[*say("ok")]], accepted_signals=(AgentSignalKind.USER_MESSAGE,))
    await bench.signal(AgentSignalKind.EXTERNAL_EVENT, "s1")
    await bench.signal(AgentSignalKind.USER_MESSAGE, "s2", message="hello")
    await bench.run()
    assert [s.id for s in await bench.ports.signals.list_pending("run-1")] == ["s1", "s2"]


async def test_a_stray_message_never_blocks_a_cancel(build: Build) -> None:
    """OP-7: control signals have a lane of their own."""
    bench = build([[*say("never")]])
    await bench.signal(AgentSignalKind.EXTERNAL_EVENT, "s1")
    await bench.signal(AgentSignalKind.CANCEL, "s2", reason="enough", requested_by="kim")
    items = await bench.run()
    assert items[-1] == AgentYield(AgentYieldKind.CANCEL, Cancel("enough", "kim"))
    assert bench.model.requests == []


@pytest.mark.requirement(
    "CANCEL-1", "CANCEL-2", "CANCEL-4", "CANCEL-5", "CANCEL-7", "CANCEL-8", "SIG-4"
)
async def test_a_cancel_stops_the_model_stream_and_goes_through_cancelling(build: Build) -> None:
    reached = asyncio.Event()
    bench = build([[*say("one"), hang(reached=reached)]])
    states: list[str] = []

    async def watch(info: CommitInfo) -> None:
        states.append(info.writes[0])

    bench.ports.store.before_commit = watch
    running = asyncio.create_task(bench.run())
    await asyncio.wait_for(reached.wait(), 5)
    await bench.signal(AgentSignalKind.CANCEL)
    items = await running
    assert items[-1].kind is AgentYieldKind.CANCEL
    assert bench.model.closed == 1
    moves = [entry.rsplit(maxsplit=1)[-1] for entry in states if entry.startswith("state")]
    assert moves[-2:] == ["cancelling/cancelling", "cancelled/cancelled"]
    assert await standing(bench) == ("cancelled", "cancellation_requested")
    evidence = await bench.ports.evidence.list_by_state("run-1")
    report = [e for e in evidence if e.kind == "cancellation"]
    assert len(report) == 1
    assert "model_stream" in str(report[0].payload)


@pytest.mark.requirement("CANCEL-2")
async def test_a_cancel_stops_a_running_tool(build: Build) -> None:
    bench = build([[*call("wait.until", {"name": "never"})]])
    cleaned_when_stored: list[int] = []

    async def watch(info: CommitInfo) -> None:
        if "cancelling" in info.name:
            cleaned_when_stored.append(bench.tools.cleaned)

    bench.ports.store.before_commit = watch
    running = asyncio.create_task(bench.run())
    await asyncio.wait_for(bench.tools.entered.wait(), 5)
    await bench.signal(AgentSignalKind.CANCEL)
    assert (await running)[-1].kind is AgentYieldKind.CANCEL
    assert (cleaned_when_stored[0], bench.tools.cleaned) == (0, 1)
    stored = await bench.ports.transcripts.load("run-1")
    assert stored[-1].tool_call_id == stored[-2].tool_calls[0].call_id


async def test_a_pause_stops_at_the_next_boundary_and_a_resume_goes_on(build: Build) -> None:
    waiting, go = asyncio.Event(), asyncio.Event()
    bench = build(
        [[gate(go, reached=waiting), *call("file.read", {"path": "a"})], [*say("ok")]],
        accepted_signals=ACCEPTED,
    )
    running = asyncio.create_task(bench.run())
    await asyncio.wait_for(waiting.wait(), 5)
    await bench.signal(AgentSignalKind.PAUSE)
    go.set()
    items = await running
    assert items[-1].payload.metadata["reason"] == "user_interrupted"
    assert bench.tools.ledger == []
    assert await standing(bench) == ("interrupted", "user_interrupted")
    await bench.signal(AgentSignalKind.RESUME, "signal-2")
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    assert bench.tools.ledger == ["read a"]


class Hooked:
    ledger: list[str]

    def __init__(self) -> None:
        self.ledger = []

    @on_signal(AgentSignalKind.STEERING_INSTRUCTION)
    async def on_steering(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        self.ledger.append(signal.id)
        yield AgentYield(
            kind=AgentYieldKind.PROGRESS,
            payload=Progress(
                f"steering: {signal.payload.get('instruction')}", current_step="steering"
            ),
        )

    @on_signal(AgentSignalKind.USER_MESSAGE)
    async def on_message(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        if signal.payload.get("message") == "break":
            msg = "hook fault"
            raise LookupError(msg)
        if signal.payload.get("message") == "end":
            yield AgentYield(kind=AgentYieldKind.FINAL, payload=Final("mine", {}))
        yield AgentYield(kind=AgentYieldKind.PROGRESS, payload=Progress("heard"))


@pytest.mark.requirement("HOOK-3", "HOOK-4", "DEMO-3")
async def test_a_hook_is_called_once_and_its_items_are_shown(build: Build) -> None:
    bench = build([[*say("ok")]], base=Hooked, accepted_signals=ACCEPTED)
    await bench.signal(AgentSignalKind.STEERING_INSTRUCTION, instruction="left")
    items = await bench.run()
    assert items[0].payload == Progress("steering: left", current_step="steering")
    assert bench.agent.ledger == ["signal-1"]
    assert bench.model.requests[0].messages[-1].content == "left"


async def test_hook_items_reach_the_events_as_custom_events(build: Build) -> None:
    bench = build([[*say("ok")]], base=Hooked, accepted_signals=ACCEPTED)
    await bench.signal(AgentSignalKind.USER_MESSAGE, message="hi")
    custom = [e for e in await bench.run_events() if e.kind == "custom"]
    assert [(e.name, e.value["message"]) for e in custom] == [("progress", "heard")]


@pytest.mark.parametrize("message", ["break", "end"])
async def test_a_hook_that_raises_or_ends_the_stream_fails_the_run_typed(
    build: Build, message: str
) -> None:
    bench = build([[*say("ok")]], base=Hooked, accepted_signals=ACCEPTED)
    await bench.signal(AgentSignalKind.USER_MESSAGE, message=message)
    items = await bench.run()
    assert items[-1].payload.code == "agent.hook.failed"
    assert await standing(bench) == ("failed", "execution_failed")


@pytest.mark.requirement("SIG-5")
async def test_no_token_waits_for_the_inbox(build: Build) -> None:
    bench = build([[*say("x" * 1000, chunk=1)]], accepted_signals=ACCEPTED)
    await bench.run()
    # One look before the model call and one after it; none for each token.
    assert bench.ports.store.reads < 10
