"""The conversation that a run belongs to: what it is seeded with, and what it leaves for the next one."""

from collections.abc import Callable, Sequence

import pytest

from spakky.agent import (
    AgentValueError,
    AgentYieldKind,
    ConversationTurn,
    ModelMessage,
    ModelMessageRole,
    RejectionPolicy,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import call, fail, say

type Build = Callable[..., Bench]

PAY = [*call("bank.pay", {"amount": 5})]


def spoken(messages: Sequence[ModelMessage]) -> list[tuple[str, str]]:
    return [(m.role.value, m.content) for m in messages]


async def turns(bench: Bench, conversation_id: str = "talk") -> list[tuple[str, str]]:
    stored = await bench.ports.task_store.load_history(conversation_id)
    return [(turn.role.value, turn.content) for turn in stored]


@pytest.mark.requirement("STORE-3", "STORE-5", "STORE-8", "LOOP-24")
async def test_the_turns_of_a_completed_run_are_replayed_to_the_next_one(build: Build) -> None:
    bench = build([[*say("hello Kim")], [*say("you are Kim")]])
    await bench.run("I am Kim", conversation_id="talk")
    assert await turns(bench) == [("user", "I am Kim"), ("assistant", "hello Kim")]
    bench.run_id = "run-2"
    await bench.run("who am I?", conversation_id="talk")
    assert spoken(bench.model.requests[1].messages) == [
        ("system", "Be exact."),
        ("user", "I am Kim"),
        ("assistant", "hello Kim"),
        ("user", "who am I?"),
    ]
    assert len(await turns(bench)) == 4


@pytest.mark.requirement("LOOP-18", "LOOP-19", "STORE-8")
async def test_without_a_conversation_id_the_runs_own_id_stands_in(build: Build) -> None:
    bench = build([[*say("ok")]])
    await bench.run("hi")
    assert await turns(bench, "run-1") == [("user", "hi"), ("assistant", "ok")]


@pytest.mark.requirement("STORE-4")
def test_a_turn_is_said_by_the_user_or_the_assistant() -> None:
    for role in (ModelMessageRole.USER, ModelMessageRole.ASSISTANT):
        turn = ConversationTurn(role, "text")
        assert (turn.role, turn.content) == (role, "text")
    for role in set(ModelMessageRole) - {ModelMessageRole.USER, ModelMessageRole.ASSISTANT}:
        with pytest.raises(AgentValueError, match="USER or ASSISTANT"):
            ConversationTurn(role, "text")


@pytest.mark.requirement("STORE-5")
@pytest.mark.parametrize("role", [ModelMessageRole.USER, ModelMessageRole.ASSISTANT])
def test_a_turn_becomes_a_message_with_its_role_and_content(role: ModelMessageRole) -> None:
    message = ConversationTurn(role, "text").as_model_message()
    assert (message.role, message.content, message.tool_calls) == (role, "text", ())


@pytest.mark.requirement("STORE-8")
async def test_a_paused_run_records_nothing_and_once_it_is_resumed_its_two_turns(
    build: Build,
) -> None:
    """OP-25."""
    bench = build([PAY, [*say("paid")]])
    items = await bench.run("pay", conversation_id="talk")
    assert await turns(bench) == []
    await bench.decide("approve", items[-1].payload.id)
    await bench.resume()
    assert await turns(bench) == [("user", "pay"), ("assistant", "paid")]
    await bench.resume()
    assert len(await turns(bench)) == 2


@pytest.mark.requirement("STORE-8")
async def test_a_failed_run_records_nothing(build: Build) -> None:
    bench = build([[fail("x", "broken")]])
    items = await bench.run("hi", conversation_id="talk")
    assert items[-1].kind is AgentYieldKind.ERROR
    assert await turns(bench) == []


@pytest.mark.requirement("LOOP-24")
async def test_a_run_with_an_injected_history_never_touches_the_store(build: Build) -> None:
    bench = build([PAY, [*say("ok")]])
    reads: list[str] = []

    async def note(name: str) -> None:
        reads.append(name)

    bench.ports.store.before_read = note
    history = (ModelMessage(ModelMessageRole.USER, "before"),)
    items = await bench.run("now", conversation_id="talk", message_history=history)
    await bench.decide("approve", items[-1].payload.id)
    await bench.resume(conversation_id="talk")
    assert spoken(bench.model.requests[0].messages)[1:] == [("user", "before"), ("user", "now")]
    assert spoken(bench.model.requests[1].messages)[1] == ("user", "before")
    assert "task_store.load_history" not in reads
    assert await turns(bench) == []


@pytest.mark.requirement("HITL-9", "STORE-8")
@pytest.mark.parametrize("policy", list(RejectionPolicy))
async def test_after_a_rejection_the_conversation_can_go_on(
    build: Build, policy: RejectionPolicy
) -> None:
    """OP-C01: no call is left dangling, and nothing claims that the tool ran."""
    informed = policy is RejectionPolicy.INFORM_MODEL
    script = [PAY, *([[*say("then not")]] if informed else []), [*say("hello again")]]
    bench = build(script, on_rejection=policy)
    items = await bench.run("pay", conversation_id="talk")
    await bench.decide("reject", items[-1].payload.id)
    await bench.resume()
    bench.run_id = "run-2"
    assert (await bench.run("hello", conversation_id="talk"))[-1].kind is AgentYieldKind.FINAL
    sent = bench.model.requests[-1].messages
    called = [c.call_id for m in sent for c in m.tool_calls]
    assert [m.tool_call_id for m in sent if m.role is ModelMessageRole.TOOL] == called
    assert "paid" not in str(sent)
    assert bench.tools.ledger == []
