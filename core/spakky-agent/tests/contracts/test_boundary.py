"""Checkpoints around actions, as evidence, and the plan of a resume."""

from collections.abc import Callable
from typing import Any

import pytest

from spakky.agent.contracts.boundary import (
    AgentActionBoundaryCheckpoint,
    AgentActionBoundaryStage,
    AgentActionKind,
    AgentResumeAction,
    AgentResumeBoundary,
    AgentResumePlan,
)
from spakky.agent.contracts.evidence import AgentEvidenceKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.error import AgentValueError

Checkpoint = AgentActionBoundaryCheckpoint
SAFE = Idempotency.IDEMPOTENT
STATE = AgentState("r1", "Agent", AgentStatus.ACTIVE)


@pytest.mark.requirement("RECOV-1")
@pytest.mark.parametrize(
    ("build", "kind", "stage", "idempotency"),
    [
        (lambda: Checkpoint.before_model_call("a1"), "model_call", "before", "unknown"),
        (
            lambda: Checkpoint.before_model_call("a1", idempotency=SAFE),
            "model_call",
            "before",
            "idempotent",
        ),
        (
            lambda: Checkpoint.after_model_call("a1", idempotency=SAFE),
            "model_call",
            "after",
            "idempotent",
        ),
        (
            lambda: Checkpoint.before_tool_call("a1", idempotency=SAFE),
            "tool_call",
            "before",
            "idempotent",
        ),
        (
            lambda: Checkpoint.after_tool_call("a1", idempotency=SAFE),
            "tool_call",
            "after",
            "idempotent",
        ),
        (lambda: Checkpoint.before_approval_wait("a1"), "approval_wait", "before", "unknown"),
        (lambda: Checkpoint.after_approval_wait("a1"), "approval_wait", "after", "unknown"),
    ],
)
def test_a_checkpoint_stands_on_one_side_of_one_action(
    build: Callable[[], Checkpoint], kind: str, stage: str, idempotency: str
) -> None:
    candidate = build().to_evidence_candidate(summary="s")
    assert candidate.kind is AgentEvidenceKind.ACTION_BOUNDARY
    assert candidate.payload == {
        "action_id": "a1",
        "action_kind": kind,
        "stage": stage,
        "idempotency": idempotency,
        "metadata": {},
    }
    assert (candidate.summary, candidate.reference) == ("s", "a1")


@pytest.mark.requirement("RECOV-1")
def test_a_checkpoint_passes_its_metadata_on_to_the_evidence() -> None:
    checkpoint = Checkpoint.before_tool_call("a1", idempotency=SAFE, metadata={"tool": "read"})
    assert checkpoint.to_evidence_candidate().payload["metadata"] == {"tool": "read"}


@pytest.mark.parametrize(
    ("position", "wrong", "part"),
    [
        (0, " ", "action_id"),
        (1, "tool_call", "action_kind"),
        (2, "before", "stage"),
        (3, "idempotent", "idempotency"),
        (4, "", "evidence_id"),
    ],
)
def test_a_boundary_needs_its_ids_and_members(position: int, wrong: Any, part: str) -> None:
    given: list[Any] = [
        "a1",
        AgentActionKind.TOOL_CALL,
        AgentActionBoundaryStage.BEFORE,
        SAFE,
        "e1",
    ]
    assert AgentResumeBoundary(*given).evidence_id == "e1"
    given[position] = wrong
    with pytest.raises(AgentValueError, match=f"AgentResumeBoundary.{part}"):
        AgentResumeBoundary(*given)
    if position < 4:
        with pytest.raises(AgentValueError, match=f"AgentActionBoundaryCheckpoint.{part}"):
            Checkpoint(*given[:4])


@pytest.mark.parametrize(
    ("action", "asks", "goes_on"),
    [
        (AgentResumeAction.START, False, True),
        (AgentResumeAction.SKIP_COMPLETED, False, True),
        (AgentResumeAction.RETRY, False, True),
        (AgentResumeAction.REQUIRE_HITL, True, False),
        (AgentResumeAction.NOT_RESUMABLE, False, False),
    ],
)
def test_a_plan_says_whether_a_person_is_needed(
    action: AgentResumeAction, asks: bool, goes_on: bool
) -> None:
    plan = AgentResumePlan(STATE, action)
    assert plan.requires_human_input is asks
    assert plan.can_resume_automatically is goes_on


def test_a_plan_needs_a_known_action() -> None:
    wrong: Any = "retry"
    with pytest.raises(AgentValueError, match=r"AgentResumePlan\.action"):
        AgentResumePlan(STATE, wrong)
