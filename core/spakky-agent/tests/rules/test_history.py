"""Histories: every call is answered once, right after the message that asked for it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.rules.history import (
    EXECUTED_KEY,
    OUTCOME_UNKNOWN,
    answer_call,
    repair_history,
    show_executed,
    used_call_ids,
)

ROLE = ModelMessageRole
call_ids = st.none() | st.sampled_from(["0", "1", "2"])
plain = st.builds(
    ModelMessage, st.sampled_from([ROLE.USER, ROLE.SYSTEM, ROLE.EVIDENCE]), st.text(max_size=3)
)
asking = st.lists(call_ids, max_size=3).map(
    lambda ids: ModelMessage(
        ROLE.ASSISTANT, "", tool_calls=tuple(ModelToolCall("read", {}, item) for item in ids)
    )
)
answers = st.builds(
    lambda text, call_id: ModelMessage(ROLE.TOOL, text, tool_call_id=call_id, tool_name="read"),
    st.text(max_size=3),
    call_ids,
)
histories = st.lists(plain | asking | answers, max_size=10)


def is_well_formed(history: Sequence[ModelMessage]) -> bool:
    rest = list(history)
    while rest:
        message = rest.pop(0)
        if message.role is ROLE.TOOL:
            return False
        for call in message.tool_calls:
            if not rest or rest[0].role is not ROLE.TOOL or rest[0].tool_call_id != call.call_id:
                return False
            rest.pop(0)
    return True


@given(histories)
@pytest.mark.requirement("LOOP-11")
def test_a_repaired_history_is_well_formed_and_stays_as_it_is(history: list[ModelMessage]) -> None:
    repaired = repair_history(history)
    assert is_well_formed(repaired)
    assert repair_history(repaired) == repaired
    kept = [message for message in repaired if message.role is not ROLE.TOOL]
    assert kept == [message for message in history if message.role is not ROLE.TOOL]


@given(histories)
def test_a_well_formed_history_comes_back_equal(history: list[ModelMessage]) -> None:
    well_formed = repair_history(history)
    assert repair_history(list(well_formed)) == well_formed
    if is_well_formed(history):
        assert repair_history(history) == tuple(history)


def test_answers_are_put_into_the_order_of_their_calls_and_orphans_go() -> None:
    a, b = ModelToolCall("read", {}, "a"), ModelToolCall("write", {}, "b")
    asked = ModelMessage(ROLE.ASSISTANT, "", tool_calls=(a, b))
    orphan = ModelMessage(ROLE.TOOL, "stray", tool_call_id="zz")
    history = [orphan, asked, answer_call(b, "B"), answer_call(a, "A"), answer_call(a, "again")]
    assert [message.content for message in repair_history(history)] == ["", "A", "B"]


def test_a_call_without_an_answer_is_recorded_as_unknown() -> None:
    call = ModelToolCall("pay", {}, "c")
    asked = ModelMessage(ROLE.ASSISTANT, "", tool_calls=(call,))
    _, answer = repair_history(
        [asked, ModelMessage(ROLE.USER, "well?"), answer_call(call, "late")]
    )[:2]
    assert (answer.content, answer.tool_call_id, answer.tool_name) == (OUTCOME_UNKNOWN, "c", "pay")
    assert answer.metadata == {"is_error": True}


def test_the_marks_of_an_answer_tell_errors_and_calls_that_were_not_run() -> None:
    call = ModelToolCall("pay", {}, "c")
    assert answer_call(call, "ok", message_id="m").message_id == "m"
    assert answer_call(call, "ok").metadata == {}
    assert answer_call(call, "no", is_error=True, ran=False).metadata == {
        "is_error": True,
        "not_run": True,
    }


def test_every_call_id_of_a_history_is_known() -> None:
    calls = (ModelToolCall("a", {}, "1"), ModelToolCall("b", {}))
    history = [ModelMessage(ROLE.USER, "x"), ModelMessage(ROLE.ASSISTANT, "", tool_calls=calls)]
    assert used_call_ids(history) == {"1"}


def asked(*ids: str, **arguments: int) -> ModelMessage:
    calls = tuple(ModelToolCall("pay", arguments, item) for item in ids)
    return ModelMessage(ROLE.ASSISTANT, "", tool_calls=calls)


def told(call_id: str, **metadata: object) -> ModelMessage:
    return ModelMessage(ROLE.TOOL, "ok", metadata, tool_call_id=call_id, tool_name="pay")  # type: ignore[arg-type]  # JSON values


@pytest.mark.requirement("HITL-14")
def test_the_model_is_shown_the_arguments_that_ran() -> None:
    history = (asked("c1", "c2", amount=5), told("c1", **{EXECUTED_KEY: {"amount": 3}}), told("c2"))
    shown = show_executed(history)
    assert [call.arguments for call in shown[0].tool_calls] == [{"amount": 3}, {"amount": 5}]
    assert shown[1:] == history[1:]


def test_a_history_in_which_nobody_changed_anything_is_shown_as_it_is() -> None:
    history = [asked("c1", amount=5), told("c1"), told("c1", **{EXECUTED_KEY: "damaged"})]
    shown = show_executed(history)
    assert shown == tuple(history)
    assert shown[0] is history[0]


def test_a_long_history_is_repaired_to_its_end() -> None:
    pairs = [message for n in range(200) for message in (asked(f"c{n}"), told(f"c{n}"))]
    assert repair_history(pairs) == tuple(pairs)
    assert repair_history(pairs[:-1])[-1].content == OUTCOME_UNKNOWN


def test_answers_from_a_store_find_their_calls() -> None:
    """Ids are equal, not the same object."""
    stored = "".join(["call", "_1_1"])
    history = (asked("call_1_1"), told(stored))
    assert repair_history(history) == history


def test_an_answer_says_by_itself_that_its_call_ran_well() -> None:
    plain_answer = answer_call(ModelToolCall("pay", {}, "c1"), "ok")
    assert plain_answer.metadata == {}
    failed = answer_call(ModelToolCall("pay", {}, "c1"), "no", is_error=True, ran=False)
    assert failed.metadata == {"is_error": True, "not_run": True}
