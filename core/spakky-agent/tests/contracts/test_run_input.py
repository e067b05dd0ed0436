"""The input of a run."""

from typing import Any

import pytest

from spakky.agent.contracts.context import ContextPack, ContextPackRole
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.error import AgentValueError


@pytest.mark.requirement("LOOP-18")
def test_a_run_needs_an_id_and_an_instruction_only() -> None:
    run_input = RunAgentInput(state_id="r1", instruction="go")
    assert run_input == RunAgentInput("r1", "go", None, None, False, (), None, {}, ())


@pytest.mark.requirement("LOOP-18")
def test_history_and_context_are_stored_as_tuples() -> None:
    message = ModelMessage(ModelMessageRole.USER, "before")
    pack = ContextPack("p", "text", "docs", ContextPackRole.MEMORY)
    # Lists are accepted at run time beyond what the annotation promises.
    history: Any = [message]
    packs: Any = [pack]
    run_input = RunAgentInput("r1", "go", message_history=history, context=packs)
    assert run_input.message_history == (message,)
    assert run_input.context == (pack,)


@pytest.mark.requirement("LOOP-19")
def test_the_run_id_stands_in_for_a_conversation_id_that_was_left_out() -> None:
    assert RunAgentInput("r1", "go").effective_conversation_id == "r1"
    assert RunAgentInput("r1", "go", "c1").effective_conversation_id == "c1"


def test_a_resume_needs_no_instruction() -> None:
    assert RunAgentInput("r1", "", resume=True).instruction == ""


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"state_id": " "}, "RunAgentInput.state_id"),
        ({"conversation_id": ""}, "RunAgentInput.conversation_id"),
        ({"parent_run_id": " "}, "RunAgentInput.parent_run_id"),
        ({"instruction": " \n"}, "instruction of run 'r1' is blank; .* resume=True"),
        ({"instruction": None}, "instruction must be text, not NoneType"),
        ({"message_history": "x"}, "RunAgentInput.message_history"),
        ({"metadata": "x"}, "RunAgentInput.metadata"),
    ],
)
def test_an_input_that_cannot_be_a_run_is_refused(wrong: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {"state_id": "r1", "instruction": "go", **wrong}
    with pytest.raises(AgentValueError, match=part):
        RunAgentInput(**given)


@pytest.mark.requirement("LOOP-22")
def test_an_input_has_no_place_for_an_approval_decision() -> None:
    given: dict[str, Any] = {"approval_decision": "approve"}
    with pytest.raises(TypeError, match="approval_decision"):
        RunAgentInput("r1", "go", **given)
