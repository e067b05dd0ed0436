"""Where a stored run goes on, and in whose conversation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from spakky.agent.contracts.approval import AgentApprovalBoundaryKind, AgentApprovalRequest
from spakky.agent.contracts.execution import ModelErrorPolicy
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_request import ModelSelection
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk
from spakky.agent.contracts.yields import AgentYieldKind
from spakky.agent.error import AgentPersistenceError
from spakky.agent.loop.do_open import complete_input, describe_input, reopen
from spakky.agent.loop.progress import CallStage, CallState, CancelOrder, Phase, Progress
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.memory import CommitInfo, MemoryPorts
from spakky.agent_testkit.scripted_model import fail, say

Build = Callable[..., Bench]
STAGE = CallStage
REQUEST = AgentApprovalRequest(
    "a1", "r", AgentApprovalBoundaryKind.TOOL_INVOCATION, "Pay?", ToolRisk(), "r/call/1.1"
)


def call(stage: CallStage, idempotency: Idempotency, **parts: Any) -> CallState:
    asked = ModelToolCall("bank.pay", {"amount": 1}, "c1")
    return CallState("r/call/1.1", asked, "sha256:0", stage, idempotency, **parts)


@pytest.mark.parametrize(
    ("stage", "idempotency", "storable", "after"),
    [
        (STAGE.READY, "unknown", True, "ready"),
        (STAGE.READY, "idempotent", False, "gated uncertain"),
        (STAGE.STARTED, "idempotent", True, "ready"),
        (STAGE.STARTED, "idempotent", False, "gated uncertain"),
        (STAGE.STARTED, "unknown", True, "gated uncertain"),
        (STAGE.STARTED, "non_idempotent", True, "gated uncertain"),
        (STAGE.STARTED, "conditionally_idempotent", True, "gated uncertain"),
        (STAGE.GATED, "unknown", True, "gated"),
        (STAGE.WAITING, "unknown", True, "waiting"),
        (STAGE.DONE, "unknown", True, "done"),
    ],
)
@pytest.mark.requirement("RECOV-4", "RECOV-5")
def test_a_call_goes_on_by_its_stage_and_idempotency(
    stage: CallStage, idempotency: str, storable: bool, after: str
) -> None:
    before = call(stage, Idempotency(idempotency), storable=storable, request=REQUEST)
    stored = Progress("r", Phase.POLLING, step=1, asking=True, calls=(before,), resumed=True)
    opened = reopen(stored)
    (reopened,) = opened.calls
    uncertain = " uncertain" if reopened.uncertain else ""
    assert f"{reopened.stage.value}{uncertain}" == after
    assert (reopened.request is None) is reopened.uncertain
    assert (opened.phase, opened.asking, opened.step) == (Phase.POLLING, False, 1)


def test_a_cancellation_is_finished_and_touches_no_call() -> None:
    started = call(STAGE.STARTED, Idempotency.UNKNOWN)
    stored = Progress("r", calls=(started,), cancel=CancelOrder("s1"))
    opened = reopen(stored)
    assert (opened.phase, opened.calls) == (Phase.CLEANING, (started,))


@pytest.mark.requirement("RECOV-10")
def test_a_resuming_caller_needs_nothing_but_the_id() -> None:
    given = RunAgentInput(
        "r",
        "go",
        conversation_id="talk",
        parent_run_id="p",
        model_selection=ModelSelection("acme", "m", "fast", {"n": 1}),
        metadata={"tenant": "t", "n": 1},
    )
    resumed = complete_input(RunAgentInput("r", "", resume=True), describe_input(given))
    assert resumed == replace(given, instruction="", resume=True)
    more = RunAgentInput("r", "", resume=True, conversation_id="other", metadata={"n": 2})
    overridden = complete_input(more, describe_input(given))
    assert overridden.conversation_id == "other"
    assert overridden.metadata == {"tenant": "t", "n": 2}
    assert complete_input(more, {}) == more


# ---------------------------------------------------------------- whole runs

BROKEN = [fail("agent.model.busy", "Busy.", retryable=True)]


def lossy(build: Build, *turns: Any) -> Bench:
    return build(list(turns), on_model_error=ModelErrorPolicy.INTERRUPT)


async def turns_of(ports: MemoryPorts, conversation_id: str) -> list[str]:
    return [turn.content for turn in await ports.task_store.load_history(conversation_id)]


@pytest.mark.requirement("LOOP-24", "STORE-3")
async def test_a_resumed_run_records_in_the_conversation_that_it_began_in(
    build: Build, ports: MemoryPorts
) -> None:
    bench = lossy(build, BROKEN, [say("done")])
    await bench.run("do it", conversation_id="talk")
    await bench.resume()
    assert await turns_of(ports, "talk") == ["do it", "done"]
    assert await turns_of(ports, bench.run_id) == []


@pytest.mark.requirement("LOOP-24")
async def test_a_run_that_brought_its_own_history_records_nothing_when_it_is_resumed(
    build: Build, ports: MemoryPorts
) -> None:
    bench = lossy(build, BROKEN, BROKEN, [say("done")])
    history = (ModelMessage(ModelMessageRole.USER, "earlier"),)
    await bench.run("do it", conversation_id="talk", message_history=history)
    await bench.resume()
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.FINAL
    assert await turns_of(ports, "talk") == []
    sent = [message.content for message in bench.model.requests[-1].messages]
    assert sent == ["Be exact.", "earlier", "do it"]


# ---------------------------------------------------------------- a store that fails


def failing_at(ports: MemoryPorts, words: str) -> None:
    """Let every commit fail whose description holds some words."""

    async def refuse(info: CommitInfo) -> None:
        if words in info.name:
            message = "disk full"
            raise AgentPersistenceError(message)

    ports.store.before_commit = refuse


@pytest.mark.parametrize("words", ["active/running", "completed/completed"])
@pytest.mark.requirement("LOOP-26", "YIELD-6")
async def test_whichever_commit_fails_the_stream_ends_with_one_error_and_the_lease_is_free(
    build: Build, ports: MemoryPorts, words: str
) -> None:
    bench = build([[say("done")], [say("done")]])
    failing_at(ports, words)
    items = await bench.run()
    assert [item.kind for item in items if item.kind is not AgentYieldKind.TOKEN] == [
        AgentYieldKind.ERROR
    ]
    assert items[-1].payload.code == "agent.persistence"
    assert items[-1].payload.retryable
    assert not ports.store.is_live(bench.run_id)
    ports.store.before_commit = None
    again = await (bench.run() if words.startswith("active") else bench.resume())
    assert again[-1].kind is AgentYieldKind.FINAL
