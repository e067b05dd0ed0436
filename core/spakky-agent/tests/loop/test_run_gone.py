"""What a stored run was planned with and its agent does not have any more: tools, teammates and what they declared."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import pytest

from spakky.agent import (
    AgentTeammate,
    AgentYieldKind,
    ApprovalDecision,
    Idempotency,
    ModelToolCall,
    SecretField,
    ToolEffects,
    agent_tool,
)
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.tool_metadata import ToolRisk
from spakky.agent.json_value import digest_value
from spakky.agent.loop.decisions import decide_on_signal
from spakky.agent.loop.do_delegate import run_delegate
from spakky.agent.loop.do_people import ask_people
from spakky.agent.loop.do_tools import run_call
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import CallReturned, PeopleAsked
from spakky.agent.loop.progress import CallStage, CallState, Progress
from spakky.agent.loop.steps import AskPeople
from spakky.agent.loop.tool_result import failed
from spakky.agent_testkit.desk import Bench, DeskTools, drain
from spakky.agent_testkit.scripted_model import call, say

type Build = Callable[..., Bench]

PAY = [*call("bank.pay", {"amount": 5})]
APPROVAL = "run-1/call/1.1/approval"


class Poor:
    """An agent without any of the desk's tools."""

    def __init__(self) -> None:
        self.ledger: list[str] = []

    @agent_tool(
        schema_name="bank.pay",
        effects=ToolEffects.external_side_effect(),
        idempotency=Idempotency.NON_IDEMPOTENT,
    )
    async def pay(self, pin: Annotated[str, SecretField()]) -> str:
        """Pay with a pin."""
        self.ledger.append(pin)
        return "paid"


class Bare:
    """An agent without tools."""

    ledger: tuple[str, ...] = ()


def kit_of(build: Build, base: type, **spec: Any) -> RunKit:
    bench = build([], base=base, **spec)
    return bench.runner()._kit(bench.input())


def state_of(name: str, stage: CallStage, **parts: Any) -> CallState:
    asked = ModelToolCall(name, {"amount": 5}, "c1")
    return CallState(
        "run-1/call/1.1",
        asked,
        digest_value(asked.arguments),
        stage,
        Idempotency.NON_IDEMPOTENT,
        **parts,
    )


async def asked_of(kit: RunKit, state: CallState) -> CallState:
    (outcome,) = await drain(ask_people(kit, AskPeople((state,))))
    assert isinstance(outcome, PeopleAsked)
    return outcome.calls[0]


def decision(kind: str, **payload: Any) -> AgentSignal:
    answer = {"request_id": APPROVAL, "decision": kind, **payload}
    return AgentSignal("d1", "run-1", AgentSignalKind.APPROVAL_DECISION, answer)


async def test_an_approved_call_of_a_tool_that_is_gone_is_answered_to_the_model(
    build: Build,
) -> None:
    await build([PAY]).run()
    later = build([[*say("then not")]], base=Bare)
    await later.decide("approve", APPROVAL)
    items = await later.resume()
    assert items[-1].kind is AgentYieldKind.FINAL
    told = later.model.requests[0].messages[-1]
    assert told.content == "The agent has no tool bank.pay any more."
    assert told.metadata["is_error"]


@pytest.mark.requirement("HITL-14")
async def test_a_call_of_a_tool_that_is_gone_cannot_be_modified(build: Build) -> None:
    await build([PAY]).run()
    later = build([], base=Bare)
    await later.decide("modify", APPROVAL, modified_payload={"amount": 3})
    items = await later.resume()
    assert items[-1].payload.metadata["refused"] == "The agent has no tool bank.pay any more."


async def test_a_result_can_be_supplied_for_a_call_of_a_tool_that_is_gone(build: Build) -> None:
    await build([PAY]).run()
    later = build([[*say("ok")]], base=Bare)
    await later.decide("approve", APPROVAL, result={"paid": 5})
    assert (await later.resume())[-1].kind is AgentYieldKind.FINAL
    assert later.model.requests[0].messages[-1].content == '{"paid": 5}'


async def test_an_approved_call_that_does_not_bind_any_more_is_answered_to_the_model(
    build: Build,
) -> None:
    await build([PAY]).run()
    later = build([[*say("then not")]], base=Poor)
    await later.decide("approve", APPROVAL)
    assert (await later.resume())[-1].kind is AgentYieldKind.FINAL
    assert later.agent.ledger == []
    assert "pin" in later.model.requests[0].messages[-1].content


