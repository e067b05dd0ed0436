"""What a tool declares, and the risk, approval and resume behaviour that follow."""

from dataclasses import FrozenInstanceError, fields
from typing import cast

import pytest

from spakky.agent.contracts.tool_metadata import (
    AgentToolMetadata,
    DataAccess,
    EvidenceCapture,
    Externality,
    Idempotency,
    ResultBudget,
    TimeoutPolicy,
    ToolApprovalRequirement,
    ToolEffects,
    ToolPermission,
    ToolResumeAction,
    ToolResumeMetadata,
    ToolRisk,
    ToolRiskAxis,
)
from spakky.agent.error import AgentDefinitionError

READ, WRITE = ToolRiskAxis.READ, ToolRiskAxis.WRITE
SIDE_EFFECT, DESTRUCTIVE = ToolRiskAxis.SIDE_EFFECT, ToolRiskAxis.DESTRUCTIVE
NETWORK = ToolRiskAxis.NETWORK


@pytest.mark.requirement("TOOL-10")
def test_the_axes_are_five() -> None:
    assert [axis.value for axis in ToolRiskAxis] == [
        "read",
        "write",
        "side_effect",
        "destructive",
        "network",
    ]


@pytest.mark.requirement("TOOL-5", "TOOL-6", "TOOL-10")
@pytest.mark.parametrize(
    ("effects", "axes"),
    [
        (ToolEffects(), ()),
        (ToolEffects.read_only(), (READ,)),
        (ToolEffects.write_state(), (WRITE,)),
        (ToolEffects.external_side_effect(), (SIDE_EFFECT, NETWORK)),
        (ToolEffects.destructive_action(), (WRITE, DESTRUCTIVE)),
        (ToolEffects(data_access=DataAccess.READ_WRITE), (READ, WRITE)),
        (ToolEffects(externality=Externality.EXTERNAL), (SIDE_EFFECT,)),
        (ToolEffects(externality=Externality.UNKNOWN), (SIDE_EFFECT, NETWORK)),
        (ToolEffects(network=True), (NETWORK,)),
        (ToolEffects(destructive=True), (DESTRUCTIVE,)),
    ],
)
def test_the_risk_follows_from_the_effects(
    effects: ToolEffects, axes: tuple[ToolRiskAxis, ...]
) -> None:
    risk = AgentToolMetadata(effects=effects).risk

    assert risk.axes == axes
    assert all(risk.includes(axis) is (axis in axes) for axis in ToolRiskAxis)


@pytest.mark.requirement("TOOL-5")
def test_the_risk_cannot_be_set() -> None:
    metadata = AgentToolMetadata()

    assert "risk" not in {field.name for field in fields(AgentToolMetadata)}
    with pytest.raises((AttributeError, TypeError, FrozenInstanceError)):
        metadata.risk = ToolRisk((READ,))  # type: ignore[misc]  # the point of the test


@pytest.mark.requirement("TOOL-11")
@pytest.mark.parametrize(
    ("effects", "candidate"),
    [
        (ToolEffects(), False),
        (ToolEffects.read_only(), False),
        (ToolEffects.write_state(), True),
        (ToolEffects.external_side_effect(), True),
        (ToolEffects.destructive_action(), True),
        (ToolEffects(network=True), True),
        (ToolEffects(externality=Externality.UNKNOWN), True),
    ],
)
def test_every_axis_but_reading_makes_an_approval_candidate(
    effects: ToolEffects, *, candidate: bool
) -> None:
    derived = AgentToolMetadata(effects=effects)
    never = AgentToolMetadata(effects=effects, approval=ToolApprovalRequirement.NOT_REQUIRED)
    always = AgentToolMetadata(effects=effects, approval=ToolApprovalRequirement.REQUIRED)

    assert derived.requires_approval_candidate is candidate
    assert derived.risk.requires_approval_candidate is candidate
    assert never.requires_approval_candidate is False
    assert always.requires_approval_candidate is True


@pytest.mark.requirement("TOOL-7", "TOOL-8", "TOOL-9")
def test_what_is_not_declared_is_unknown_or_derived() -> None:
    metadata = AgentToolMetadata()

    assert metadata.idempotency is Idempotency.UNKNOWN
    assert metadata.approval is ToolApprovalRequirement.DERIVED
    assert metadata.evidence is EvidenceCapture.NONE
    assert {item.value for item in Idempotency} == {
        "idempotent",
        "conditionally_idempotent",
        "non_idempotent",
        "unknown",
    }
    assert EvidenceCapture("summary") is EvidenceCapture.SUMMARY
    assert ToolApprovalRequirement("required") is ToolApprovalRequirement.REQUIRED


