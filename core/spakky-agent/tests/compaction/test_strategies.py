from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.compaction.keep_recent import KeepRecentMessagesCompactionStrategy
from spakky.agent.compaction.pairs import is_well_formed, keep_pairs, plan_recent, split_blocks
from spakky.agent.compaction.provider_managed import ProviderManagedCompactionStrategy
from spakky.agent.compaction.summarize import SummarizeOldTurnsCompactionStrategy
from spakky.agent.compaction.trim_tools import TrimToolResultsCompactionStrategy
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_request import ModelCapability
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.error import (
    AgentDefinitionError,
    AgentModelConfigurationError,
    AgentModelError,
)
from spakky.agent.ports.compaction import AgentCompactionPolicy, ICompactionStrategy
from spakky.agent_testkit.scripted_model import ScriptedModel, fail, say

type History = tuple[ModelMessage, ...]

ROLE = ModelMessageRole
USAGE = ModelUsage()
CAPABILITY = ModelCapability()


def wrong(value: object) -> Any:
    """Give a value of a type that the checker would refuse."""
    return value


def user(text: str = "question") -> ModelMessage:
    return ModelMessage(ROLE.USER, text)


def assistant(text: str = "answer", *call_ids: str | None) -> ModelMessage:
    calls = tuple(ModelToolCall("look_up", {"key": 1}, call_id) for call_id in call_ids)
    return ModelMessage(ROLE.ASSISTANT, text, tool_calls=calls)


def tool(call_id: str | None, text: str = "result") -> ModelMessage:
    return ModelMessage(ROLE.TOOL, text, tool_call_id=call_id, tool_name="look_up")


def system(text: str = "rules") -> ModelMessage:
    return ModelMessage(ROLE.SYSTEM, text)


def evidence(text: str = "fact") -> ModelMessage:
    return ModelMessage(ROLE.EVIDENCE, text)


@st.composite
def turns(draw: st.DrawFn) -> list[ModelMessage]:
    """Give one well-formed turn; ids come again in later turns, as with some providers."""
    simple = draw(st.sampled_from([None, user(), assistant(), system(), evidence()]))
    if simple is not None:
        return [simple]
    ids = [str(place) for place in range(draw(st.integers(1, 3)))]
    results = [tool(call_id, draw(st.text(max_size=8))) for call_id in draw(st.permutations(ids))]
    between = draw(st.lists(st.sampled_from([user("steer"), evidence(), system()]), max_size=1))
    return [assistant("", *ids), *results[:1], *between, *results[1:]]


HISTORIES = st.lists(turns(), max_size=7).map(
    lambda parts: tuple(message for part in parts for message in part)
)
MESSAGES = st.sampled_from(
    [
        user(),
        assistant(),
        assistant("", "a"),
        assistant("", "a", "b"),
        tool("a"),
        tool("b"),
        system(),
    ]
)
THREE_TURNS = (
    user("u1"),
    assistant("", "t1"),
    tool("t1"),
    assistant("a1"),
    user("u2"),
    assistant("", "t2", "t3"),
    tool("t2"),
    tool("t3"),
)


def assert_pairs(history: History) -> None:
    """Check that each call is answered once before the model speaks again, and no result is alone."""
    waiting: list[str | None] = []
    for message in history:
        if message.role is ROLE.ASSISTANT:
            assert not waiting
        waiting += [call.call_id for call in message.tool_calls]
        if message.role is ROLE.TOOL:
            waiting.remove(message.tool_call_id)
    assert not waiting


def count_system(history: History) -> int:
    return sum(message.role is ROLE.SYSTEM for message in history)


@given(HISTORIES)
def test_blocks_cover_a_history_and_each_is_whole(history: History) -> None:
    blocks = split_blocks(history)

    assert tuple(item for start, end in blocks for item in history[start:end]) == history
    assert all(is_well_formed(history[start:end]) for start, end in blocks)


@pytest.mark.parametrize(
    ("block", "is_whole"),
    [
        ([assistant("", "a"), tool("a")], True),
        ([assistant("", None), tool(None)], True),
        ([assistant("", "a", "a"), tool("a"), tool("a")], True),
        ([assistant("", "a")], False),
        ([assistant("", "a"), tool("b")], False),
        ([assistant("", "a"), tool("a"), tool("a")], False),
        ([tool("a")], False),
    ],
)
def test_a_block_is_well_formed_when_calls_and_results_match(
    block: list[ModelMessage], is_whole: bool
) -> None:
    assert is_well_formed(block) is is_whole


@given(HISTORIES, st.integers(0, 30))
@pytest.mark.requirement("COMPACT-13")
def test_a_cut_at_any_place_leaves_no_call_or_result_alone(history: History, place: int) -> None:
    kept = keep_pairs(history, place)

    assert_pairs(kept)
    assert count_system(kept) == count_system(history)
    assert any(
        kept == (*(item for item in history[:cut] if item.role is ROLE.SYSTEM), *history[cut:])
        for cut in range(min(place, len(history)), len(history) + 1)
    )


