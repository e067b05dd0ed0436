"""A stateless run: model, tools, model again, until it answers."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from spakky.agent import (
    AgentExecutionLimits,
    AgentRunResult,
    AgentYield,
    AgentYieldKind,
    Error,
    Final,
    ModelMessage,
    ModelMessageRole,
    ModelRequest,
    ModelSelection,
    ModelToolCall,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import call, fail, hang, raises, say, think, usage

type Build = Callable[..., Bench]


def kinds(items: list[AgentYield[Any]]) -> list[AgentYieldKind]:
    return [item.kind for item in items]


@pytest.mark.requirement("LOOP-7", "LOOP-10", "LOOP-11", "SPEC-21", "LOOP-20", "TOOL-24")
async def test_a_tool_result_goes_back_to_the_model_until_it_answers_without_a_call(
    build: Build,
) -> None:
    bench = build(
        [[*say("reading"), *call("file.read", {"path": "a"})], [*say("it says content")]],
        durable=False,
    )
    items = await bench.run("summarise a")
    first, second = bench.model.requests
    assert [m.role for m in first.messages] == [ModelMessageRole.SYSTEM, ModelMessageRole.USER]
    assert first.messages[0].content == "Be exact."
    assert first.messages[1].content == "summarise a"
    assert first.tool_calling is not None
    assert {tool.name for tool in first.tool_calling.tools} >= {"file.read", "bank.pay"}
    assert second.messages[-1].role is ModelMessageRole.TOOL
    assert second.messages[-1].content == "content of a"
    assert second.messages[-2].tool_calls[0].call_id == second.messages[-1].tool_call_id
    assert kinds(items) == [
        AgentYieldKind.TOKEN,
        AgentYieldKind.TOOL,
        AgentYieldKind.TOKEN,
        AgentYieldKind.FINAL,
    ]


@pytest.mark.requirement("LOOP-14", "SPEC-24", "YIELD-6")
async def test_without_an_output_type_the_final_is_a_summary_with_the_text(build: Build) -> None:
    bench = build(
        [[*call("file.read", {"path": "a"}), *call("file.read", {"path": "b"})], [*say("done")]],
        durable=False,
    )
    final = (await bench.run())[-1].payload
    assert isinstance(final, Final)
    assert final.output == AgentRunResult(
        "run-1", "completed", ("file.read", "file.read"), 0, "done"
    )


@pytest.mark.requirement("SPEC-20")
async def test_a_stateless_run_touches_no_repository(build: Build, ports: MemoryPorts) -> None:
    bench = build([[*say("hi")]], durable=False)
    bench.agent.a = ports.states
    await bench.run()
    assert (ports.store.reads, ports.store.commits, ports.store.lease_calls) == (0, 0, 0)


@pytest.mark.requirement("EVENT-7", "EVENT-6", "EVENT-12", "EVENT-14", "LOOP-6")
async def test_events_bracket_each_model_call_and_keep_ids_apart(build: Build) -> None:
    bench = build(
        [
            [*think("hm"), *say("let me"), *call("file.read", {"path": "a"})],
            [*call("file.read", {"path": "b"})],
            [*say("ok")],
        ],
        durable=False,
    )
    events = await bench.run_events()
    assert isinstance(events[0], RunStartedEvent)
    assert isinstance(events[-1], RunFinishedEvent)
    started = [e.step_name for e in events if isinstance(e, StepStartedEvent)]
    assert (
        started
        == [e.step_name for e in events if isinstance(e, StepFinishedEvent)]
        == ["model-1", "model-2", "model-3"]
    )
    deltas = {e.message_id for e in events if e.kind == "message_delta"}
    assert len(deltas) == 2
    starts = [e for e in events if isinstance(e, ToolCallStartEvent)]
    assert starts[0].parent_message_id in deltas
    assert starts[1].parent_message_id is None
    results = [e for e in events if isinstance(e, ToolCallResultEvent)]
    assert [r.call_id for r in results] == [s.call_id for s in starts]
    assert results[0].message_id == bench.model.requests[1].messages[-1].message_id


@pytest.mark.requirement("LOOP-23", "LOOP-21")
async def test_selection_and_metadata_reach_every_request(build: Build) -> None:
    bench = build([[*call("file.read", {"path": "a"})], [*say("ok")]], durable=False)
    selection = ModelSelection(model="big")
    await bench.run(model_selection=selection, metadata={"tenant": "t1"})
    assert all(
        r.model_selection is selection and r.metadata["tenant"] == "t1"
        for r in bench.model.requests
    )


@pytest.mark.requirement("TOOL-23", "LOOP-26")
async def test_mistakes_of_the_model_go_back_to_it(build: Build) -> None:
    bench = build(
        [
            [
                *call("file.raed", {"path": "a"}),
                *call("file.read", {"path": 7}),
                *call("file.read", {}, arguments_error="not an object"),
            ],
            [*call("file.read", {"path": "a"})],
            [*say("ok")],
        ],
        durable=False,
    )
    items = await bench.run()
    answers = bench.model.requests[1].messages[-3:]
    assert "file.read" in answers[0].content
    assert "path" in answers[1].content
    assert "not an object" in answers[2].content
    assert bench.tools.ledger == ["read a"]
    assert items[-1].payload.output.tool_calls == ("file.read",)


@pytest.mark.requirement("LOOP-26")
@pytest.mark.parametrize(
    ("turn", "code"),
    [
        ([fail("agent.model.rate_limit", "slow down", retryable=True)], "agent.model.rate_limit"),
        ([raises(RuntimeError("boom"))], "agent.model.failed"),
        ([*call("fault.unknown")], "agent.tool.failed"),
    ],
)
async def test_faults_end_the_stream_as_one_typed_error(build: Build, turn: Any, code: str) -> None:
    bench = build([turn], durable=False)
    items = await bench.run()
    assert items[-1].kind is AgentYieldKind.ERROR
    assert items[-1].payload.code == code
    bench = build([turn], durable=False)
    finished = (await bench.run_events())[-1]
    assert finished.error["code"] == code
    assert finished.status == "failed"


async def test_a_tool_that_says_why_it_failed_informs_the_model(build: Build) -> None:
    bench = build([[*call("fault.known")], [*say("no paper then")]], durable=False)
    items = await bench.run()
    assert bench.model.requests[1].messages[-1].content == "the printer is out of paper"
    assert items[-1].kind is AgentYieldKind.FINAL


@pytest.mark.requirement("LOOP-12")
async def test_an_endless_caller_is_stopped_by_the_step_limit(build: Build) -> None:
    def again(_request: ModelRequest) -> Any:
        return [*call("file.read", {"path": "a"})]

    bench = build([again] * 9, durable=False, limits=AgentExecutionLimits(max_steps=3))
    error = (await bench.run())[-1].payload
    assert isinstance(error, Error)
    assert error.code == "agent.limit.max_steps"
    assert len(bench.model.requests) == 3


async def test_the_tool_call_limit_stops_before_the_call_that_exceeds_it_runs(build: Build) -> None:
    bench = build(
        [
            [*call("file.read", {"path": "a"})],
            [*call("file.read", {"path": "b"}), *call("file.read", {"path": "c"})],
        ],
        durable=False,
        limits=AgentExecutionLimits(max_tool_calls=2),
    )
    assert (await bench.run())[-1].payload.code == "agent.limit.max_tool_calls"
    assert bench.tools.ledger == ["read a"]


async def test_the_token_limit_counts_what_the_provider_tells(build: Build) -> None:
    bench = build(
        [[*call("file.read", {"path": "a"}), usage(80, 30)], [*say("never asked")]],
        durable=False,
        limits=AgentExecutionLimits(max_total_tokens=100),
    )
    assert (await bench.run())[-1].payload.code == "agent.limit.max_total_tokens"


@pytest.mark.requirement("LOOP-25")
async def test_a_model_that_hangs_is_stopped_at_the_deadline(build: Build) -> None:
    bench = build([[*say("wait"), hang()]], durable=False, timeout_seconds=0.05)
    items = await bench.run()
    assert items[-1].payload.code == "agent.run.timeout"
    assert bench.model.closed == 1


@pytest.mark.requirement("LOOP-25")
async def test_a_tool_that_hangs_is_stopped_at_the_deadline(build: Build) -> None:
    bench = build([[*call("wait.until", {"name": "never"})]], durable=False, timeout_seconds=0.05)
    assert (await bench.run())[-1].payload.code == "agent.run.timeout"
    assert bench.tools.cleaned == 1
    assert bench.tools.ledger == []


@pytest.mark.requirement("HITL-16")
async def test_a_risky_tool_of_a_stateless_agent_never_runs(build: Build) -> None:
    bench = build([[*call("bank.pay", {"amount": 5})], [*say("I cannot")]], durable=False)
    await bench.run()
    assert bench.tools.ledger == []
    assert "approval" in bench.model.requests[1].messages[-1].content


@pytest.mark.requirement("TOOL-20")
async def test_calls_that_may_run_together_do(build: Build) -> None:
    bench = build(
        [[*call("wait.until", {"name": "x"}), *call("wait.until", {"name": "y"})], [*say("both")]],
        durable=False,
    )
    gates = bench.tools.gates

    async def open_when_both_wait() -> None:
        while len(gates) < 2:
            await asyncio.sleep(0)
        gates["y"].set()
        while "wait y" not in bench.tools.ledger:
            await asyncio.sleep(0)
        gates["x"].set()

    opener = asyncio.create_task(open_when_both_wait())
    items = await bench.run()
    await opener
    assert bench.tools.ledger == ["wait y", "wait x"]
    # Results are shown as they land, and sent in the model's order.
    assert [i.payload.result for i in items if i.kind is AgentYieldKind.TOOL] == ["y", "x"]
    assert [m.content for m in bench.model.requests[1].messages[-2:]] == ["x", "y"]


async def test_calls_with_effects_run_one_after_another_in_the_models_order(build: Build) -> None:
    bench = build(
        [
            [
                *call("diary.add", {"text": "1"}),
                *call("file.read", {"path": "a"}),
                *call("diary.add", {"text": "2"}),
            ],
            [*say("ok")],
        ],
        durable=False,
    )
    await bench.run()
    assert bench.tools.ledger == ["add 1", "read a", "add 2"]


@pytest.mark.requirement("LOOP-24")
async def test_an_injected_history_is_repaired_and_sent(build: Build) -> None:
    history = (
        ModelMessage(ModelMessageRole.USER, "before"),
        ModelMessage(
            ModelMessageRole.ASSISTANT,
            "",
            tool_calls=(ModelToolCall("file.read", {"path": "z"}, "old"),),
        ),
    )
    bench = build([[*say("ok")]], durable=False)
    await bench.run(message_history=history)
    sent = bench.model.requests[0].messages
    assert [m.role.value for m in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[3].tool_call_id == "old"


async def test_provider_ids_that_repeat_get_ids_of_their_own(build: Build) -> None:
    bench = build(
        [
            [*call("file.read", {"path": "a"}, call_id="0")],
            [*call("file.read", {"path": "b"}, call_id="0")],
            [*say("ok")],
        ],
        durable=False,
    )
    events = await bench.run_events()
    starts = [e.call_id for e in events if isinstance(e, ToolCallStartEvent)]
    assert len(set(starts)) == 2
    assert [e.call_id for e in events if isinstance(e, ToolCallResultEvent)] == starts


@dataclass
class Verdict:
    score: int
    reason: str = ""


@pytest.mark.requirement("SPEC-24")
async def test_a_typed_output_is_decoded_and_repaired_once_it_fits(build: Build) -> None:
    bench = build(
        [[*say('{"score": "high"}')], [*say('{"score": 7, "reason": "fine"}')]],
        durable=False,
        output_type=Verdict,
    )
    final = (await bench.run())[-1].payload
    assert final.output == Verdict(7, "fine")
    assert "score" in bench.model.requests[1].messages[-1].content
    form = bench.model.requests[0].structured_output
    assert form is not None
    assert form.constraint.schema["required"] == ["score"]


async def test_a_typed_output_that_never_fits_fails_the_run(build: Build) -> None:
    bench = build([[*say("no")]] * 3, durable=False, output_type=Verdict)
    assert (await bench.run())[-1].payload.code == "agent.output.misfit"
    assert len(bench.model.requests) == 3


async def test_other_output_types_are_wrapped_and_plain_text_is_itself(build: Build) -> None:
    bench = build([[*say('{"value": 3}')]], durable=False, output_type=int)
    assert (await bench.run())[-1].payload.output == 3
    bench = build([[*say("just text")]], durable=False, output_type=str)
    assert (await bench.run())[-1].payload.output == "just text"


@pytest.mark.requirement("LOOP-28")
async def test_one_instance_serves_many_runs_at_once_without_mixing_them(build: Build) -> None:

    def answer(request: ModelRequest) -> Any:
        return [*say(f"echo {request.messages[1].content}", chunk=3)]

    async def collect(stream: AsyncGenerator[AgentYield[Any], None]) -> list[Any]:
        return [item async for item in stream]

    bench = build([answer] * 100, durable=False)
    runner = bench.runner()
    results = await asyncio.gather(
        *(collect(runner.run(RunAgentInput(f"r{n}", f"number {n}"))) for n in range(100))
    )
    assert [r[-1].payload.output.output_text for r in results] == [
        f"echo number {n}" for n in range(100)
    ]
