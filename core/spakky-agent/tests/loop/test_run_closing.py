"""What a caller that goes away leaves behind."""

import asyncio
from collections.abc import Callable

import pytest

from spakky.agent import AgentRunInProgressError, AgentYieldKind, RunAgentInput
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import call, hang, say

type Build = Callable[..., Bench]


async def standing(bench: Bench) -> tuple[str | None, ...]:
    state = await bench.ports.states.get(bench.run_id)
    return (state.status.value, state.reason.value if state.reason else None)


@pytest.mark.requirement("LOOP-27")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_closing_stops_the_model_and_leaves_a_resumable_run(
    build: Build, stream: str
) -> None:
    """OP-D01."""
    before = asyncio.all_tasks()
    bench = build([[*say("one"), *say("two"), hang()], [*say("fresh")]])
    generator = getattr(bench.runner(), stream)(bench.input())
    async for item in generator:
        if "two" in str(item):
            break
    await generator.aclose()
    assert bench.model.closed == 1
    assert asyncio.all_tasks() == before
    assert await standing(bench) == ("interrupted", "user_interrupted")
    assert (await bench.resume())[-1].payload.output.output_text == "fresh"


@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_closing_after_any_number_of_items_is_quiet(build: Build, stream: str) -> None:
    """OP-D02: nothing is yielded while closing, whatever the run was doing."""
    script = [[*say("text"), *call("file.read", {"path": "a"})], [*call("bank.pay", {"amount": 5})]]
    problems = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: problems.append(context)
    )
    for count in range(12):
        bench = build(script)
        bench.run_id = f"{stream}-{count}"
        generator = getattr(bench.runner(), stream)(bench.input())
        for _ in range(count):
            if await anext(generator, None) is None:
                break
        await generator.aclose()
        assert bench.model.closed == bench.model.opened
        lease = bench.ports.store.tables.leases.get(bench.run_id)
        assert lease is None or not bench.ports.store.is_live(bench.run_id)
    assert problems == []


@pytest.mark.parametrize("where", ["model", "tool"])
async def test_a_cancelled_task_ends_as_cancelled_and_the_run_is_not_left_running(
    build: Build, where: str
) -> None:
    """OP-D03."""
    reached = asyncio.Event()
    turn = [hang(reached=reached)] if where == "model" else [*call("wait.until", {"name": "never"})]
    bench = build([turn])
    if where == "tool":
        reached = bench.tools.entered
    task = asyncio.create_task(bench.run())
    await asyncio.wait_for(reached.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert bench.tools.cleaned == (1 if where == "tool" else 0)
    assert (await standing(bench))[0] == "interrupted"
    assert len(bench.model.requests) == 1


async def test_a_second_runner_is_refused_while_the_first_one_works(build: Build) -> None:
    """OP-C07 (1)."""
    bench = build([[*call("wait.until", {"name": "x"})], [*say("ok")]])
    first = asyncio.create_task(bench.run())
    await asyncio.wait_for(bench.tools.entered.wait(), 5)
    with pytest.raises(AgentRunInProgressError):
        async for _ in bench.runner().run(RunAgentInput("run-1", "", resume=True)):
            pass
    assert len(bench.model.requests) == 1
    bench.tools.gates["x"].set()
    assert (await first)[-1].kind is AgentYieldKind.FINAL
