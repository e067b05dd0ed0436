"""Children are killed at each of their points, and the points of the wrappers are where they say."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import override

import pytest

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelCapability, ModelRequest, ModelSelection
from spakky.agent.contracts.model_stream import ModelStreamEvent, ModelStreamEventKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentStateConflictError, AgentValueError
from spakky.agent_testkit.crash import (
    KILL_AT_VARIABLE,
    KILL_LOG_VARIABLE,
    ChildFailedError,
    KillingModel,
    KillingUnitOfWork,
    KillPoints,
    Ledger,
    crash_matrix,
    run_child,
)
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, hang, say

CHILD = """
import asyncio, os
from pathlib import Path
from spakky.agent_testkit.crash import KillPoints, Ledger

async def main():
    points = KillPoints.from_environment()
    ledger = Ledger(Path(os.environ["LEDGER"]))
    for name in ("one", "two"):
        await points.reach(f"before {name}")
        ledger.append(name)
        points.reach_now(f"after {name}")
    print("done")

asyncio.run(main())
"""
ASK = ModelRequest((ModelMessage(ModelMessageRole.USER, "text"),))


class RecordingPoints(KillPoints):
    """Points that only remember their names."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    @override
    def reach_now(self, name: str) -> None:
        self.names.append(name)


@pytest.fixture
def child(tmp_path: Path) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    return [str(script)]


async def test_a_matrix_kills_a_child_at_each_point_and_then_lets_it_complete(
    child: list[str], tmp_path: Path
) -> None:
    def fresh(number: int) -> dict[str, str]:
        return {"LEDGER": str(tmp_path / f"ledger-{number}")}

    runs = [run async for run in crash_matrix(child, fresh)]
    assert [run.point for run in runs] == [
        "before one",
        "after one",
        "before two",
        "after two",
        None,
    ]
    assert [run.exit_code for run in runs] == [-signal.SIGKILL] * 4 + [0]
    ledgers = [Ledger(Path(run.env["LEDGER"])).lines() for run in runs]
    assert ledgers == [[], ["one"], ["one"], ["one", "two"], ["one", "two"]]
    assert runs[-1].stdout == "done\n"
    assert runs[-1].points == ("before one", "after one", "before two", "after two")


async def test_a_child_without_a_point_to_die_at_completes(
    child: list[str], tmp_path: Path
) -> None:
    run = await run_child(child, {"LEDGER": str(tmp_path / "ledger")})
    assert (run.killed, run.point, run.kill_at, run.exit_code) == (False, None, None, 0)


async def test_a_matrix_has_a_bound(child: list[str], tmp_path: Path) -> None:
    env = {"LEDGER": str(tmp_path / "ledger")}
    runs = crash_matrix(child, env, max_points=1)
    with pytest.raises(ChildFailedError, match="after 1"):
        assert [run async for run in runs]


async def test_a_child_that_fails_by_itself_is_reported_with_its_error() -> None:
    with pytest.raises(ChildFailedError, match="ZeroDivisionError"):
        await run_child(["-c", "1 / 0"], kill_at=3)


async def test_a_child_that_is_killed_elsewhere_is_reported() -> None:
    program = f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    with pytest.raises(ChildFailedError, match="-9"):
        await run_child(["-c", program], kill_at=1)


async def test_a_child_that_does_not_end_is_stopped() -> None:
    program = "import threading; threading.Event().wait()"
    with pytest.raises(ChildFailedError, match="did not end"):
        await run_child(["-c", program], timeout_seconds=0.5)


async def test_a_cancelled_wait_stops_the_child(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"open({str(pipe)!r}, 'w').close(); import threading; threading.Event().wait()"
    task = asyncio.create_task(run_child(["-c", program]))
    # Opening the other end of the pipe blocks until the child has come so far.
    async with asyncio.timeout(30):
        await asyncio.to_thread(pipe.read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_points_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(KILL_AT_VARIABLE, raising=False)
    monkeypatch.setenv(KILL_LOG_VARIABLE, str(tmp_path / "log"))
    points = KillPoints.from_environment()
    points.reach_now("here")
    assert points.reached == 1
    assert Ledger(tmp_path / "log").lines() == ["here"]


def test_a_ledger_keeps_lines(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.lines() == []
    ledger.append("한")
    ledger.append("two")
    assert Ledger(tmp_path / "ledger").lines() == ["한", "two"]
    with pytest.raises(AgentValueError, match="one line"):
        ledger.append("a\nb")


async def test_a_unit_of_work_has_a_point_before_and_after_each_commit(ports: MemoryPorts) -> None:
    points = RecordingPoints()
    unit_of_work = KillingUnitOfWork(ports.unit_of_work, points)
    state = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)
    async with unit_of_work.begin() as scope:
        await scope.states.save(state)
        assert points.names == []
    assert points.names == ["before commit 1", "after commit 1"]
    assert (await ports.states.get("run")).version == 1
    with pytest.raises(AgentStateConflictError):
        async with unit_of_work.begin(await ports.states.claim("run", "one", 1)) as scope:
            await scope.states.save(state)
    with pytest.raises(KeyError):
        async with unit_of_work.begin():
            raise KeyError
    assert points.names[2:] == ["before commit 2"]


async def test_a_model_has_a_point_before_each_event() -> None:
    points = RecordingPoints()
    inner = ScriptedModel(
        [say("ab", chunk=1), say("c")], capabilities={"m": ModelCapability(supports_reasoning=True)}
    )
    model = KillingModel(inner, points)
    assert model.capability == inner.capability
    assert model.capability_for(ModelSelection(model="m")).supports_reasoning
    assert len([event async for event in model.stream(ASK)]) == 3
    assert (await model.complete(ASK)).content == "c"
    assert points.names == [
        "model call 1: before token_delta",
        "model call 1: before token_delta",
        "model call 1: before done",
        "before model call 2",
        "after model call 2",
    ]


async def test_closing_a_killing_model_closes_the_inner_stream() -> None:
    inner = ScriptedModel([[say("a"), hang()]])
    events = KillingModel(inner, RecordingPoints()).stream(ASK)
    await anext(events)
    await events.aclose()
    assert inner.closed == 1


async def test_a_killing_model_takes_a_model_that_gives_a_plain_iterator() -> None:
    class Plain(AsyncIterator[ModelStreamEvent]):
        def __init__(self) -> None:
            self.left = 1

        @override
        async def __anext__(self) -> ModelStreamEvent:
            if not self.left:
                raise StopAsyncIteration
            self.left -= 1
            return ModelStreamEvent(ModelStreamEventKind.DONE)

    class PlainModel(ScriptedModel):
        # A model may give any iterator; the scripted one gives a generator.
        @override
        def stream(self, request: ModelRequest) -> AsyncIterator[ModelStreamEvent]:  # type: ignore[override]
            return Plain()

    model = KillingModel(PlainModel(), RecordingPoints())
    assert len([event async for event in model.stream(ASK)]) == 1


async def test_the_kit_runs_without_pytest() -> None:
    modules = ("memory", "scripted_model", "http_model", "crash")
    imports = "; ".join(f"import spakky.agent_testkit.{module}" for module in modules)
    program = f"{imports}; import sys; print('pytest' in sys.modules)"
    assert (await run_child(["-c", program])).stdout == "False\n"


def test_points_without_a_log_are_only_counted() -> None:
    points = KillPoints(kill_at=2)
    points.reach_now("here")
    assert points.reached == 1
