"""A durable run that dies at each of its commits, before or after, and goes on in a new process.

Death is simulated: the store raises at one commit and at every one after it, so that the dying run can store nothing
more. Real processes and real databases are killed in the tests of the store.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spakky.agent import (
    AgentPersistenceError,
    AgentResumeAction,
    AgentStatus,
    AgentYieldKind,
    ModelMessage,
    ModelMessageRole,
    plan_agent_resume,
)
from spakky.agent_testkit.desk import Bench, drain
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.memory.store import CommitInfo
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say

type Build = Callable[..., Bench]

SCRIPT = [
    [*say("reading"), *call("file.read", {"path": "a"}), *call("file.read", {"path": "b"})],
    [*call("diary.add", {"text": "1"}), *call("bank.pay", {"amount": 5})],
    [*say("done")],
]


class Died(BaseException):
    """The process is gone."""


def kill_at(bench: Bench, number: int, *, before: bool) -> None:
    """Let the run die at its n-th commit; whatever it tries afterwards dies too."""
    store = bench.ports.store
    first = store.commits
    dead: list[int] = []

    async def strike(info: CommitInfo) -> None:
        if dead or info.number - first == number:
            dead.append(info.number)
            raise Died

    async def dead_already(_info: CommitInfo) -> None:
        if dead:
            raise Died

    store.before_commit = strike if before else dead_already
    store.after_commit = None if before else strike


async def live(bench: Bench, *, resume: bool) -> bool:
    """Run one life of the process; False when it died."""
    try:
        await drain(bench.runner().run(bench.input("" if resume else "do it", resume=resume)))
    except Died:
        # The lease of a dead process runs out.
        bench.ports.store.clock.advance(3600)  # type: ignore[attr-defined]  # the memory store's clock is a ManualClock
        return False
    finally:
        bench.ports.store.before_commit = bench.ports.store.after_commit = None
    return True


async def approve_what_waits(bench: Bench, lives: int) -> bool:
    """Approve each open request, and supply the result of a call in doubt; True when there was one."""
    state = await bench.ports.states.get(bench.run_id)
    calls: Sequence[Any] = state.checkpoint["calls"]  # type: ignore[assignment]  # written by the loop
    waiting = [c["request"]["id"] for c in calls if c["stage"] == "waiting"]
    for request_id in waiting:
        supplied = {"result": "added"} if request_id.endswith("/recovery") else {}
        await bench.decide("approve", request_id, f"{request_id}/{lives}", **supplied)
    return bool(waiting)


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


def fresh_process(bench: Bench) -> Bench:
    """Give the same run to a new model and agent over the same store; what the tools did stays done."""
    old = bench.tools
    model = ScriptedModel(SCRIPT, by_progress=True)
    agent = type(bench.agent)(model, bench.ports)
    agent.ledger, agent.keys = old.ledger, old.keys
    return Bench(bench.ports, model, agent, bench.run_id)


async def first_life(build: Build, ports: MemoryPorts) -> Bench:
    bench = fresh_process(build(SCRIPT))
    assert bench.ports is ports
    return bench


async def survive(bench: Bench, asked_again: list[str]) -> Bench:
    """Resume in new processes until the run has ended, approving whatever asks."""
    for lives in range(1, 8):
        bench = fresh_process(bench)
        state = await bench.ports.states.get_or_none(bench.run_id)
        if state is not None and state.status is AgentStatus.COMPLETED:
            return bench
        if state is not None and await approve_what_waits(bench, lives):
            asked_again.append(str(state.reason))
        assert await live(bench, resume=state is not None)
    message = "the run never ended"
    raise AssertionError(message)


@pytest.mark.requirement(
    "RECOV-3", "RECOV-4", "RECOV-5", "RECOV-7", "RECOV-8", "STATE-7", "RECOV-9"
)
@pytest.mark.parametrize("before", [True, False])
async def test_a_run_killed_at_any_commit_ends_and_repeats_nothing_that_must_not_be(
    build: Build, ports: MemoryPorts, before: bool
) -> None:
    bench = await first_life(build, ports)
    reference = await survive(bench, [])
    whole = await ports.transcripts.load("run-1")
    commits = ports.store.commits
    assert reference.tools.ledger == ["read a", "read b", "add 1", "pay 5"]
    assert commits >= 8
    for number in range(1, 8):
        bench = await first_life(build, ports)
        bench.run_id = f"run-{before}-{number}"
        kill_at(bench, number, before=before)
        await live(bench, resume=False)
        bench = await survive(bench, [])
        ledger = bench.tools.ledger
        assert ledger.count("add 1") <= 1, (number, ledger)
        assert ledger.count("pay 5") == 1, (number, ledger)
        stored = await ports.transcripts.load(bench.run_id)
        assert well_formed(stored)
        assert [m.content for m in stored if m.role is ModelMessageRole.ASSISTANT] == [
            m.content for m in whole if m.role is ModelMessageRole.ASSISTANT
        ]


async def die_inside(build: Build, tool: str, arguments: dict[str, Any]) -> Bench:
    """Let a run die inside a tool, after its effect and before its result was stored."""
    bench = build([[*call(tool, arguments)], [*say("done")]])

    async def die(_line: str) -> None:
        bench.ports.store.before_commit = _always_die
        raise Died

    bench.tools.after_effect = die
    with pytest.raises(Died):
        await drain(bench.runner().run(bench.input()))
    bench.tools.after_effect = bench.ports.store.before_commit = None
    bench.ports.store.clock.advance(3600)  # type: ignore[attr-defined]  # the memory store's clock is a ManualClock
    return bench


async def _always_die(_info: CommitInfo) -> None:
    raise Died


@pytest.mark.requirement("RECOV-5", "RECOV-11")
@pytest.mark.parametrize(
    ("decision", "payload", "ledger", "told"),
    [
        ("approve", {}, ["add 1", "add 1"], "added"),
        ("modify", {"modified_payload": {"text": "2"}}, ["add 1", "add 2"], "added"),
        ("approve", {"result": "it was there"}, ["add 1"], "it was there"),
    ],
)
async def test_a_call_that_may_not_be_repeated_waits_for_a_person(
    build: Build, decision: str, payload: dict[str, Any], ledger: list[str], told: str
) -> None:
    """OP-C05, and design part 4: a decision may run it, change it, or supply its result."""
    bench = await die_inside(build, "diary.add", {"text": "1"})
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.APPROVAL
    state = await bench.ports.states.get("run-1")
    assert (state.status, state.reason) == ("interrupted", "recovery_requires_hitl")
    assert bench.tools.ledger == ["add 1"]
    assert len(bench.model.requests) == 1
    await bench.decide(decision, items[-1].payload.id, **payload)
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    assert bench.tools.ledger == ledger
    assert bench.model.requests[-1].messages[-1].content == told


@pytest.mark.requirement("RECOV-4")
async def test_a_call_that_may_be_repeated_is(build: Build) -> None:
    bench = await die_inside(build, "file.read", {"path": "a"})
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    assert bench.tools.ledger == ["read a", "read a"]


@pytest.mark.requirement("RECOV-2")
@pytest.mark.parametrize(
    ("tool", "arguments", "action"),
    [
        ("diary.add", {"text": "1"}, AgentResumeAction.REQUIRE_HITL),
        ("file.read", {"path": "a"}, AgentResumeAction.RETRY),
    ],
)
async def test_the_plan_made_of_evidence_agrees_with_what_the_loop_does(
    build: Build, tool: str, arguments: dict[str, Any], action: AgentResumeAction
) -> None:
    bench = await die_inside(build, tool, arguments)
    state = await bench.ports.states.get("run-1")
    evidence = await bench.ports.evidence.list_by_state("run-1")
    assert plan_agent_resume(state, evidence).action is action
    assert [s.id for s in await bench.ports.states.list_resume_candidates()] == ["run-1"]


@pytest.mark.requirement("RECOV-1")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_each_action_has_a_before_and_an_after(build: Build, stream: str) -> None:
    bench = build(
        [[*call("file.read", {"path": "a"})], [*call("bank.pay", {"amount": 5})], [*say("ok")]]
    )
    await getattr(bench, stream)()
    await bench.decide("approve", "run-1/call/2.1/approval")
    await getattr(bench, stream)("", resume=True)
    evidence = await bench.ports.evidence.list_by_state("run-1")
    stages = [
        (e.payload["action_id"], e.payload["stage"])
        for e in evidence
        if e.kind == "action_boundary"
    ]
    for action in ("model/1", "call/1.1", "model/2", "call/2.1/approval", "call/2.1", "model/3"):
        assert stages.index((f"run-1/{action}", "before")) < stages.index(
            (f"run-1/{action}", "after")
        )
    assert len(stages) == 12


async def test_a_turn_with_one_tool_costs_two_commits(build: Build) -> None:
    """Design part 4: a run of n such turns costs 2n + 2."""
    for turns in (1, 5, 20):
        bench = build([*([[*call("file.read", {"path": "a"})]] * turns), [*say("ok")]])
        bench.run_id = f"run-{turns}"
        bench.agent.f = None  # without a conversation store, whose turns are a commit of their own
        before = bench.ports.store.commits
        await bench.run()
        assert bench.ports.store.commits - before == 2 * turns + 2


async def test_the_control_part_does_not_grow_with_the_run(build: Build) -> None:
    sizes = []
    for turns in (2, 40):
        bench = build([*([[*call("file.read", {"path": "a"})]] * turns), [*say("ok")]])
        bench.run_id = f"run-{turns}"
        await bench.run()
        state = await bench.ports.states.get(bench.run_id)
        sizes.append(len(str(state.checkpoint)))
    assert sizes[1] - sizes[0] < 20


async def test_a_store_that_fails_ends_the_stream_and_leaves_the_run_to_be_resumed(
    build: Build,
) -> None:
    bench = build([[*call("file.read", {"path": "a"})], [*say("ok")]])

    async def refuse(info: CommitInfo) -> None:
        if info.number >= 3:
            message = "The disk is full."
            raise AgentPersistenceError(message)

    bench.ports.store.before_commit = refuse
    items = await bench.run()
    assert items[-1].payload.code == "agent.persistence"
    assert items[-1].payload.retryable
    bench.ports.store.before_commit = None
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    assert bench.tools.ledger == ["read a", "read a"]


async def test_a_runner_that_lost_its_lease_stops_before_its_next_action(build: Build) -> None:
    bench = build([[*call("diary.add", {"text": "1"})], [*say("never")]])

    async def steal(info: CommitInfo) -> None:
        if info.number == 2:
            bench.ports.store.clock.advance(3600)  # type: ignore[attr-defined]  # the memory store's clock is a ManualClock
            await bench.ports.states.claim("run-1", "somebody else", 60)

    bench.ports.store.before_commit = steal
    items = await bench.run()
    assert items[-1].payload.code == "agent.persistence.lease_lost"
    assert bench.tools.ledger == []
