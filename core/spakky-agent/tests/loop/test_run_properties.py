"""What holds for any run: random scripts, faults, signals at random commits, and random decisions, in both streams."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spakky.agent import (
    AgentSignal,
    AgentSignalKind,
    AgentYieldKind,
    ModelMessage,
    ModelMessageRole,
    RejectionPolicy,
    RunFinishedEvent,
    RunPausedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolErrorPolicy,
)
from spakky.agent.loop.watcher import WatchTimes
from spakky.agent.rules.lifecycle import CREATED, ENDED, TABLE, Standing, standing_of
from spakky.agent_testkit.desk import Bench, drain, make_bench
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.memory.store import CommitInfo
from spakky.agent_testkit.scripted_model import Turn, call, fail, raises, say, think

KIND = AgentSignalKind
CLOSING = {AgentYieldKind.FINAL, AgentYieldKind.ERROR, AgentYieldKind.CANCEL}
RUN = "run-1"


@dataclass(frozen=True)
class Scenario:
    """One story: what the model says, what people send and when, and what they decide."""

    turns: Sequence[tuple[bool, Sequence[str], str]]
    signals: Sequence[tuple[int, AgentSignalKind]]
    decisions: Sequence[str]
    informs: bool

    @property
    def hangs(self) -> bool:
        """Tell whether a turn hangs until it is cancelled."""
        return any(end == "hang" for _, _, end in self.turns)


# What is named more often is drawn more often: what ends a run early hides what comes after it.
TOOLS = [*["file.read", "bank.pay", "diary.add"] * 3, "fault.known", "no.such", "bad"]
TOOLS += ["fault.unknown"]
ENDS = [*["done"] * 12, "fail", "raise", "hang"]
SIGNALS = [
    *[KIND.USER_MESSAGE, KIND.STEERING_INSTRUCTION, KIND.PAUSE] * 2,
    KIND.RESUME,
    KIND.EXTERNAL_EVENT,
    KIND.APPROVAL_DECISION,
    KIND.CANCEL,
]
turn = st.tuples(
    st.booleans(), st.lists(st.sampled_from(TOOLS), min_size=1, max_size=4), st.sampled_from(ENDS)
)
scenarios = st.builds(
    Scenario,
    turns=st.lists(turn, min_size=1, max_size=4),
    signals=st.lists(st.tuples(st.integers(1, 9), st.sampled_from(SIGNALS)), max_size=3),
    decisions=st.lists(
        st.sampled_from([*["approve", "modify"] * 3, "reject", "defer", "none", "cancel"]),
        min_size=1,
        max_size=4,
    ),
    informs=st.booleans(),
)


@dataclass
class Story:
    """What came of a scenario in one stream."""

    bench: Bench
    standings: list[Standing] = field(default_factory=lambda: [CREATED])
    streams: list[list[Any]] = field(default_factory=list)
    approved: list[str] = field(default_factory=list)

    @property
    def effects(self) -> dict[str, Any]:
        """Give everything that must not depend on the stream."""
        tables = self.bench.ports.store.tables
        return {
            "ledger": self.bench.tools.ledger,
            "keys": self.bench.tools.keys,
            "standings": self.standings,
            "states": [row.text for row in tables.states.values()],
            "evidence": [row.text for row in tables.evidence.values()],
            "transcripts": dict(tables.transcripts),
            "turns": dict(tables.turns),
            "signals": [(row.text, row.consumed) for row in tables.signals.values()],
            "requests": self.bench.model.requests,
        }


def arguments_of(tool: str, number: int) -> dict[str, Any]:
    match tool:
        case "file.read":
            return {"path": f"p{number}"}
        case "bank.pay":
            return {"amount": number}
        case "diary.add":
            return {"text": f"t{number}"}
        case _:
            return {}


def script_of(scenario: Scenario, ports: MemoryPorts) -> list[Turn]:
    async def cancel_and_hang() -> None:
        await ports.signals.append(AgentSignal("hang", RUN, KIND.CANCEL))
        await asyncio.Event().wait()

    script: list[Turn] = []
    number = 0
    for speaks, tools, end in scenario.turns:
        items: list[Any] = [*(think("hm") if speaks else ()), *(say("text") if speaks else ())]
        for tool in tools:
            number += 1
            name = "file.read" if tool == "bad" else tool
            # Providers reuse their ids, here in every turn.
            items += call(name, arguments_of(tool, number), call_id=f"c{len(items)}")
        endings: dict[str, list[Any]] = {
            "done": [],
            "fail": [fail("x", "broken")],
            "raise": [raises(LookupError("x"))],
            "hang": [cancel_and_hang],
        }
        script.append([*items, *endings[end]])
    return [*script, *([[*say("end")]] * 8)]


async def tell(scenario: Scenario, stream: str) -> Story:
    """Play a scenario to its end, in as many stretches as it takes."""
    ports = MemoryPorts()
    bench = make_bench(
        ports,
        script_of(scenario, ports),
        accepted_signals=(KIND.USER_MESSAGE, KIND.STEERING_INSTRUCTION),
        on_rejection=RejectionPolicy.INFORM_MODEL if scenario.informs else RejectionPolicy.FAIL_RUN,
        on_tool_error=ToolErrorPolicy.INFORM_MODEL
        if scenario.informs
        else ToolErrorPolicy.FAIL_RUN,
    )
    story = Story(bench)
    waiting = list(enumerate(scenario.signals))
    saves = 0

    async def look(info: CommitInfo) -> None:
        nonlocal saves
        if not any(text.startswith("state ") for text in info.writes):
            return
        saves += 1
        story.standings.append(standing_of(await ports.states.get(RUN)))
        for entry in [e for e in waiting if e[1][0] == saves]:
            waiting.remove(entry)
            await send(bench, entry[0], entry[1][1])

    ports.store.after_commit = look
    # Where no turn hangs, signals are seen at boundaries only, so that both streams see them at the same ones.
    runner = replace(
        bench.runner(), times=WatchTimes(poll_seconds=0.001 if scenario.hangs else 1000)
    )
    for stretch in range(12):
        given = bench.input("" if stretch else "go", resume=stretch > 0)
        story.streams.append(await drain(getattr(runner, stream)(given)))
        state = await ports.states.get(RUN)
        if state.status in ENDED:
            return story
        await decide_what_waits(story, scenario, stretch)
    return story


async def send(bench: Bench, number: int, kind: AgentSignalKind) -> None:
    payload = {
        KIND.USER_MESSAGE: {"message": "and this"},
        KIND.STEERING_INSTRUCTION: {"instruction": "left"},
        KIND.APPROVAL_DECISION: {"request_id": "unknown", "decision": "approve"},
    }.get(kind, {})
    await bench.ports.signals.append(AgentSignal(f"s{number}", bench.run_id, kind, payload))


async def decide_what_waits(story: Story, scenario: Scenario, stretch: int) -> None:
    state = await story.bench.ports.states.get(RUN)
    calls: Sequence[Any] = state.checkpoint["calls"]  # type: ignore[assignment]  # written by the loop
    for place, entry in enumerate(c for c in calls if c["stage"] == "waiting"):
        known = scenario.decisions
        # In the end somebody approves, so that every story ends.
        decision = known[(stretch + place) % len(known)] if stretch < 6 else "approve"
        if decision == "none":
            continue
        if decision in {"approve", "modify"}:
            story.approved.append(entry["request"]["id"])
        more = {"modified_payload": {"amount": 1000 + stretch * 10 + place}}
        await story.bench.decide(
            decision,
            entry["request"]["id"],
            f"d{stretch}.{place}",
            **(more if decision == "modify" else {}),
        )


def reachable(old: Standing) -> set[Standing]:
    """Give where one or two rows of the table lead: a boundary may hold a pause and what ends it."""
    one = set(TABLE[old.status].values())
    return {old} | one | {two for step in one for two in TABLE[step.status].values()}


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


def check_lifecycle(story: Story) -> None:
    for old, new in zip(story.standings, story.standings[1:], strict=False):
        assert new in reachable(old), (old, new)
    for ended in story.standings[:-1]:
        assert ended.status not in ENDED


def check_history(story: Story, transcript: Sequence[ModelMessage]) -> None:
    assert well_formed(transcript)
    for request in story.bench.model.requests:
        assert well_formed(request.messages)
        ids = [c.call_id for m in request.messages for c in m.tool_calls]
        assert len(ids) == len(set(ids))


def check_ledger(story: Story) -> None:
    ledger = story.bench.tools.ledger
    assert len(ledger) == len(set(ledger)), ledger
    paid = [line for line in ledger if line.startswith("pay")]
    assert len(paid) <= len(story.approved)
    keys = story.bench.tools.keys
    assert len(keys) == len(set(keys)) == len(paid)


def check_items(stream: Sequence[Any]) -> None:
    kinds = [item.kind for item in stream]
    assert kinds[-1] in CLOSING | {AgentYieldKind.APPROVAL}
    assert not CLOSING & set(kinds[:-1])


def check_events(stream: Sequence[Any]) -> None:
    assert isinstance(stream[0], RunStartedEvent)
    ends = [e for e in stream if isinstance(e, RunPausedEvent | RunFinishedEvent)]
    assert ends == [stream[-1]]
    open_steps: list[str] = []
    for event in stream:
        if isinstance(event, StepStartedEvent):
            open_steps.append(event.step_name)
        elif isinstance(event, StepFinishedEvent):
            assert open_steps.pop() == event.step_name
        assert len(open_steps) <= 1
    assert open_steps == []


@pytest.mark.requirement("YIELD-6", "EVENT-7", "HITL-11", "LOOP-26", "STATE-6", "HITL-15")
@given(scenarios)
@settings(max_examples=80, deadline=None)
def test_any_run_keeps_its_rules(scenario: Scenario) -> None:
    async def play() -> None:
        story = await tell(scenario, "run")
        check_lifecycle(story)
        check_ledger(story)
        for stream in story.streams:
            check_items(stream)
        assert story.standings[-1].status in ENDED
        check_history(story, await story.bench.ports.transcripts.load(RUN))
        assert story.bench.model.closed == story.bench.model.opened
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(play())


@pytest.mark.requirement("LOOP-4", "LOOP-9", "EVENT-7")
@given(scenarios)
@settings(max_examples=80, deadline=None)
def test_both_streams_have_the_same_effects(scenario: Scenario) -> None:
    async def play() -> None:
        told, evented = await tell(scenario, "run"), await tell(scenario, "run_events")
        for stream in evented.streams:
            check_events(stream)
        effects = evented.effects
        for name, effect in told.effects.items():
            assert effect == effects[name], name

    asyncio.run(play())
