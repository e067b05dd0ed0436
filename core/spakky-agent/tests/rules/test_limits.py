"""What a run has spent, which limit it has reached, and what it passes on to those it delegates to."""

from typing import Any

import pytest

from spakky.agent.contracts.delegation import DelegationBudget
from spakky.agent.contracts.execution import AgentExecutionLimits
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.rules.limits import (
    NOTHING_SPENT,
    Spent,
    find_reached,
    narrow_spec,
    read_spent,
    spent_of,
)

SPENT = Spent(3, 5, 70, 0.25)


def test_spent_amounts_add_up_part_by_part() -> None:
    assert SPENT.plus(Spent(7, 11, 30, 0.5)) == Spent(10, 16, 100, 0.75)
    assert SPENT.plus(NOTHING_SPENT) == SPENT
    assert Spent() == Spent(0, 0, 0, 0.0) == NOTHING_SPENT


def test_what_was_spent_comes_from_the_counts_and_the_usage() -> None:
    assert spent_of(2, 3, ModelUsage(total_tokens=9, cost=1.5)) == Spent(2, 3, 9, 1.5)
    assert spent_of(2, 3, ModelUsage()) == Spent(2, 3, 0, 0.0)


@pytest.mark.parametrize("spent", [SPENT, NOTHING_SPENT, Spent(1, 2, 3, 4)])
def test_stored_amounts_are_read_back(spent: Spent) -> None:
    assert read_spent(spent.to_json()) == spent


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "3",
        [3],
        {},
        {"steps": "3", "tool_calls": None, "tokens": 1.5, "cost": "much"},
    ],
)
def test_what_cannot_be_read_counts_as_nothing_spent(stored: object) -> None:
    assert read_spent(stored) == NOTHING_SPENT


def test_a_whole_cost_is_read_as_a_number() -> None:
    cost = read_spent({"cost": 2}).cost
    assert (cost, type(cost)) == (2.0, float)


@pytest.mark.requirement("LOOP-12")
@pytest.mark.parametrize(
    ("limits", "spent", "reached"),
    [
        ({"max_steps": 3}, Spent(steps=2), None),
        ({"max_steps": 3}, Spent(steps=3), ("max_steps", "3 model calls")),
        ({"max_steps": 3}, Spent(steps=4), ("max_steps", "3 model calls")),
        ({"max_total_tokens": 1000}, Spent(tokens=999), None),
        ({"max_total_tokens": 1000}, Spent(tokens=1000), None),
        ({"max_total_tokens": 1000}, Spent(tokens=1001), ("max_total_tokens", "1000 tokens")),
        ({"max_cost": 1.5}, Spent(cost=1.25), None),
        ({"max_cost": 1.5}, Spent(cost=1.5), None),
        ({"max_cost": 1.5}, Spent(cost=1.75), ("max_cost", "a cost of 1.5")),
        ({}, Spent(tokens=10**9, cost=10.0**9), None),
    ],
)
def test_a_limit_is_named_once_it_leaves_no_room(
    limits: dict[str, Any], spent: Spent, reached: tuple[str, str] | None
) -> None:
    assert find_reached(AgentExecutionLimits(**limits), spent) == reached


def narrowed(
    own: dict[str, Any], parent: dict[str, Any], spent: Spent = NOTHING_SPENT, **budget: Any
) -> AgentExecutionLimits | None:
    spec = AgentExecutionSpec(name="child", limits=AgentExecutionLimits(**own))
    result = narrow_spec(spec, AgentExecutionLimits(**parent), spent, DelegationBudget(**budget))
    if result is None:
        return None
    assert (result.name, result.timeout_seconds) == ("child", None)
    return result.limits


@pytest.mark.parametrize(
    ("own", "parent", "spent", "budget", "field", "bound"),
    [
        ({"max_steps": 9}, {"max_steps": 20}, Spent(steps=3), {}, "max_steps", 9),
        ({"max_steps": 30}, {"max_steps": 20}, Spent(steps=3), {}, "max_steps", 17),
        ({"max_steps": 30}, {"max_steps": 20}, Spent(), {"max_steps": 4}, "max_steps", 4),
        ({"max_steps": 30}, {"max_steps": 4}, Spent(steps=3), {}, "max_steps", 1),
        ({}, {"max_tool_calls": 20}, Spent(tool_calls=3), {}, "max_tool_calls", 17),
        ({"max_tool_calls": 5}, {"max_tool_calls": 20}, Spent(), {}, "max_tool_calls", 5),
        ({"max_tool_calls": 5}, {}, Spent(tool_calls=3), {}, "max_tool_calls", 5),
        ({}, {}, SPENT, {}, "max_tool_calls", None),
        ({}, {"max_total_tokens": 100}, Spent(tokens=70), {}, "max_total_tokens", 30),
        ({}, {"max_total_tokens": 100}, Spent(), {"max_tokens": 9}, "max_total_tokens", 9),
        ({"max_total_tokens": 8}, {}, Spent(tokens=70), {}, "max_total_tokens", 8),
        ({}, {}, SPENT, {}, "max_total_tokens", None),
        ({}, {"max_cost": 2.0}, Spent(cost=0.75), {}, "max_cost", 1.25),
        ({"max_cost": 0.5}, {"max_cost": 2.0}, Spent(cost=0.75), {}, "max_cost", 0.5),
        ({}, {}, SPENT, {}, "max_cost", None),
        ({"timeout_seconds": 9.0}, {}, Spent(), {"timeout_seconds": 4.0}, "timeout_seconds", 4.0),
        ({"timeout_seconds": 3.0}, {}, Spent(), {"timeout_seconds": 4.0}, "timeout_seconds", 3.0),
        ({}, {}, Spent(), {}, "timeout_seconds", None),
    ],
)
def test_a_child_gets_the_least_of_its_own_the_rest_and_the_budget(
    own: dict[str, Any],
    parent: dict[str, Any],
    spent: Spent,
    budget: dict[str, Any],
    field: str,
    bound: float | None,
) -> None:
    assert vars_of(narrowed(own, parent, spent, **budget))[field] == bound


def vars_of(limits: AgentExecutionLimits | None) -> dict[str, Any]:
    assert limits is not None
    return {name: getattr(limits, name) for name in limits.__dataclass_fields__}


@pytest.mark.parametrize(
    ("parent", "spent"),
    [
        ({"max_steps": 3}, Spent(steps=3)),
        ({"max_steps": 3}, Spent(steps=4)),
        ({"max_tool_calls": 3}, Spent(tool_calls=3)),
        ({"max_total_tokens": 3}, Spent(tokens=3)),
        ({"max_cost": 0.5}, Spent(cost=0.5)),
        ({"max_cost": 0.5}, Spent(cost=0.75)),
    ],
)
def test_without_anything_left_nothing_is_delegated(parent: dict[str, Any], spent: Spent) -> None:
    assert narrowed({}, parent, spent) is None


def test_the_least_that_is_left_is_still_delegated() -> None:
    parent = {"max_steps": 4, "max_tool_calls": 4, "max_total_tokens": 4, "max_cost": 0.5}
    left = narrowed({}, parent, Spent(3, 3, 3, 0.25))
    assert left is not None
    bounds = (left.max_steps, left.max_tool_calls, left.max_total_tokens, left.max_cost)
    assert bounds == (1, 1, 1, 0.25)