@pytest.mark.requirement("TOOL-12")
@pytest.mark.parametrize(
    ("idempotency", "incomplete"),
    [
        (Idempotency.IDEMPOTENT, ToolResumeAction.RETRY),
        (Idempotency.CONDITIONALLY_IDEMPOTENT, ToolResumeAction.REQUIRE_APPROVAL),
        (Idempotency.NON_IDEMPOTENT, ToolResumeAction.REQUIRE_APPROVAL),
        (Idempotency.UNKNOWN, ToolResumeAction.REQUIRE_APPROVAL),
    ],
)
def test_only_an_idempotent_call_is_retried_and_a_completed_one_never(
    idempotency: Idempotency, incomplete: ToolResumeAction
) -> None:
    resume = AgentToolMetadata(idempotency=idempotency).resume

    assert resume == ToolResumeMetadata(idempotency)
    assert resume.action_for_completed_boundary() is ToolResumeAction.SKIP_COMPLETED
    assert resume.action_for_incomplete_boundary() is incomplete


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            AgentToolMetadata(effects=ToolEffects.external_side_effect()),
            (DataAccess.NONE, Externality.EXTERNAL),
        ),
        (
            AgentToolMetadata(data_access=DataAccess.WRITE, externality=Externality.UNKNOWN),
            (DataAccess.WRITE, Externality.UNKNOWN),
        ),
        (
            AgentToolMetadata(effects=ToolEffects.read_only(), data_access=DataAccess.WRITE),
            (DataAccess.WRITE, Externality.LOCAL),
        ),
    ],
)
def test_effects_and_the_fields_that_repeat_them_agree(
    given: AgentToolMetadata, expected: tuple[DataAccess, Externality]
) -> None:
    assert (given.data_access, given.externality) == expected
    assert (given.effects.data_access, given.effects.externality) == expected


def test_overriding_nothing_keeps_the_effects() -> None:
    effects = ToolEffects.destructive_action()

    assert effects.overridden() == effects
    assert effects.overridden(DataAccess.NONE, Externality.EXTERNAL) == ToolEffects(
        externality=Externality.EXTERNAL, destructive=True
    )


@pytest.mark.parametrize(
    ("metadata", "concurrent"),
    [
        (AgentToolMetadata(), False),
        (AgentToolMetadata(effects=ToolEffects.read_only()), True),
        (AgentToolMetadata(effects=ToolEffects(data_access=DataAccess.READ, network=True)), True),
        (AgentToolMetadata(effects=ToolEffects(data_access=DataAccess.READ_WRITE)), False),
        (AgentToolMetadata(effects=ToolEffects.external_side_effect()), False),
        (
            AgentToolMetadata(
                effects=ToolEffects.write_state(), idempotency=Idempotency.IDEMPOTENT
            ),
            True,
        ),
        (AgentToolMetadata(effects=ToolEffects.read_only(), concurrent=False), False),
        (AgentToolMetadata(effects=ToolEffects.write_state(), concurrent=True), True),
    ],
)
def test_calls_run_beside_others_when_declared_or_harmless(
    metadata: AgentToolMetadata, *, concurrent: bool
) -> None:
    assert metadata.may_run_concurrently is concurrent


def test_the_axes_of_a_risk_are_sorted_and_distinct() -> None:
    assert ToolRisk((NETWORK, READ, NETWORK)).axes == (READ, NETWORK)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ToolPermission(" "),
        lambda: ToolPermission(cast("str", 3)),
        lambda: TimeoutPolicy(0),
        lambda: TimeoutPolicy(float("inf")),
        lambda: ResultBudget(0),
        lambda: ResultBudget(cast("int", 1.5)),
        lambda: ToolEffects(data_access=cast("DataAccess", "read")),
        lambda: ToolEffects(externality=cast("Externality", None)),
        lambda: ToolEffects(destructive=cast("bool", 1)),
        lambda: ToolEffects(network=cast("bool", "yes")),
        lambda: ToolRisk((cast("ToolRiskAxis", "read"),)),
        lambda: ToolResumeMetadata(cast("Idempotency", "idempotent")),
        lambda: AgentToolMetadata(idempotency=cast("Idempotency", "idempotent")),
        lambda: AgentToolMetadata(evidence=cast("EvidenceCapture", "summary")),
        lambda: AgentToolMetadata(approval=cast("ToolApprovalRequirement", True)),
        lambda: AgentToolMetadata(data_access=cast("DataAccess", "read")),
        lambda: AgentToolMetadata(externality=cast("Externality", "local")),
        lambda: AgentToolMetadata(effects=cast("ToolEffects", "none")),
        lambda: AgentToolMetadata(permissions=(cast("ToolPermission", "mail.send"),)),
        lambda: AgentToolMetadata(permissions=(ToolPermission("a"), ToolPermission("a"))),
        lambda: AgentToolMetadata(timeout=cast("TimeoutPolicy", 3)),
        lambda: AgentToolMetadata(result_budget=cast("ResultBudget", 3)),
        lambda: AgentToolMetadata(concurrent=cast("bool", "yes")),
    ],
)
def test_a_wrong_declaration_is_refused(build: object) -> None:
    assert callable(build)
    with pytest.raises(AgentDefinitionError):
        build()


def test_bounds_and_permissions_are_kept() -> None:
    metadata = AgentToolMetadata(
        permissions=cast("tuple[ToolPermission, ...]", [ToolPermission("mail.send")]),
        timeout=TimeoutPolicy(1.5),
        result_budget=ResultBudget(1024),
    )

    assert metadata.permissions == (ToolPermission("mail.send"),)
    assert metadata.timeout.seconds == 1.5
    assert metadata.result_budget.max_bytes == 1024
