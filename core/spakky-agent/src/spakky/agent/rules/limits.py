"""What a run may still spend, and how a run's bounds are passed on to those it delegates to. Pure."""

from dataclasses import dataclass, replace

from spakky.agent.contracts.delegation import DelegationBudget
from spakky.agent.contracts.execution import AgentExecutionLimits
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.json_value import FrozenObject, JsonObject


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used up: model calls, tool calls, tokens, and what providers charged."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, more: "Spent") -> "Spent":
        """Give both together."""
        return Spent(
            self.steps + more.steps,
            self.tool_calls + more.tool_calls,
            self.tokens + more.tokens,
            self.cost + more.cost,
        )

    def to_json(self) -> JsonObject:
        """Give it as a JSON object."""
        return FrozenObject(
            {
                "steps": self.steps,
                "tool_calls": self.tool_calls,
                "tokens": self.tokens,
                "cost": self.cost,
            }
        )


NOTHING_SPENT = Spent()


def spent_of(steps: int, tool_calls: int, usage: ModelUsage) -> Spent:
    """Give what a run's own model calls and tools used up."""
    return Spent(steps, tool_calls, usage.total_tokens or 0, usage.cost or 0.0)


def read_spent(stored: object) -> Spent:
    """Read what ``Spent.to_json`` gave; anything else is nothing spent."""
    if not isinstance(stored, dict):
        return NOTHING_SPENT
    steps, calls, tokens = (stored.get(key) for key in ("steps", "tool_calls", "tokens"))
    cost = stored.get("cost")
    return Spent(
        steps if isinstance(steps, int) else 0,
        calls if isinstance(calls, int) else 0,
        tokens if isinstance(tokens, int) else 0,
        float(cost) if isinstance(cost, int | float) else 0.0,
    )


def find_reached(limits: AgentExecutionLimits, spent: Spent) -> tuple[str, str] | None:
    """Give the name of a limit that leaves no room for another model call, and what it bounds; None when all do."""
    if spent.steps >= limits.max_steps:
        return "max_steps", f"{limits.max_steps} model calls"
    if limits.max_total_tokens is not None and spent.tokens > limits.max_total_tokens:
        return "max_total_tokens", f"{limits.max_total_tokens} tokens"
    if limits.max_cost is not None and spent.cost > limits.max_cost:
        return "max_cost", f"a cost of {limits.max_cost:g}"
    return None


def narrow_spec(
    spec: AgentExecutionSpec, parent: AgentExecutionLimits, spent: Spent, budget: DelegationBudget
) -> AgentExecutionSpec | None:
    """Give a child's spec with bounds that neither its parent's remainder nor its budget exceeds.

    Args:
        spec: What the child's author declared.
        parent: The parent's bounds.
        spent: What the parent has used up.
        budget: What the parent allows for this task.

    Returns:
        The narrowed spec; None when nothing is left to spend.
    """
    limits = spec.limits
    steps = _least(limits.max_steps, parent.max_steps - spent.steps, budget.max_steps)
    calls = _least(limits.max_tool_calls, _left(parent.max_tool_calls, spent.tool_calls))
    tokens = _least(
        limits.max_total_tokens, _left(parent.max_total_tokens, spent.tokens), budget.max_tokens
    )
    cost = _least(
        limits.max_cost, None if parent.max_cost is None else parent.max_cost - spent.cost
    )
    seconds = _least(spec.effective_timeout_seconds, budget.timeout_seconds)
    if any(bound is not None and bound <= 0 for bound in (steps, calls, tokens, cost)):
        return None
    narrowed = replace(
        limits,
        max_steps=limits.max_steps if steps is None else int(steps),
        max_tool_calls=None if calls is None else int(calls),
        max_total_tokens=None if tokens is None else int(tokens),
        max_cost=cost,
        timeout_seconds=seconds,
    )
    return replace(spec, limits=narrowed, timeout_seconds=None)


def _left(bound: int | None, used: int) -> int | None:
    return None if bound is None else bound - used


def _least(*bounds: float | None) -> float | None:
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else None