async def test_people_are_asked_about_a_tool_that_is_gone_or_needs_no_consent_any_more(
    build: Build,
) -> None:
    gone = await asked_of(kit_of(build, Bare), state_of("bank.pay", CallStage.GATED))
    assert gone.request is not None
    assert gone.request.prompt == "bank.pay is not a tool of this agent any more."
    written = replace(
        state_of("diary.add", CallStage.GATED), call=ModelToolCall("diary.add", {"text": "a"}, "c1")
    )
    harmless = await asked_of(kit_of(build, DeskTools), written)
    assert harmless.request is not None
    assert harmless.request.prompt == "diary.add asks for consent."


@pytest.mark.requirement("LOOP-26")
@pytest.mark.parametrize("uncertain", [False, True])
async def test_people_are_asked_about_arguments_that_do_not_fit_the_tool_any_more(
    build: Build, uncertain: bool
) -> None:
    """A deployment between the plan and the question changed the tool; the run must not break on it."""
    asked = await asked_of(
        kit_of(build, Poor), state_of("bank.pay", CallStage.GATED, uncertain=uncertain)
    )
    assert asked.request is not None
    assert asked.request.prompt.endswith("modify or reject the call.")
    assert asked.request.metadata["uncertain"] is uncertain
    assert (asked.request.risk == ToolRisk()) is not uncertain


@pytest.mark.requirement("RECOV-5")
async def test_people_are_asked_about_a_call_in_doubt_with_what_is_known_of_it(
    build: Build,
) -> None:
    doubtful = state_of("bank.pay", CallStage.GATED, uncertain=True)
    gone = await asked_of(kit_of(build, Bare), doubtful)
    known = await asked_of(kit_of(build, DeskTools), replace(doubtful, storable=False))
    assert gone.request is not None
    assert known.request is not None
    assert (gone.stage, gone.request.id) == (CallStage.WAITING, "run-1/call/1.1/recovery")
    assert gone.request.risk == ToolRisk()
    assert "may or may not have taken effect" in gone.request.prompt
    assert known.request.risk != ToolRisk()
    assert known.request.prompt.endswith("Its arguments held a secret and were not kept.")
    assert known.request.metadata["uncertain"] is True


@pytest.mark.requirement("RECOV-5", "SAFE-9")
async def test_a_call_in_doubt_whose_arguments_were_not_kept_cannot_simply_run_again(
    build: Build,
) -> None:
    kit = kit_of(build, DeskTools)
    waiting = await asked_of(
        kit, state_of("bank.pay", CallStage.GATED, uncertain=True, storable=False)
    )
    signal = replace(
        decision("approve"),
        payload={"request_id": "run-1/call/1.1/recovery", "decision": "approve"},
    )
    decided = decide_on_signal(kit, Progress("run-1", calls=(waiting,)), signal)
    assert decided.decision is None
    assert decided.call is not None
    assert decided.call.stage is CallStage.WAITING
    assert "supply its result" in (decided.call.note or "")


@pytest.mark.requirement("HITL-6")
@pytest.mark.parametrize("answer", [{"decision": "perhaps"}, {"decision": "modify"}, {}])
async def test_a_decision_that_cannot_be_read_leaves_the_request_open(
    build: Build, answer: dict[str, Any]
) -> None:
    bench = build([PAY, [*say("paid")]])
    await bench.run()
    payload = {"request_id": APPROVAL, **answer}
    await bench.signal(AgentSignalKind.APPROVAL_DECISION, "d1", **payload)
    items = await bench.resume()
    assert items[-1].kind is AgentYieldKind.APPROVAL
    assert "d1" in items[-1].payload.metadata["refused"]
    await bench.decide(ApprovalDecision.APPROVE.value, APPROVAL, "d2")
    await bench.resume()
    assert bench.tools.ledger == ["pay 5"]


async def test_a_teammate_that_is_gone_is_told_to_the_model(build: Build) -> None:
    kit = kit_of(build, Bare, teammates=(AgentTeammate("other", card_url="https://o.example"),))
    delegated = state_of("teammate.clerk.delegate", CallStage.STARTED, delegate="clerk")
    (outcome,) = await drain(run_delegate(kit, Progress("run-1"), delegated))
    assert isinstance(outcome, CallReturned)
    assert outcome.message.content == "The agent has no teammate clerk any more."
    assert outcome.message.metadata["is_error"]


async def test_a_call_of_a_tool_that_is_gone_counts_as_not_run(build: Build) -> None:
    outcome = await run_call(kit_of(build, Bare), state_of("bank.pay", CallStage.STARTED))
    assert isinstance(outcome, CallReturned)
    assert outcome.message.metadata["is_error"] is True
    assert outcome.message.metadata["not_run"] is True


async def test_a_failure_of_a_call_without_a_tool_is_told_as_it_is() -> None:
    outcome = failed(state_of("bank.pay", CallStage.STARTED), None, "It is closed.")
    assert outcome.message.content == "It is closed."
    assert outcome.call.stage is CallStage.DONE
