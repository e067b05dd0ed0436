"""Rare turns of a whole run: stores, hooks, adapters and teammates that answer in ways which the others do not."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any

import pytest

from spakky.agent import (
    AgentAuthRequiredError,
    AgentEvidenceKind,
    AgentModelError,
    AgentPersistenceError,
    AgentRunEndedError,
    AgentRunRefusedError,
    AgentSignal,
    AgentSignalKind,
    AgentToolError,
    AgentYield,
    AgentYieldKind,
    Idempotency,
    ISecretResolver,
    Progress,
    ResultBudget,
    SecretField,
    SecretRef,
    TimeoutPolicy,
    ToolApprovalRequirement,
    ToolEffects,
    agent_tool,
    on_signal,
)
from spakky.agent.json_value import FrozenObject, JsonValue
from spakky.agent.loop.frames import ApprovalAsked, CallFinished, RunCancelled, TextShown
from spakky.agent.loop.outcomes import StopReason
from spakky.agent.loop.progress import CancelOrder
from spakky.agent.loop.run import run_frames
from spakky.agent.loop.watcher import WatchTimes
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.memory.store import CommitInfo
from spakky.agent_testkit.scripted_model import call, raises, returns, say

type Build = Callable[..., Bench]

PAY = [*call("bank.pay", {"amount": 5})]
MESSAGES = (AgentSignalKind.USER_MESSAGE, AgentSignalKind.EXTERNAL_EVENT)


async def standing(bench: Bench) -> tuple[str, str | None]:
    state = await bench.ports.states.get(bench.run_id)
    return (state.status.value, state.reason.value if state.reason else None)


# ---------------------------------------------------------------- opening


async def test_an_unknown_run_without_an_instruction_is_refused(build: Build) -> None:
    bench = build([])
    with pytest.raises(AgentRunRefusedError, match="No run has the id run-1"):
        await bench.resume()
    assert bench.ports.store.commits == 0


async def test_an_ended_run_whose_ending_is_missing_in_the_store_says_so(build: Build) -> None:
    bench = build([[*say("done")]])
    await bench.run()
    state = await bench.ports.states.get("run-1")
    damaged = FrozenObject({**state.checkpoint, "ending": None})
    await bench.ports.states.save(replace(state, checkpoint=damaged))
    with pytest.raises(AgentRunEndedError, match="its ending was not stored"):
        await bench.resume()


# ---------------------------------------------------------------- signals


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (AgentSignalKind.EXTERNAL_EVENT, {"n": 1}),
        (AgentSignalKind.USER_MESSAGE, {"text": "under another key"}),
        (AgentSignalKind.USER_MESSAGE, {"message": "  "}),
    ],
)
async def test_a_signal_that_nothing_can_be_done_with_is_consumed_and_put_on_record(
    build: Build, kind: AgentSignalKind, payload: dict[str, Any]
) -> None:
    bench = build([[*say("ok")]], accepted_signals=MESSAGES)
    await bench.signal(kind, **payload)
    assert (await bench.run())[-1].kind is AgentYieldKind.FINAL
    assert await bench.ports.signals.list_pending("run-1") == ()
    evidence = await bench.ports.evidence.list_by_state("run-1")
    (kept,) = [e.payload for e in evidence if e.kind is AgentEvidenceKind.CONTEXT]
    assert kept == {"signal_id": "signal-1", "kind": kind.value, "ignored": True}


class Hooked:
    ledger: tuple[str, ...] = ()

    @on_signal(AgentSignalKind.EXTERNAL_EVENT)
    async def on_event(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        message = f"There is no desk {signal.payload['desk']}."
        raise AgentToolError(message)
        yield


@pytest.mark.requirement("LOOP-26")
async def test_a_typed_error_of_a_hook_ends_the_run_under_its_own_code(build: Build) -> None:
    bench = build([[*say("never")]], base=Hooked, accepted_signals=MESSAGES)
    await bench.signal(AgentSignalKind.EXTERNAL_EVENT, desk=7)
    error = (await bench.run())[-1].payload
    assert (error.code, error.message) == ("agent.tool.failed", "There is no desk 7.")
    assert await standing(bench) == ("failed", "execution_failed")


# ---------------------------------------------------------------- the model


async def test_a_stream_that_returns_without_done_is_an_answer(build: Build) -> None:
    bench = build([[*say("all of it"), returns()]])
    final = (await bench.run())[-1]
    assert final.payload.output.output_text == "all of it"


@pytest.mark.requirement("EVENT-10")
async def test_a_model_that_needs_a_sign_in_pauses_the_run(build: Build) -> None:
    sign_in = raises(AgentAuthRequiredError("acme", "Sign in to acme."))
    bench = build([[sign_in], [*say("signed in")]])
    await bench.run()
    assert await standing(bench) == ("interrupted", "auth_required")
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL


async def test_another_error_of_ours_out_of_an_adapter_keeps_its_code(build: Build) -> None:
    bench = build([[raises(AgentToolError("The gateway is closed."))]])
    error = (await bench.run())[-1].payload
    assert (error.code, error.message) == ("agent.tool.failed", "The gateway is closed.")


# ---------------------------------------------------------------- the store


@pytest.mark.requirement("LOOP-26")
async def test_a_lease_that_cannot_be_given_back_is_logged_and_runs_out(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    bench = build([[*say("ok")]])

    async def fail(*_: object) -> None:
        message = "The store is away."
        raise AgentPersistenceError(message)

    bench.ports.store.release = fail  # type: ignore[method-assign, assignment]  # the store breaks at this one call
    assert (await bench.run())[-1].kind is AgentYieldKind.FINAL
    assert "The lease of run run-1 could not be given back: The store is away." in caplog.messages


async def test_a_store_that_fails_before_anything_is_stored_ends_the_stream_with_its_error(
    build: Build,
) -> None:
    bench = build([[*say("never")]])

    async def away(_: CommitInfo) -> None:
        message = "The store is away."
        raise AgentPersistenceError(message)

    bench.ports.store.before_commit = away
    error = (await bench.run())[-1].payload
    assert (error.code, error.message) == ("agent.persistence", "The store is away.")
    assert error.retryable is True


# ---------------------------------------------------------------- tools


class Vault(ISecretResolver):
    async def resolve(self, ref: SecretRef) -> str:
        return f"value of {ref.id}"


class Shapes:
    """Tools whose results have many shapes."""

    def __init__(self) -> None:
        self.ledger: list[str] = []
        self.vault = Vault()

    @agent_tool(effects=ToolEffects.read_only(), idempotency=Idempotency.IDEMPOTENT)
    async def repeat(self, token: Annotated[str, SecretField()]) -> dict[str, JsonValue]:
        """Repeat a secret everywhere."""
        return {token: [token, {"in": f"<{token}>"}], "n": 1, "on": True, "none": None}

    @agent_tool(approval=ToolApprovalRequirement.REQUIRED, effects=ToolEffects.read_only())
    async def fail(self, path: str) -> str:
        """Fail."""
        message = f"no {path}"
        raise AgentToolError(message)


@pytest.mark.requirement("SAFE-9", "EVID-8")
async def test_a_secret_is_taken_out_of_every_corner_of_a_result(build: Build) -> None:
    bench = build([[*call("repeat", {"token": "secret://a"})], [*say("ok")]], base=Shapes)
    await bench.run()
    told = bench.model.requests[1].messages[-1].content
    assert told == (
        '{"[REDACTED]": ["[REDACTED]", {"in": "<[REDACTED]>"}], "n": 1, "on": true, "none": null}'
    )


@pytest.mark.requirement("HITL-14")
async def test_the_model_is_told_which_arguments_failed_where_a_person_changed_them(
    build: Build,
) -> None:
    bench = build([[*call("fail", {"path": "a"})], [*say("ok")]], base=Shapes)
    request = (await bench.run())[-1].payload
    await bench.decide("modify", request.id, modified_payload={"path": "b"})
    await bench.resume()
    asked, told = bench.model.requests[1].messages[-2:]
    assert told.content == "no b"
    assert asked.tool_calls[0].arguments == {"path": "b"}


class Timed:
    """Tools with bounds of their own."""

    def __init__(self) -> None:
        self.ledger: list[str] = []

    @agent_tool(timeout=TimeoutPolicy(seconds=0.01))
    async def wait(self) -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    @agent_tool()
    async def own(self) -> str:
        """Raise a timeout of its own."""
        raise TimeoutError

    @agent_tool(result_budget=ResultBudget(max_bytes=8))
    async def tell(self, text: str) -> str:
        """Tell a text."""
        return text


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("wait", "agent.tool.timeout", "wait took longer than 0.01 seconds."),
        ("own", "agent.tool.failed", "own raised TimeoutError."),
    ],
)
async def test_a_tool_that_takes_too_long_is_told_apart_from_one_that_says_so_itself(
    build: Build, name: str, code: str, message: str
) -> None:
    bench = build([[*call(name)]], base=Timed)
    error = (await bench.run())[-1].payload
    assert (error.code, error.message) == (code, message)


@pytest.mark.parametrize(
    ("text", "told"), [("12345678", "12345678"), ("123456789", "12345678"), ("1234567ü", "1234567")]
)
async def test_a_result_is_cut_at_its_budget_and_never_inside_a_character(
    build: Build, text: str, told: str
) -> None:
    bench = build([[*call("tell", {"text": text})], [*say("ok")]], base=Timed)
    await bench.run()
    content = bench.model.requests[1].messages[-1].content
    assert content.startswith(told)
    assert (content == told) is (text == told)


async def test_a_models_own_error_keeps_its_code_and_whether_to_try_again(build: Build) -> None:
    busy = AgentModelError("Too busy.", code="agent.model.rate_limit", retryable=True)
    error = (await build([[raises(busy)]]).run())[-1].payload
    assert (error.code, error.message, error.retryable) == (
        "agent.model.rate_limit",
        "Too busy.",
        True,
    )


class Heard:
    ledger: tuple[str, ...] = ()

    @on_signal(AgentSignalKind.EXTERNAL_EVENT)
    async def on_event(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        yield AgentYield(AgentYieldKind.PROGRESS, Progress(f"heard {signal.id}"))
        yield AgentYield(AgentYieldKind.PROGRESS, Progress("and again"))


async def test_everything_that_a_hook_shows_is_shown_in_order(build: Build) -> None:
    bench = build([[*say("ok")]], base=Heard, accepted_signals=MESSAGES)
    await bench.signal(AgentSignalKind.EXTERNAL_EVENT)
    items = await bench.run()
    shown = [i.payload.message for i in items if i.kind is AgentYieldKind.PROGRESS]
    assert shown == ["heard signal-1", "and again"]


# ---------------------------------------------------------------- stops between two waits


async def shown_after_trip(bench: Bench, kind: type[object]) -> list[object]:
    """Trip the gate while the caller holds a frame of some kind, and give what is still shown."""
    kit = bench.runner()._kit(bench.input())
    after: list[object] | None = None
    async with asyncio.timeout(5), aclosing(run_frames(kit, WatchTimes())) as frames:
        async for frame in frames:
            if after is not None:
                after.append(frame)
            elif isinstance(frame, kind):
                await bench.signal(AgentSignalKind.CANCEL)
                kit.gate.trip(StopReason.CANCEL, CancelOrder("signal-1", "enough"))
                after = []
    assert after is not None
    return after


@pytest.mark.requirement("CANCEL-2")
async def test_no_further_token_is_shown_once_the_run_is_stopped(build: Build) -> None:
    bench = build([[*say("one two three", chunk=4)]])
    after = await shown_after_trip(bench, TextShown)
    assert not [frame for frame in after if isinstance(frame, TextShown)]
    assert isinstance(after[-1], RunCancelled)
    assert bench.model.closed == 1


@pytest.mark.requirement("CANCEL-2")
@pytest.mark.parametrize(
    ("asked", "kind"),
    [(call("file.read", {"path": "a"}), CallFinished), (PAY, ApprovalAsked)],
)
async def test_a_stop_that_comes_between_two_steps_holds_up_the_next_one(
    build: Build, asked: Any, kind: type[object]
) -> None:
    bench = build([[*asked], [*say("never")]])
    after = await shown_after_trip(bench, kind)
    assert isinstance(after[-1], RunCancelled)
    assert len(bench.model.requests) == 1
    assert await standing(bench) == ("cancelled", "cancellation_requested")
