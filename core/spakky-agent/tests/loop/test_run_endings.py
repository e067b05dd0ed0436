"""Each way in which a run stops: the state that it leaves, and whether it can go on from there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from spakky.agent import (
    AgentAuthRequiredError,
    AgentEvidenceKind,
    AgentResumeAction,
    AgentRunEndedError,
    AgentSignalKind,
    AgentYieldKind,
    ModelErrorPolicy,
    plan_agent_resume,
)
from spakky.agent.loop import do_tools, stopping
from spakky.agent_testkit.desk import Bench, DeskTools
from spakky.agent_testkit.scripted_model import call, fail, hang, raises, say

type Build = Callable[..., Bench]
type Play = Callable[[Build], Awaitable[Bench]]

PAY = [*call("bank.pay", {"amount": 5})]


async def complete(build: Build) -> Bench:
    bench = build([[*say("ok")]])
    await bench.run()
    return bench


async def ask(build: Build) -> Bench:
    bench = build([PAY])
    await bench.run()
    return bench


async def defer(build: Build) -> Bench:
    bench = await ask(build)
    await bench.decide("defer", "run-1/call/1.1/approval")
    await bench.resume()
    return bench


async def reject(build: Build) -> Bench:
    bench = await ask(build)
    await bench.decide("reject", "run-1/call/1.1/approval")
    await bench.resume()
    return bench


async def wait_on(build: Build) -> Bench:
    bench = await ask(build)
    await bench.resume()
    return bench


async def sign_in(build: Build) -> Bench:
    bench = build([[raises(AgentAuthRequiredError("vault", "sign in"))]])
    await bench.run()
    return bench


async def break_model(build: Build) -> Bench:
    bench = build([[fail("x", "broken")]])
    await bench.run()
    return bench


async def lose_model(build: Build) -> Bench:
    bench = build([[fail("x", "broken")]], on_model_error=ModelErrorPolicy.INTERRUPT)
    await bench.run()
    return bench


async def take_too_long(build: Build) -> Bench:
    bench = build([[hang()]], timeout_seconds=0.01)
    await bench.run()
    return bench


async def pause(build: Build) -> Bench:
    bench = build([[*say("ok")]])
    await bench.signal(AgentSignalKind.PAUSE)
    await bench.run()
    return bench


async def cancel(build: Build) -> Bench:
    bench = build([[*say("ok")]])
    await bench.signal(AgentSignalKind.CANCEL)
    await bench.run()
    return bench


ENDINGS: list[tuple[Play, str, str, str | None]] = [
    (complete, "completed", "completed", None),
    (ask, "interrupted", "waiting_approval", "approval_required"),
    (defer, "interrupted", "waiting_approval", "approval_deferred"),
    (reject, "failed", "failed", "approval_rejected"),
    (wait_on, "interrupted", "interrupted", "recovery_requires_hitl"),
    (sign_in, "interrupted", "interrupted", "auth_required"),
    (break_model, "failed", "failed", "execution_failed"),
    (lose_model, "interrupted", "interrupted", "execution_failed"),
    (take_too_long, "failed", "timed_out", "timeout"),
    (pause, "interrupted", "interrupted", "user_interrupted"),
    (cancel, "cancelled", "cancelled", "cancellation_requested"),
]


@pytest.mark.requirement("STATE-2", "STATE-3", "STATE-4", "EVENT-10")
@pytest.mark.parametrize(("play", "status", "transition", "reason"), ENDINGS)
async def test_each_way_to_stop_leaves_a_state_of_its_own(
    build: Build, play: Play, status: str, transition: str, reason: str | None
) -> None:
    bench = await play(build)
    state = await bench.ports.states.get("run-1")
    assert (state.status, state.transition, state.reason) == (status, transition, reason)
    assert not bench.ports.store.is_live("run-1")


@pytest.mark.requirement("STATE-5", "STATE-6")
@pytest.mark.parametrize("play", [complete, reject, break_model, take_too_long, cancel])
async def test_what_has_ended_is_never_opened_again(build: Build, play: Play) -> None:
    bench = await play(build)
    before = await bench.ports.states.get("run-1")
    plan = plan_agent_resume(before, await bench.ports.evidence.list_by_state("run-1"))
    completed = before.status == "completed"
    skip, refuse = AgentResumeAction.SKIP_COMPLETED, AgentResumeAction.NOT_RESUMABLE
    assert plan.action is (skip if completed else refuse)
    with pytest.raises(AgentRunEndedError, match="run-1"):
        await bench.run("again")
    asked = len(bench.model.requests)
    await bench.resume()
    assert len(bench.model.requests) == asked
    assert await bench.ports.states.get("run-1") == before


@pytest.mark.requirement("STATE-5", "RECOV-10")
@pytest.mark.parametrize("play", [sign_in, lose_model, pause])
async def test_what_was_interrupted_goes_on(build: Build, play: Play) -> None:
    bench = await play(build)
    bench.model.extend([*say("went on")])
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.FINAL
    assert (await bench.ports.states.get("run-1")).status == "completed"


class Deaf(DeskTools):
    """Has a tool that takes no notice of its cancellation."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[Any] = []

    async def _did(self, line: str) -> None:
        self.tasks.append(asyncio.current_task())
        self.entered.set()
        released = self.gates.setdefault("release", asyncio.Event())
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        await super()._did(line)


@pytest.mark.requirement("CANCEL-2", "CANCEL-3", "CANCEL-6", "CANCEL-7", "STATE-4")
async def test_a_tool_that_cannot_be_stopped_fails_the_cancellation_and_holds_nothing_up(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "CLEANUP_SECONDS", 0.01)
    monkeypatch.setattr(do_tools, "CLEANUP_SECONDS", 0.01)
    both = [*call("file.read", {"path": "a"}), *call("wait.until", {"name": "x"})]
    bench = build([both], base=Deaf)
    running = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        await asyncio.wait_for(bench.tools.entered.wait(), 5)
        await bench.signal(AgentSignalKind.CANCEL)
        items = await running
    assert items[-1].payload.code == "agent.cancellation.cleanup_failed"
    assert "file.read" in items[-1].payload.message or "call/1.1" in items[-1].payload.message
    state = await bench.ports.states.get("run-1")
    assert (state.status, state.reason) == ("failed", "cancellation_cleanup_failed")
    evidence = await bench.ports.evidence.list_by_state("run-1")
    (report,) = [e for e in evidence if e.kind is AgentEvidenceKind.CANCELLATION]
    outcomes: Any = report.payload["outcomes"]
    assert [o["target_ref"] for o in outcomes] == ["run-1/call/1.1", "run-1/call/1.2"]
    assert [o["status"] for o in outcomes] == ["failed", "succeeded"]
    assert bench.tools.cleaned == 1
    bench.tools.gates["release"].set()
    async with asyncio.timeout(5):
        await asyncio.wait(bench.agent.tasks)