def test_a_cut_between_blocks_keeps_all_after_it() -> None:
    assert keep_pairs(THREE_TURNS, 0) == THREE_TURNS
    assert keep_pairs(THREE_TURNS, 2) == THREE_TURNS[3:]
    assert keep_pairs((system(), *THREE_TURNS), 5) == (system(), *THREE_TURNS[4:])
    assert keep_pairs(THREE_TURNS, 6) == ()


@given(st.lists(MESSAGES, max_size=12), st.integers(1, 12))
@pytest.mark.requirement("COMPACT-13")
def test_no_orphan_is_chosen_from_any_list_of_messages(
    messages: list[ModelMessage], limit: int
) -> None:
    chosen = plan_recent(messages, limit)

    assert list(chosen) == sorted(set(chosen))
    assert len(chosen) <= max(limit, count_system(tuple(messages)))
    if len(messages) > limit:
        assert_pairs(tuple(messages[place] for place in chosen))


async def compact(strategy: ICompactionStrategy, history: History) -> History:
    return await strategy.compact(history, USAGE, CAPABILITY)


@pytest.mark.requirement("COMPACT-4")
async def test_the_newest_messages_stay_in_order() -> None:
    history = tuple(user(f"u{place}") for place in range(10))

    assert await compact(KeepRecentMessagesCompactionStrategy(3), history) == history[-3:]
    assert await compact(KeepRecentMessagesCompactionStrategy(10), history) is history


@pytest.mark.parametrize("limit", range(1, 9))
@pytest.mark.requirement("COMPACT-4", "COMPACT-13")
async def test_calls_keep_their_results_for_every_window(limit: int) -> None:
    kept = await compact(KeepRecentMessagesCompactionStrategy(limit), THREE_TURNS)

    assert_pairs(kept)
    assert 1 <= len(kept) <= limit
    again = await compact(KeepRecentMessagesCompactionStrategy(max(1, limit - 1)), kept)
    assert_pairs(again)
    trimmed = await compact(TrimToolResultsCompactionStrategy(2), kept)
    assert_pairs(trimmed)


async def test_a_window_smaller_than_the_newest_turn_keeps_the_newest_task() -> None:
    assert await compact(KeepRecentMessagesCompactionStrategy(2), THREE_TURNS) == (user("u2"),)
    assert await compact(KeepRecentMessagesCompactionStrategy(3), THREE_TURNS) == THREE_TURNS[5:]
    assert await compact(KeepRecentMessagesCompactionStrategy(4), THREE_TURNS) == THREE_TURNS[4:]
    alone = (assistant("", "a", "b"), tool("a"), tool("b"))
    assert await compact(KeepRecentMessagesCompactionStrategy(2), alone) == ()


async def test_system_messages_are_never_lost() -> None:
    history = (system("s1"), user("u1"), system("s2"), user("u2"))

    assert await compact(KeepRecentMessagesCompactionStrategy(3), history) == (
        system("s1"),
        system("s2"),
        user("u2"),
    )
    assert await compact(KeepRecentMessagesCompactionStrategy(1), history) == (
        system("s1"),
        system("s2"),
    )


@pytest.mark.requirement("COMPACT-5")
async def test_only_tool_results_are_cut() -> None:
    history = (user("x" * 9), assistant("y" * 9, "a"), tool("a", "z" * 9), tool("b", "zz"))

    trimmed = await compact(TrimToolResultsCompactionStrategy(4), history)

    assert trimmed == (history[0], history[1], replace(history[2], content="zzzz"), history[3])
    assert all(trimmed[place] is history[place] for place in (0, 1, 3))


@pytest.mark.requirement("COMPACT-7")
async def test_a_provider_managed_history_is_passed_on_itself() -> None:
    assert await compact(ProviderManagedCompactionStrategy(), THREE_TURNS) is THREE_TURNS


@pytest.mark.requirement("COMPACT-6")
async def test_old_messages_become_one_evidence_message_by_one_call() -> None:
    model = ScriptedModel([say("in short")])
    strategy = SummarizeOldTurnsCompactionStrategy(model, 3)

    shorter = await compact(strategy, (system(), *THREE_TURNS))

    assert shorter == (
        system(),
        ModelMessage(
            ROLE.EVIDENCE,
            "in short",
            {"compaction": "summarize_old_turns", "summarized_messages": 7},
        ),
        user("u2"),
    )
    (request,) = model.requests
    assert [message.role for message in request.messages] == [ROLE.SYSTEM, ROLE.USER]
    assert request.messages[0].content == strategy.summary_instruction
    assert request.messages[1].content == (
        'user: u1\ncall look_up: {"key": 1}\ntool look_up: result\nassistant: a1\n'
        'call look_up: {"key": 1}\ncall look_up: {"key": 1}\n'
        "tool look_up: result\ntool look_up: result"
    )


