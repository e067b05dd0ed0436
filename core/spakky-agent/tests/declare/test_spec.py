"""Specs and teammates refuse what contradicts itself, and keep the rest unchanged."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any, cast

import pytest

from spakky.agent.compaction.keep_recent import KeepRecentMessagesCompactionStrategy
from spakky.agent.contracts.execution import (
    AgentExecutionLimits,
    ModelErrorPolicy,
    RecoveryStrategy,
    RejectionPolicy,
    StreamingExposureMode,
    ToolErrorPolicy,
)
from spakky.agent.contracts.signals import AgentSignalKind
from spakky.agent.contracts.tool_metadata import (
    Idempotency,
    ToolApprovalRequirement,
    ToolRiskAxis,
)
from spakky.agent.declare.spec import AgentExecutionSpec, AgentTeammate, schema_token
from spakky.agent.declare.teammate_tool import describe_teammate_tool, teammate_tool_name
from spakky.agent.declare.tool import agent_tool
from spakky.agent.error import AgentDefinitionError, AgentToolBindingError, AgentToolDispatchError
from spakky.agent.ports.compaction import AgentCompactionPolicy


class Reviewer:
    pass


class Toolbox:
    @agent_tool()
    def hammer(self) -> str:
        return ""


@agent_tool()
def saw() -> str:
    return ""


def undecorated() -> str:
    return ""


@dataclass
class Output:
    text: str


def build(**values: Any) -> AgentExecutionSpec:
    # Any: wrong values are the point of many tests.
    return AgentExecutionSpec(**values)


@pytest.mark.requirement("SPEC-4", "SPEC-22", "SPEC-23")
def test_every_field_is_kept_in_its_order() -> None:
    values: dict[str, object] = {
        "name": "code_assistant",
        "objective": "inspect and edit a workspace",
        "instructions": "Be brief.",
        "output_type": Output,
        "accepted_signals": (AgentSignalKind.USER_MESSAGE, AgentSignalKind.CANCEL),
        "recovery": RecoveryStrategy.ACTION_BOUNDARY,
        "streaming_exposure_mode": StreamingExposureMode.STRICT,
        "timeout_seconds": 300,
        "limits": AgentExecutionLimits(timeout_seconds=300),
        "teammates": (AgentTeammate("reviewer", pod=Reviewer),),
        "compaction": AgentCompactionPolicy((KeepRecentMessagesCompactionStrategy(4),), 1000),
        "delegation_allowed": True,
        "metadata": {"team": "core"},
        "tools": (Toolbox, saw),
        "on_rejection": RejectionPolicy.INFORM_MODEL,
        "on_tool_error": ToolErrorPolicy.INFORM_MODEL,
        "on_model_error": ModelErrorPolicy.INTERRUPT,
    }

    spec = build(**values)

    assert [field.name for field in fields(spec)] == list(values)
    assert {name: getattr(spec, name) for name in values} == values
    with pytest.raises(FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]  # the point of the test
    with pytest.raises(TypeError):
        spec.metadata["team"] = "x"  # type: ignore[index]  # the point of the test
    assert hash(spec) == hash(build(**values))


@pytest.mark.requirement("SPEC-4")
def test_an_empty_spec_declares_nothing() -> None:
    spec = AgentExecutionSpec()

    assert not spec.is_durable
    assert not spec.permits_delegation
    assert spec.effective_timeout_seconds is None
    assert spec.component_tools().descriptors == ()
    assert spec.on_rejection is RejectionPolicy.FAIL_RUN
    assert spec.on_tool_error is ToolErrorPolicy.FAIL_RUN
    assert spec.on_model_error is ModelErrorPolicy.FAIL_RUN
    assert spec.streaming_exposure_mode is StreamingExposureMode.BALANCED
    assert spec.metadata == {}


@pytest.mark.requirement("SPEC-5", "SPEC-6", "SPEC-7")
@pytest.mark.parametrize("field", ["name", "objective", "instructions"])
@pytest.mark.parametrize("text", ["", "  ", "\n\t", 3])
def test_a_blank_text_is_refused(field: str, text: object) -> None:
    with pytest.raises(AgentDefinitionError, match=field):
        build(**{field: text})


@pytest.mark.requirement("SPEC-8")
@pytest.mark.parametrize("output_type", ["str", 1, int | None, Output("x"), list[int]])
def test_an_output_type_that_is_no_class_is_refused(output_type: object) -> None:
    with pytest.raises(AgentDefinitionError, match="output_type"):
        build(output_type=output_type)


@pytest.mark.requirement("SPEC-9")
@pytest.mark.parametrize("names", [("a", "a"), ("Code Reviewer", "code-reviewer")])
def test_two_teammates_of_one_tool_name_are_refused(names: tuple[str, str]) -> None:
    mates = tuple(AgentTeammate(name, pod=Reviewer) for name in names)

    with pytest.raises(AgentDefinitionError, match="teammates"):
        AgentExecutionSpec(teammates=mates)


@pytest.mark.requirement("SPEC-10", "SPEC-11")
@pytest.mark.parametrize(
    ("own", "limit", "effective"),
    [(10, 10, 10), (10, None, 10), (None, 20, 20), (None, None, None)],
)
def test_one_timeout_or_two_equal_ones_count(
    own: float | None, limit: float | None, effective: float | None
) -> None:
    spec = AgentExecutionSpec(
        timeout_seconds=own, limits=AgentExecutionLimits(timeout_seconds=limit)
    )

    assert spec.effective_timeout_seconds == effective


@pytest.mark.requirement("SPEC-10", "SPEC-11")
@pytest.mark.parametrize(
    "make",
    [
        lambda: build(timeout_seconds=10, limits=AgentExecutionLimits(timeout_seconds=20)),
        lambda: build(timeout_seconds=0),
        lambda: build(timeout_seconds=-1),
        lambda: AgentExecutionLimits(timeout_seconds=0),
    ],
)
def test_contradicting_or_impossible_timeouts_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(AgentDefinitionError):
        make()


@pytest.mark.requirement("SPEC-19")
@pytest.mark.parametrize(
    ("recovery", "signals", "durable"),
    [
        (RecoveryStrategy.NONE, (), False),
        (RecoveryStrategy.NONE, (AgentSignalKind.CANCEL,), True),
        (RecoveryStrategy.ACTION_BOUNDARY, (), True),
        (RecoveryStrategy.ACTION_BOUNDARY, (AgentSignalKind.CANCEL,), True),
    ],
)
def test_durability_follows_from_what_is_declared(
    recovery: RecoveryStrategy, signals: tuple[AgentSignalKind, ...], *, durable: bool
) -> None:
    assert AgentExecutionSpec(recovery=recovery, accepted_signals=signals).is_durable is durable


def test_a_signal_kind_given_twice_is_kept_once() -> None:
    spec = build(accepted_signals=[AgentSignalKind.CANCEL, AgentSignalKind.CANCEL])

    assert spec.accepted_signals == (AgentSignalKind.CANCEL,)


@pytest.mark.requirement("SPEC-23")
def test_teammates_permit_delegation_by_themselves() -> None:
    mates = (AgentTeammate("reviewer", pod=Reviewer),)

    assert AgentExecutionSpec(teammates=mates).permits_delegation
    assert AgentExecutionSpec(delegation_allowed=True).permits_delegation
    assert not AgentExecutionSpec(teammates=mates).delegation_allowed


@pytest.mark.requirement("SPEC-18")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accepted_signals", "cancel"),
        ("accepted_signals", ("cancel",)),
        ("recovery", "none"),
        ("streaming_exposure_mode", None),
        ("limits", None),
        ("limits", 3),
        ("teammates", (Reviewer,)),
        ("teammates", AgentTeammate("a", pod=Reviewer)),
        ("compaction", "keep"),
        ("delegation_allowed", None),
        ("metadata", [("a", "b")]),
        ("metadata", {"a": 1}),
        ("metadata", {1: "a"}),
        ("tools", Toolbox),
        ("tools", (Reviewer,)),
        ("tools", (undecorated,)),
        ("tools", ("saw",)),
        ("tools", (saw, saw)),
        ("on_rejection", "fail_run"),
        ("on_tool_error", "fail_run"),
        ("on_model_error", "fail_run"),
    ],
)
def test_a_field_of_another_type_is_refused(field: str, value: object) -> None:
    with pytest.raises(AgentDefinitionError):
        build(**{field: value})


def test_tools_come_from_classes_and_functions_in_their_order() -> None:
    assert AgentExecutionSpec(tools=(saw, Toolbox)).component_tools().names == ("saw", "hammer")


# ---------------------------------------------------------------- teammates


@pytest.mark.requirement("DELEG-4")
@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("Code Reviewer", "code_reviewer"),
        (" --A!!b-- ", "a_b"),
        ("__x__", "x"),
        ("a__b", "a__b"),
        ("검색 Agent 2", "agent_2"),
        ("ÄB", "b"),
    ],
)
def test_a_name_becomes_a_token(name: str, token: str) -> None:
    assert schema_token(name) == token
    assert AgentTeammate(name, pod=Reviewer).token == token


@pytest.mark.requirement("DELEG-5")
@pytest.mark.parametrize("name", ["검색", "---", "_", "", "  ", 3])
def test_a_name_without_a_token_is_refused(name: object) -> None:
    with pytest.raises(AgentDefinitionError, match=r"AgentTeammate\.name"):
        AgentTeammate(cast("str", name), pod=Reviewer)


@pytest.mark.requirement("DELEG-1")
def test_a_teammate_is_local_or_remote() -> None:
    local = AgentTeammate("a", pod=Reviewer)
    remote = AgentTeammate("b", card_url="HTTPS://agents.example/card.json")

    assert (local.pod, local.card_url) == (Reviewer, None)
    assert (remote.pod, remote.card_url) == (None, "HTTPS://agents.example/card.json")
    assert remote.approval is ToolApprovalRequirement.DERIVED


@pytest.mark.requirement("DELEG-1", "DELEG-2")
@pytest.mark.parametrize(
    "make",
    [
        lambda: AgentTeammate("a"),
        lambda: AgentTeammate("a", pod=Reviewer, card_url="https://agents.example"),
        lambda: AgentTeammate("a", pod=cast("type[object]", Reviewer())),
        lambda: AgentTeammate("a", card_url="ftp://agents.example"),
        lambda: AgentTeammate("a", card_url="file:///card.json"),
        lambda: AgentTeammate("a", card_url="https://"),
        lambda: AgentTeammate("a", card_url="agents.example/card"),
        lambda: AgentTeammate("a", card_url="https://[x/card"),
        lambda: AgentTeammate("a", card_url=" "),
        lambda: AgentTeammate("a", card_url=cast("str", 3)),
        lambda: AgentTeammate("a", card_url="https://kim:s3cr3t@agents.example"),
        lambda: AgentTeammate("a", pod=Reviewer, description=" "),
        lambda: AgentTeammate("a", pod=Reviewer, approval=cast("ToolApprovalRequirement", True)),
    ],
)
def test_a_contradicting_teammate_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(AgentDefinitionError) as caught:
        make()

    assert "s3cr3t" not in str(caught.value)


@pytest.mark.requirement("DELEG-3", "DELEG-6")
def test_a_teammate_has_a_delegate_tool_with_three_texts() -> None:
    teammate = AgentTeammate("Code Reviewer", pod=Reviewer, description="Reviews code.")
    descriptor = describe_teammate_tool(teammate, "never used")
    schema = descriptor.schema.input_schema
    properties = schema["properties"]

    assert descriptor.name == teammate_tool_name(teammate) == "teammate.code_reviewer.delegate"
    assert schema["required"] == ["instruction"]
    assert isinstance(properties, dict)
    assert list(properties) == ["instruction", "task", "context_summary"]
    assert all("description" in item for item in properties.values())
    assert descriptor.bind_invocation({"instruction": "x"}).args == ("x", None, None)
    assert "Reviews code." in str(descriptor.description)
    assert descriptor.owner is None
    with pytest.raises(AgentToolBindingError):
        descriptor.bind_invocation({})


def test_a_teammate_without_description_is_described_by_its_objective() -> None:
    teammate = AgentTeammate("a", pod=Reviewer)

    assert "Finds bugs." in str(describe_teammate_tool(teammate, "Finds bugs.").description)
    assert "'a'" in str(describe_teammate_tool(teammate).description)


@pytest.mark.parametrize(
    ("teammate", "axes", "asks"),
    [
        (AgentTeammate("a", pod=Reviewer), (), False),
        (
            AgentTeammate("a", pod=Reviewer, approval=ToolApprovalRequirement.REQUIRED),
            (),
            True,
        ),
        (
            AgentTeammate("a", card_url="https://a.example"),
            (ToolRiskAxis.SIDE_EFFECT, ToolRiskAxis.NETWORK),
            True,
        ),
        (
            AgentTeammate(
                "a",
                card_url="https://a.example",
                approval=ToolApprovalRequirement.NOT_REQUIRED,
            ),
            (ToolRiskAxis.SIDE_EFFECT, ToolRiskAxis.NETWORK),
            False,
        ),
    ],
)
def test_only_a_remote_teammate_carries_risk(
    teammate: AgentTeammate, axes: tuple[ToolRiskAxis, ...], *, asks: bool
) -> None:
    metadata = describe_teammate_tool(teammate).metadata

    assert metadata.risk.axes == axes
    assert metadata.requires_approval_candidate is asks
    assert metadata.idempotency is Idempotency.UNKNOWN


def test_the_delegate_tool_cannot_be_called_by_hand() -> None:
    descriptor = describe_teammate_tool(AgentTeammate("a", pod=Reviewer))

    with pytest.raises(AgentToolDispatchError, match="loop"):
        descriptor.callable("do it")
