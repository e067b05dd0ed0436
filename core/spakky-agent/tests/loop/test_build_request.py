"""The request of a model call."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, override

import pytest

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_request import ModelCapability, ModelSelection
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.declare.catalog import AgentToolCatalog
from spakky.agent.loop.build_request import (
    build_request,
    message_text,
    needs_compaction,
    tool_calling_of,
)
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.progress import Progress
from spakky.agent.ports.compaction import AgentCompactionPolicy, ICompactionStrategy
from spakky.agent.rules.history import OUTCOME_UNKNOWN
from spakky.agent_testkit.desk import Bench

ROLE = ModelMessageRole
USER = ModelMessage(ROLE.USER, "go")
Build = Callable[..., Bench]


def kit_of(bench: Bench, **more: Any) -> RunKit:
    # The kit is made for each run; a test of one executor needs it without the run.
    return bench.runner()._kit(bench.input(**more))


class Recording(ICompactionStrategy):
    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.seen: list[tuple[int, ModelUsage]] = []

    @override
    async def compact(
        self, history: tuple[ModelMessage, ...], usage: ModelUsage, capability: ModelCapability
    ) -> tuple[ModelMessage, ...]:
        self.seen.append((len(history), usage))
        return history[-self.keep :]


@pytest.mark.requirement("SPEC-21", "LOOP-20", "LOOP-21", "LOOP-23")
async def test_a_request_holds_instructions_dialogue_messages_tools_and_what_the_caller_gave(
    build: Build,
) -> None:
    selection = ModelSelection(model="m")
    kit = kit_of(build([]), model_selection=selection, metadata={"tenant": "t"})
    seed = ModelMessage(ROLE.ASSISTANT, "earlier")
    request = await build_request(kit, Progress("r", seeds=(seed,), transcript=(USER,)))
    assert [(message.role, message.content) for message in request.messages] == [
        (ROLE.SYSTEM, "Be exact."),
        (ROLE.ASSISTANT, "earlier"),
        (ROLE.USER, "go"),
    ]
    assert (request.model_selection, request.metadata) == (selection, {"tenant": "t"})
    assert request.tool_calling is not None
    assert "bank.pay" in [tool.name for tool in request.tool_calling.tools]
    assert request.structured_output is None


async def test_an_open_call_is_answered_before_the_model_is_asked(build: Build) -> None:
    asked = ModelMessage(ROLE.ASSISTANT, "", tool_calls=(ModelToolCall("x", {}, "c"),))
    request = await build_request(kit_of(build([])), Progress("r", transcript=(USER, asked)))
    assert request.messages[-1].content == OUTCOME_UNKNOWN


async def test_a_typed_output_and_no_tools_and_no_instructions(build: Build) -> None:
    kit = kit_of(build([], output_type=int))
    kit.catalog = AgentToolCatalog()
    kit.spec = replace(kit.spec, instructions=None)
    request = await build_request(kit, Progress("r", transcript=(USER,)))
    assert request.tool_calling is None
    assert request.messages == (USER,)
    assert request.structured_output is not None


def test_a_tool_is_described_as_its_catalog_does(build: Build) -> None:
    spec = tool_calling_of(build([]).runner().agent.tool_catalog)
    assert spec is not None
    pay = next(tool for tool in spec.tools if tool.name == "bank.pay")
    assert pay.description == "Pay an amount; asks for approval."
    assert list(pay.parameters.schema["properties"] or ()) == ["amount"]  # type: ignore[arg-type]  # a JSON object
    assert pay.parameters.strict


LONG = tuple(ModelMessage(ROLE.USER, "x" * 40) for _ in range(4))


@pytest.mark.requirement("COMPACT-8")
async def test_a_history_beyond_its_threshold_is_compacted_by_each_strategy_in_turn(
    build: Build,
) -> None:
    first, second = Recording(3), Recording(2)
    policy = AgentCompactionPolicy((first, second), trigger_token_threshold=39)
    kit = kit_of(build([], compaction=policy))
    usage = ModelUsage(input_tokens=7)
    request = await build_request(kit, Progress("r", transcript=LONG, last_usage=usage))
    assert first.seen == [(4, usage)]
    assert second.seen == [(3, usage)]
    assert len(request.messages) == 3


@pytest.mark.requirement("COMPACT-8")
async def test_a_history_at_its_threshold_is_left_alone(build: Build) -> None:
    strategy = Recording(1)
    policy = AgentCompactionPolicy((strategy,), trigger_token_threshold=40)
    kit = kit_of(build([], compaction=policy))
    request = await build_request(kit, Progress("r", transcript=LONG))
    assert strategy.seen == []
    assert len(request.messages) == 5


async def test_a_compaction_that_tears_a_call_from_its_answer_is_repaired(build: Build) -> None:
    policy = AgentCompactionPolicy((Recording(1),), trigger_token_threshold=1)
    kit = kit_of(build([], compaction=policy))
    asked = ModelMessage(ROLE.ASSISTANT, "", tool_calls=(ModelToolCall("x", {}, "c"),))
    answer = ModelMessage(ROLE.TOOL, "x" * 40, tool_call_id="c")
    request = await build_request(kit, Progress("r", transcript=(*LONG, asked, answer)))
    assert [message.role for message in request.messages] == [ROLE.SYSTEM]


@pytest.mark.parametrize(
    ("usage", "window", "needed"),
    [
        (None, None, False),
        (100, None, False),
        (101, None, True),
        (None, 39, True),
        (None, 40, False),
        (41, 40, True),
    ],
)
@pytest.mark.requirement("COMPACT-8")
def test_the_larger_of_estimate_and_usage_meets_the_smaller_of_threshold_and_window(
    usage: int | None, window: int | None, needed: bool
) -> None:
    policy = AgentCompactionPolicy((Recording(1),), trigger_token_threshold=100)
    capability = ModelCapability(context_window_tokens=window)
    known = ModelUsage(input_tokens=usage)
    assert needs_compaction(policy, LONG, known, capability) is needed


def test_the_arguments_of_calls_count() -> None:
    calls: Sequence[ModelToolCall] = (ModelToolCall("pay", {"amount": 1}),)
    message = ModelMessage(ROLE.ASSISTANT, "so", tool_calls=tuple(calls))
    assert len(message_text(message)) > len("so" + "pay" + "amount")
    assert message_text(USER) == "go"