@pytest.mark.requirement("COMPACT-6")
async def test_the_kept_messages_stay_around_the_summary_in_order() -> None:
    model = ScriptedModel([say("in short")])
    history = (user("u1"), system("s"), user("u2"), assistant("a2"))

    shorter = await compact(SummarizeOldTurnsCompactionStrategy(model, 3, "Be brief."), history)

    assert [message.content for message in shorter] == ["in short", "s", "u2", "a2"]
    assert model.requests[0].messages[0].content == "Be brief."


@pytest.mark.requirement("COMPACT-6")
async def test_nothing_is_asked_when_nothing_is_old() -> None:
    model = ScriptedModel([say("in short")])
    strategy = SummarizeOldTurnsCompactionStrategy(model, 8)

    assert await compact(strategy, THREE_TURNS) is THREE_TURNS
    once = await compact(strategy, (user("u0"), *THREE_TURNS))
    assert len(model.requests) == 1
    assert await compact(strategy, once) is once
    assert len(model.requests) == 1


async def test_a_blank_summary_leaves_the_history_as_it_is() -> None:
    strategy = SummarizeOldTurnsCompactionStrategy(ScriptedModel([say(" ")]), 1)

    assert await compact(strategy, THREE_TURNS) is THREE_TURNS


async def test_the_text_to_summarise_takes_half_of_the_models_window() -> None:
    model = ScriptedModel([say("short")], capability=ModelCapability(context_window_tokens=10))
    strategy = SummarizeOldTurnsCompactionStrategy(model, 1)

    await compact(strategy, (user("old " * 20), user("newer words"), user("u2")))

    sent = model.requests[0].messages[1].content
    assert sent == "[earlier part left out]\nd \nuser: newer words"


@pytest.mark.requirement("COMPACT-6")
async def test_a_strategy_without_a_model_works_once_it_is_bound() -> None:
    unbound = SummarizeOldTurnsCompactionStrategy(None, 3)
    with pytest.raises(AgentModelConfigurationError, match="with_model"):
        await compact(unbound, THREE_TURNS)

    bound = unbound.with_model(ScriptedModel([say("in short")]))

    assert unbound.model is None
    assert len(await compact(bound, THREE_TURNS)) < len(THREE_TURNS)


async def test_a_fault_of_the_helper_model_is_not_hidden() -> None:
    with pytest.raises(AgentModelError):
        await compact(
            SummarizeOldTurnsCompactionStrategy(
                ScriptedModel([[fail("agent.model.failed", "down")]]), 1
            ),
            THREE_TURNS,
        )


@given(history=HISTORIES, limit=st.integers(1, 10))
@pytest.mark.requirement("COMPACT-1", "COMPACT-2", "COMPACT-3", "COMPACT-13")
async def test_every_built_in_gives_a_history_that_is_not_longer_and_well_formed(
    history: History, limit: int
) -> None:
    before = repr(history)
    strategies: tuple[ICompactionStrategy, ...] = (
        KeepRecentMessagesCompactionStrategy(limit),
        TrimToolResultsCompactionStrategy(limit),
        SummarizeOldTurnsCompactionStrategy(ScriptedModel([say("in short")] * 2), limit),
        ProviderManagedCompactionStrategy(),
    )

    chained = history
    for strategy in strategies:
        shorter = await compact(strategy, history)
        assert len(shorter) <= len(history)
        assert count_system(shorter) == count_system(history)
        assert_pairs(shorter)
        chained = await compact(strategy, chained)
        assert_pairs(chained)
    assert repr(history) == before


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: KeepRecentMessagesCompactionStrategy(0), "max_messages"),
        (lambda: KeepRecentMessagesCompactionStrategy(True), "max_messages"),
        (lambda: TrimToolResultsCompactionStrategy(0), "max_characters"),
        (lambda: TrimToolResultsCompactionStrategy(wrong(1.5)), "max_characters"),
        (lambda: SummarizeOldTurnsCompactionStrategy(None, 0), "keep_recent"),
        (lambda: SummarizeOldTurnsCompactionStrategy(wrong("gpt"), 1), "model"),
        (lambda: SummarizeOldTurnsCompactionStrategy(None, 1, " "), "summary_instruction"),
        (lambda: AgentCompactionPolicy((), 10), "strategies"),
        (lambda: AgentCompactionPolicy((ProviderManagedCompactionStrategy(),), 0), "threshold"),
        (lambda: AgentCompactionPolicy((ProviderManagedCompactionStrategy(),), -1), "threshold"),
        (lambda: AgentCompactionPolicy((wrong("keep"),), 10), "strategies"),
    ],
)
@pytest.mark.requirement("COMPACT-4", "COMPACT-5", "COMPACT-6", "COMPACT-8")
def test_a_strategy_or_policy_declared_wrongly_is_refused_by_its_field(
    build: Callable[[], object], word: str
) -> None:
    with pytest.raises(AgentDefinitionError, match=word):
        build()


@pytest.mark.requirement("COMPACT-8")
def test_a_policy_keeps_its_strategies_in_order() -> None:
    chain = [KeepRecentMessagesCompactionStrategy(3), ProviderManagedCompactionStrategy()]

    assert AgentCompactionPolicy(wrong(chain), 100).strategies == tuple(chain)
