"""Compaction inside a run: when the chain is applied, with what it is given, and what it leaves alone."""

from collections.abc import Callable, Sequence

import pytest

from spakky.agent import (
    AgentCompactionPolicy,
    AgentYieldKind,
    ICompactionStrategy,
    KeepRecentMessagesCompactionStrategy,
    ModelCapability,
    ModelMessage,
    ModelMessageRole,
    ModelUsage,
    SummarizeOldTurnsCompactionStrategy,
    TrimToolResultsCompactionStrategy,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say, usage

type Build = Callable[..., Bench]

READ = [*call("file.read", {"path": "a"})]


class Recorder(ICompactionStrategy):
    """Passes the history on and remembers what it was given."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log
        self.seen: list[tuple[int, ModelUsage, ModelCapability]] = []

    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        self.log.append(self.name)
        self.seen.append((len(history), usage, capability))
        return history


class Careless(ICompactionStrategy):
    """Drops every message with tool calls, and keeps their results."""

    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        return tuple(message for message in history if not message.tool_calls)


def policy(threshold: int, *strategies: ICompactionStrategy) -> AgentCompactionPolicy:
    return AgentCompactionPolicy(strategies, threshold)


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


@pytest.mark.requirement("COMPACT-9", "COMPACT-11", "COMPACT-12")
@pytest.mark.parametrize(("length", "applied"), [(400, []), (404, ["first", "second"])])
async def test_the_chain_is_applied_in_order_once_the_history_is_over_the_threshold(
    build: Build, length: int, applied: list[str]
) -> None:
    log: list[str] = []
    chain = policy(100, Recorder("first", log), Recorder("second", log))
    bench = build([[*say("ok")]], durable=False, compaction=chain)
    await bench.run("x" * length)
    assert log == applied


@pytest.mark.requirement("COMPACT-10")
async def test_it_is_decided_in_every_turn_with_the_models_capability_and_the_last_usage(
    build: Build,
) -> None:
    recorder = Recorder("r", [])
    capability = ModelCapability(context_window_tokens=1000)
    script = [[*READ, usage(40, 5)], [*READ, usage(70, 6)], [*READ, usage(500, 7)], [*say("ok")]]
    bench = build(script, durable=False, compaction=policy(60, recorder))
    bench.agent.model = bench.model = ScriptedModel(script, capability=capability)
    await bench.run("go")
    assert [used.input_tokens for _, used, _ in recorder.seen] == [70, 500]
    assert {seen for _, _, seen in recorder.seen} == {capability}


@pytest.mark.requirement("COMPACT-10")
async def test_a_window_smaller_than_the_threshold_is_the_bound(build: Build) -> None:
    recorder = Recorder("r", [])
    bench = build([], durable=False, compaction=policy(100_000, recorder))
    bench.agent.model = ScriptedModel(
        [[*say("ok")]], capability=ModelCapability(context_window_tokens=50)
    )
    await bench.run("x" * 204)
    assert len(recorder.seen) == 1


@pytest.mark.requirement("COMPACT-14", "COMPACT-13", "STORE-8")
async def test_what_is_stored_is_not_shortened_and_the_request_is_well_formed(
    build: Build,
) -> None:
    chain = policy(
        10, TrimToolResultsCompactionStrategy(4), KeepRecentMessagesCompactionStrategy(3)
    )
    bench = build([READ, READ, [*say("first answer")], [*say("second answer")]], compaction=chain)
    await bench.run("a long question that is over the threshold", conversation_id="talk")
    for request in bench.model.requests:
        assert well_formed(request.messages)
        assert request.messages[0].role is ModelMessageRole.SYSTEM
    assert bench.model.requests[2].messages[-1].content == "cont"
    stored = await bench.ports.transcripts.load("run-1")
    assert [m.role.value for m in stored] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [m.content for m in stored if m.role is ModelMessageRole.TOOL] == ["content of a"] * 2
    bench.run_id = "run-2"
    await bench.run("another long question that is over it", conversation_id="talk")
    turns = await bench.ports.task_store.load_history("talk")
    assert [t.content for t in turns] == [
        "a long question that is over the threshold",
        "first answer",
        "another long question that is over it",
        "second answer",
    ]


@pytest.mark.requirement("COMPACT-13", "COMPACT-1")
async def test_a_strategy_that_breaks_pairs_cannot_spoil_the_request(build: Build) -> None:
    bench = build([READ, [*say("ok")]], durable=False, compaction=policy(1, Careless()))
    await bench.run("a question")
    assert [m.role.value for m in bench.model.requests[1].messages] == ["system", "user"]


@pytest.mark.requirement("COMPACT-6")
async def test_a_summary_without_a_model_of_its_own_is_written_by_the_agents(
    build: Build,
) -> None:
    """OP-27: None stands for the agent's model."""
    chain = policy(20, SummarizeOldTurnsCompactionStrategy(None, keep_recent=2))
    script = [READ, [*say("they asked to read a")], [*say("done")]]
    bench = build(script, durable=False, compaction=chain)
    items = await bench.run("x" * 70)
    assert items[-1].kind is AgentYieldKind.FINAL
    bench.model.require_played()
    sent = bench.model.requests[2].messages
    assert [m.role.value for m in sent] == ["system", "evidence", "assistant", "tool"]
    assert sent[1].content == "they asked to read a"


class Broken(ICompactionStrategy):
    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        msg = "index"
        raise KeyError(msg)


@pytest.mark.requirement("LOOP-26", "ERR-2")
async def test_a_strategy_that_raises_ends_the_run_typed(build: Build) -> None:
    bench = build([[*say("never")]], durable=False, compaction=policy(1, Broken()))
    items = await bench.run("a question")
    assert items[-1].payload.code == "agent.request.failed"
    assert "KeyError" in items[-1].payload.message
    assert bench.model.requests == []
