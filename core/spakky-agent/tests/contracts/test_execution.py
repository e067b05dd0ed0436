"""The bounds of a run and its neutral summary."""

from typing import Any

import pytest

from spakky.agent.contracts.execution import AgentExecutionLimits, AgentRunResult
from spakky.agent.error import AgentDefinitionError, AgentValueError


def test_a_run_is_bounded_without_any_setting() -> None:
    limits = AgentExecutionLimits()
    assert limits == AgentExecutionLimits(None, 50, None, None, 8, 2)


def test_limits_at_the_edge_of_their_range_are_accepted() -> None:
    limits = AgentExecutionLimits(0.01, 1, 1, 1, 1, 0)
    assert limits.max_output_repairs == 0


@pytest.mark.parametrize(
    "name",
    ["max_steps", "max_tool_calls", "max_total_tokens", "max_parallel_tools"],
)
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "3"])
def test_a_limit_below_one_is_a_definition_error(name: str, wrong: object) -> None:
    given: dict[str, Any] = {name: wrong}
    with pytest.raises(AgentDefinitionError, match=f"AgentExecutionLimits.{name}"):
        AgentExecutionLimits(**given)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("timeout_seconds", 0),
        ("timeout_seconds", -1),
        ("timeout_seconds", float("nan")),
        ("timeout_seconds", float("inf")),
        ("timeout_seconds", True),
        ("max_output_repairs", -1),
        ("max_steps", None),
        ("max_parallel_tools", None),
        ("max_output_repairs", None),
    ],
)
def test_a_limit_that_cannot_be_meant_is_a_definition_error(name: str, wrong: object) -> None:
    given: dict[str, Any] = {name: wrong}
    with pytest.raises(AgentDefinitionError, match=f"AgentExecutionLimits.{name}"):
        AgentExecutionLimits(**given)


@pytest.mark.requirement("LOOP-14")
def test_a_summary_holds_four_facts_and_the_text() -> None:
    result = AgentRunResult("r1", "completed", ("read", "write"), 4)
    assert (result.state_id, result.status, result.tool_calls, result.evidence_count) == (
        "r1",
        "completed",
        ("read", "write"),
        4,
    )
    assert result.output_text == ""
    assert AgentRunResult("r1", "completed", (), 0, "done").output_text == "done"


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"state_id": ""}, "AgentRunResult.state_id"),
        ({"evidence_count": -1}, "AgentRunResult.evidence_count"),
        ({"tool_calls": "read"}, "AgentRunResult.tool_calls"),
    ],
)
def test_a_summary_that_cannot_be_is_refused(wrong: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {
        "state_id": "r1",
        "status": "completed",
        "tool_calls": (),
        "evidence_count": 0,
        **wrong,
    }
    with pytest.raises(AgentValueError, match=part):
        AgentRunResult(**given)
