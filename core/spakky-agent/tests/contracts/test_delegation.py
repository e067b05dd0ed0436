"""Delegation: what the parent states, and what comes back to it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from spakky.agent.contracts.delegation import (
    AgentDelegateTarget,
    DelegationBudget,
    DelegationContextSlice,
    DelegationExpectedOutput,
    DelegationPacket,
    DelegationResult,
    DelegationReturnPolicy,
    DelegationToolResult,
)
from spakky.agent.contracts.events import AgentEventAttribution, RunStartedEvent
from spakky.agent.contracts.evidence import AgentEvidenceKind
from spakky.agent.contracts.yields import AgentYieldKind
from spakky.agent.error import AgentValueError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

# Any: the tests put values of wrong types in.
WRONG: Any = "wrong"
TARGET = AgentDelegateTarget("Reviewer", "Code Reviewer", {"a": 1})
RESULT = DelegationResult(
    "d1", "p1", TARGET, "Two bugs.", {"bugs": 2}, ("e7",), {"rounds": 1}, NOON
)


@pytest.mark.requirement("DELEG-11", "DELEG-12")
def test_a_packet_states_the_task_and_its_seven_conditions() -> None:
    # Lists are accepted at run time beyond what the annotation promises.
    constraints: Any = ["only read"]
    packet = DelegationPacket(
        "p1",
        "r1",
        TARGET,
        {"instruction": "review"},
        DelegationContextSlice("so far", ("e1",), "m1"),
        constraints,
        DelegationExpectedOutput("a list", {"type": "array"}),
        DelegationBudget(3, 1000, 2.5, NOON),
        ("files.read",),
        DelegationReturnPolicy.FINAL_OUTPUT,
        {"b": 2},
    )
    assert packet.target is TARGET
    assert packet.task == {"instruction": "review"}
    assert packet.context.evidence_refs == ("e1",)
    assert packet.constraints == ("only read",)
    assert packet.expected_output.schema == {"type": "array"}
    assert packet.budget.deadline_at == NOON
    assert packet.allowed_capabilities == ("files.read",)
    assert packet.return_policy is DelegationReturnPolicy.FINAL_OUTPUT


@pytest.mark.requirement("DELEG-11")
def test_a_packet_needs_ids_a_target_and_a_task_only() -> None:
    packet = DelegationPacket("p1", "r1", TARGET, {})
    assert packet.return_policy is DelegationReturnPolicy.SUMMARY_AND_EVIDENCE
    assert (packet.context, packet.budget) == (DelegationContextSlice(), DelegationBudget())
    assert (packet.constraints, packet.allowed_capabilities) == ((), ())


@pytest.mark.requirement("DELEG-15")
def test_the_parents_evidence_has_the_summary_and_references_only() -> None:
    evidence = RESULT.to_parent_evidence(evidence_id="e9", parent_agent_state_id="r1")
    assert (evidence.id, evidence.agent_state_id) == ("e9", "r1")
    assert evidence.kind is AgentEvidenceKind.DELEGATION
    assert evidence.payload == {
        "result_id": "d1",
        "packet_id": "p1",
        "target": {"agent_type": "Reviewer", "agent_name": "Code Reviewer", "metadata": {"a": 1}},
        "summary": "Two bugs.",
        "evidence_refs": ("e7",),
        "metadata": {"rounds": 1},
    }
    assert (evidence.summary, evidence.reference, evidence.created_at) == ("Two bugs.", "p1", NOON)


@pytest.mark.requirement("DELEG-15")
def test_the_parents_stream_shows_that_evidence() -> None:
    item = RESULT.to_parent_yield(evidence_id="e9", parent_agent_state_id="r1")
    assert item.kind is AgentYieldKind.EVIDENCE
    assert item.payload.evidence == RESULT.to_parent_evidence(
        evidence_id="e9", parent_agent_state_id="r1"
    )


def test_a_delegate_tool_gives_the_childs_output_and_keeps_its_events_apart() -> None:
    event = RunStartedEvent(AgentEventAttribution("reviewer", "r2", "c1", "r1"))
    result = DelegationToolResult.from_result(RESULT, events=(event,))
    assert (result.summary, result.output) == ("Two bugs.", {"bugs": 2})
    assert result.events == (event,)
    assert result.metadata == {
        "rounds": 1,
        "result_id": "d1",
        "packet_id": "p1",
        "evidence_refs": ("e7",),
    }
    assert DelegationToolResult.from_result(RESULT).events == ()


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: AgentDelegateTarget(""), "AgentDelegateTarget.agent_type"),
        (lambda: AgentDelegateTarget("x", " "), "AgentDelegateTarget.agent_name"),
        (lambda: DelegationContextSlice(manifest_ref=""), "DelegationContextSlice.manifest_ref"),
        (lambda: DelegationContextSlice(evidence_refs=("",)), "evidence_refs"),
        (lambda: DelegationContextSlice(evidence_refs=WRONG), "evidence_refs"),
        (lambda: DelegationExpectedOutput(schema=WRONG), "DelegationExpectedOutput.schema"),
        (lambda: DelegationBudget(max_steps=0), "DelegationBudget.max_steps"),
        (lambda: DelegationBudget(max_tokens=-1), "DelegationBudget.max_tokens"),
        (lambda: DelegationBudget(timeout_seconds=0), "DelegationBudget.timeout_seconds"),
        (
            lambda: DelegationBudget(deadline_at=NOON.replace(tzinfo=None)),
            "DelegationBudget.deadline_at",
        ),
        (lambda: DelegationPacket("", "r1", TARGET, {}), "DelegationPacket.id"),
        (lambda: DelegationPacket("p1", "", TARGET, {}), "parent_agent_state_id"),
        (lambda: DelegationPacket("p1", "r1", TARGET, WRONG), "DelegationPacket.task"),
        (
            lambda: DelegationPacket("p1", "r1", TARGET, {}, constraints=(" ",)),
            "DelegationPacket.constraints",
        ),
        (
            lambda: DelegationPacket("p1", "r1", TARGET, {}, allowed_capabilities=WRONG),
            "DelegationPacket.allowed_capabilities",
        ),
        (
            lambda: DelegationPacket("p1", "r1", TARGET, {}, return_policy=WRONG),
            "DelegationPacket.return_policy",
        ),
        (lambda: DelegationResult("", "p1", TARGET, "x"), "DelegationResult.id"),
        (lambda: DelegationResult("d1", "", TARGET, "x"), "DelegationResult.packet_id"),
        (
            lambda: DelegationResult("d1", "p1", TARGET, "x", evidence_refs=("",)),
            "DelegationResult.evidence_refs",
        ),
        (
            lambda: DelegationResult("d1", "p1", TARGET, "x", created_at=WRONG),
            "DelegationResult.created_at",
        ),
        (lambda: DelegationToolResult("x", events=WRONG), "DelegationToolResult.events"),
    ],
)
def test_a_part_of_a_delegation_outside_its_range_is_refused(build: Any, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        build()
