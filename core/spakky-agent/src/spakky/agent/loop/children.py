"""How the loop opens a run of a local teammate without knowing the runner, which lies above it."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from spakky.agent.contracts.delegation import DelegationBudget
from spakky.agent.contracts.events import AgentEvent
from spakky.agent.contracts.execution import AgentExecutionLimits
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.rules.limits import NOTHING_SPENT, Spent


@dataclass(frozen=True, slots=True)
class ChildOrder:
    """What a parent asks of a local teammate.

    Attributes:
        teammate: The teammate's name.
        run_input: The child's input; its ``parent_run_id`` is the parent's run.
        limits: The parent's bounds.
        spent: What the parent has spent.
        budget: What the child may spend.
        allowed_tools: Names of the tools it may call; empty allows all of its own.
    """

    teammate: str
    run_input: RunAgentInput
    limits: AgentExecutionLimits = AgentExecutionLimits()  # noqa: RUF009 - frozen
    spent: Spent = NOTHING_SPENT
    budget: DelegationBudget = DelegationBudget()  # noqa: RUF009 - frozen
    allowed_tools: Sequence[str] = ()


type ChildOpener = Callable[[ChildOrder], AsyncGenerator[AgentEvent, None]]
"""Runs a child and streams its events; closing the generator cancels it."""
