"""Requests, selections and tool lists refuse bad input, and packs join the messages guarded."""

from typing import Any

import pytest

from spakky.agent.contracts.context import ContextPack, ContextPackRole, ContextSensitivity
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import (
    JsonSchemaConstraint,
    ModelCapability,
    ModelRequest,
    ModelSelection,
    ModelToolChoice,
    ModelToolSpec,
    SamplingOptions,
    StructuredOutputSpec,
    ToolCallingSpec,
)
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.sensitive import PII, SensitiveField, SensitiveFieldDescriptor

SCHEMA = JsonSchemaConstraint({"type": "object"})
USER = ModelMessage(ModelMessageRole.USER, "hi")


@pytest.mark.requirement("MODEL-6", "MODEL-7")
def test_a_request_needs_nothing_but_messages() -> None:
    request = ModelRequest(messages=[USER])
    assert request.messages == (USER,)
    assert (request.context, request.tool_calling, request.model_selection) == ((), None, None)
    assert request.sampling == SamplingOptions()
    assert request.streaming.include_usage
    assert request.streaming.include_progress


@pytest.mark.requirement("CTX-1", "CTX-5")
def test_messages_come_first_and_then_one_message_for_each_pack() -> None:
    packs = [
        ContextPack(f"p{n}", f"text {n}", "docs", role) for n, role in enumerate(ContextPackRole)
    ]
    request = ModelRequest((USER,), context=packs)
    assembled = request.assemble_messages()
    assert isinstance(assembled, tuple)
    assert assembled[0] is USER
    assert [message.content for message in assembled[1:]] == [pack.content for pack in packs]
    assert [message.metadata["context_pack_id"] for message in assembled[1:]] == [
        pack.id for pack in packs
    ]
    assert request.assemble_messages() == assembled


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (ContextPackRole.SYSTEM, ModelMessageRole.SYSTEM),
        (ContextPackRole.INSTRUCTION, ModelMessageRole.USER),
        (ContextPackRole.TASK, ModelMessageRole.USER),
        (ContextPackRole.STATE, ModelMessageRole.EVIDENCE),
        (ContextPackRole.EVIDENCE, ModelMessageRole.EVIDENCE),
        (ContextPackRole.TOOL_RESULT, ModelMessageRole.EVIDENCE),
        (ContextPackRole.DELEGATION, ModelMessageRole.EVIDENCE),
        (ContextPackRole.MEMORY, ModelMessageRole.EVIDENCE),
    ],
)
def test_only_a_pack_declared_as_system_directs_the_model(
    role: ContextPackRole, expected: ModelMessageRole
) -> None:
    request = ModelRequest((), context=(ContextPack("p", "text", "docs", role),))
    assert [message.role for message in request.assemble_messages()] == [expected]


@pytest.mark.requirement("CTX-6")
def test_a_marked_value_of_a_pack_reaches_the_model_only_where_the_policy_says_so() -> None:
    field = SensitiveFieldDescriptor(("email",), SensitiveField(PII.EMAIL))
    marked = ContextPack(
        "p",
        '{"email": "a@example.org"}',
        "crm",
        ContextPackRole.STATE,
        sensitive_fields=(field,),
    )
    closed = ContextPack(
        "q", "very secret", "crm", ContextPackRole.STATE, sensitivity=ContextSensitivity.REDACTED
    )
    request = ModelRequest((USER,), context=(marked, closed))
    assert "a@example.org" not in repr(request.assemble_messages())
    shown = request.assemble_messages(ContextExposurePolicy(include_pii_values=True))
    assert "a@example.org" in shown[1].content
    assert "very secret" not in repr(shown)


def test_schemas_and_metadata_cannot_be_changed_afterwards() -> None:
    schema = {"type": "object"}
    constraint = JsonSchemaConstraint(schema)
    schema["type"] = "array"
    assert constraint.schema == {"type": "object"}
    assert constraint.strict


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: ModelCapability(context_window_tokens=0), "context_window_tokens"),
        (lambda: ModelSelection(provider=""), "ModelSelection.provider"),
        (lambda: ModelSelection(model=" "), "ModelSelection.model"),
        (lambda: ModelSelection(profile="\n"), "ModelSelection.profile"),
        (lambda: StructuredOutputSpec(SCHEMA, " "), "output_type_name"),
        (lambda: ModelToolSpec(" ", SCHEMA), "ModelToolSpec.name"),
        (lambda: ToolCallingSpec((), ModelToolChoice.REQUIRED), "no tool is offered"),
        (lambda: SamplingOptions(temperature=-0.1), "temperature"),
        (lambda: SamplingOptions(temperature=float("nan")), "temperature"),
        (lambda: SamplingOptions(top_p=-1), "top_p"),
        (lambda: SamplingOptions(top_p=1.5), "top_p must be from 0 to 1"),
        (lambda: SamplingOptions(max_tokens=0), "max_tokens"),
        (lambda: SamplingOptions(max_tokens=True), "max_tokens"),
    ],
)
def test_a_part_of_a_request_outside_its_range_is_refused(build: Any, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        build()


def test_two_tools_of_one_name_are_refused_by_name() -> None:
    tools = (ModelToolSpec("read", SCHEMA), ModelToolSpec("read", SCHEMA))
    with pytest.raises(AgentValueError, match="offers 'read' twice"):
        ToolCallingSpec(tools)


def test_tools_are_kept_in_their_order() -> None:
    spec = ToolCallingSpec([ModelToolSpec("b", SCHEMA), ModelToolSpec("a", SCHEMA)])
    assert [tool.name for tool in spec.tools] == ["b", "a"]
    assert SamplingOptions(0.0, 1, 5) == SamplingOptions(temperature=0, top_p=1.0, max_tokens=5)


@pytest.mark.requirement("MODEL-5")
def test_a_selection_may_name_any_of_its_parts() -> None:
    assert ModelSelection(profile="fast", metadata={"tier": 1}).metadata == {"tier": 1}
    assert ModelSelection() == ModelSelection(None, None, None, {})


@pytest.mark.requirement("MODEL-4")
def test_a_capability_claims_nothing_unless_told() -> None:
    assert ModelCapability() == ModelCapability(
        supports_reasoning=False, context_window_tokens=None, supports_token_counting=False
    )
