"""Discovery, descriptors and look-up."""

import functools
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import pytest

from spakky.agent.contracts.tool_metadata import (
    AgentToolMetadata,
    EvidenceCapture,
    Idempotency,
    ToolApprovalRequirement,
    ToolEffects,
    ToolRiskAxis,
)
from spakky.agent.declare.binding import AgentToolBoundInvocation
from spakky.agent.declare.catalog import (
    AgentToolApprovalContext,
    AgentToolCatalog,
    AgentToolDescriptor,
    AgentToolIdentity,
    describe_tool_function,
    discover_agent_tools,
    merge_catalogs,
)
from spakky.agent.declare.descriptor import describe_member
from spakky.agent.declare.schema import AgentToolSchemaHandle
from spakky.agent.declare.signature import ToolReceiver
from spakky.agent.declare.tool import AgentToolDefinition, agent_tool
from spakky.agent.error import AgentDefinitionError, AgentToolBindingError, AgentToolDispatchError
from spakky.agent.guards.sensitive import PII, SecretField, SensitiveField
from spakky.agent.json_value import JsonObject


class Base:
    @agent_tool()
    def first(self) -> str:
        """Be first."""
        return "base"

    @agent_tool()
    def hidden(self) -> str:
        return "base"

    @agent_tool()
    def second(self) -> str:
        return "base"

    def no_tool(self) -> str:
        return "base"


class Mixin:
    @agent_tool()
    def mixed(self) -> str:
        return "mixin"


class Child(Mixin, Base):
    @agent_tool()
    def own(self) -> str:
        return "child"

    @agent_tool(description="Another first.")
    def first(self) -> str:
        return "child"

    def hidden(self) -> str:
        return "child"


@pytest.mark.requirement("TOOL-2")
def test_tools_of_bases_come_first_and_an_override_takes_its_place() -> None:
    catalog = discover_agent_tools(Child)

    assert catalog.names == ("first", "second", "mixed", "own")
    assert catalog.by_schema_name("first").description == "Another first."
    assert catalog.by_schema_name("first").callable is vars(Child)["first"]
    assert discover_agent_tools(Base).names == ("first", "hidden", "second")


@pytest.mark.requirement("TOOL-2")
def test_an_override_without_decorator_takes_the_tool_away() -> None:
    with pytest.raises(AgentToolDispatchError):
        discover_agent_tools(Child).by_schema_name("hidden")


@pytest.mark.requirement("TOOL-2")
def test_a_descriptor_keeps_owner_callable_schema_and_metadata() -> None:
    descriptor = discover_agent_tools(Child).by_schema_name("second")

    assert descriptor.owner is Child
    assert descriptor.callable is vars(Base)["second"]
    assert descriptor.identity == AgentToolIdentity(__name__, "Child", "second")
    assert descriptor.identity.key == f"{__name__}.Child.second"
    assert descriptor.schema.output_schema == {"type": "string"}
    assert descriptor.metadata == AgentToolMetadata()
    assert descriptor.name == "second"
    assert discover_agent_tools(Child).by_identity(descriptor.identity) == descriptor


def test_discovering_twice_gives_equal_catalogs() -> None:
    assert discover_agent_tools(Child) == discover_agent_tools(Child)
    assert hash(discover_agent_tools(Child)) == hash(discover_agent_tools(Child))


ORDER_SCRIPT = """
from spakky.agent.declare.catalog import discover_agent_tools
from spakky.agent.declare.tool import agent_tool
class A:
    @agent_tool()
    def zeta(self, b: int, a: str = "") -> str: return a
    @agent_tool()
    def alpha(self, z: dict[str, int], y: int | None = None) -> str: return ""
class B(A):
    @agent_tool()
    def beta(self) -> str: return ""
for tool in discover_agent_tools(B).descriptors:
    print(tool.identity.key, tool.schema.input_schema)
"""


@pytest.mark.requirement("TOOL-2")
def test_the_order_is_the_same_in_every_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", ORDER_SCRIPT],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        ).stdout
        for seed in (0, 1, 4242)
    }

    assert len(outputs) == 1
    assert [line.split(" ")[0] for line in outputs.pop().splitlines()] == [
        "__main__.B.zeta",
        "__main__.B.alpha",
        "__main__.B.beta",
    ]


@pytest.mark.requirement("TOOL-3")
def test_two_tools_of_one_schema_name_are_refused() -> None:
    class Twice:
        @agent_tool(schema_name="file.read")
        def a(self) -> str:
            return ""

        @agent_tool(schema_name="file.read")
        def b(self) -> str:
            return ""

    with pytest.raises(AgentDefinitionError, match=r"'file\.read'.*\.a and .*\.b"):
        discover_agent_tools(Twice)


def test_two_tools_of_one_identity_are_refused() -> None:
    class Twice:
        @agent_tool(name="x", schema_name="a")
        def a(self) -> str:
            return ""

        @agent_tool(name="x", schema_name="b")
        def b(self) -> str:
            return ""

    with pytest.raises(AgentDefinitionError, match="identity"):
        discover_agent_tools(Twice)


def test_merging_keeps_the_order_and_refuses_duplicates() -> None:
    base, mixin = discover_agent_tools(Base), discover_agent_tools(Mixin)

    merged = merge_catalogs(mixin, AgentToolCatalog(), base)

    assert merged.names == ("mixed", "first", "hidden", "second")
    with pytest.raises(AgentDefinitionError, match="'first'"):
        merge_catalogs(base, discover_agent_tools(Child))
    with pytest.raises(AgentDefinitionError, match="'mixed'"):
        merge_catalogs(mixin, mixin)


@pytest.mark.requirement("TOOL-22")
def test_an_unknown_name_lists_the_known_ones_close_ones_first() -> None:
    catalog = discover_agent_tools(Child)

    with pytest.raises(AgentToolDispatchError, match="Known tools: second, first, mixed, own"):
        catalog.by_schema_name("secnd")
    with pytest.raises(AgentToolDispatchError, match="There are no tools"):
        AgentToolCatalog().by_schema_name("x")
    with pytest.raises(AgentToolDispatchError, match=r"no\.such\.tool"):
        catalog.by_identity(AgentToolIdentity("no", "such", "tool"))


def test_endless_names_and_lists_are_cut() -> None:
    def tool() -> str:
        return ""

    many = AgentToolCatalog(
        tuple(
            AgentToolDescriptor.foreign(source="s", name=f"t{number}", call=tool, input_schema={})
            for number in range(53)
        )
    )

    with pytest.raises(AgentToolDispatchError) as caught:
        many.by_schema_name("x" * 5000)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).endswith("and 3 more.")


class Port(ABC):
    @abstractmethod
    @agent_tool()
    def run(self) -> str:
        """Run."""


def test_an_abstract_method_may_declare_the_tool() -> None:
    assert discover_agent_tools(Port).names == ("run",)


def test_a_decorator_that_wraps_a_tool_keeps_it_one() -> None:
    def shout(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> str:
            return function(*args, **kwargs).upper()

        return wrapper

    class Loud:
        @shout
        @agent_tool()
        def say(self, word: str) -> str:
            return word

    (descriptor,) = discover_agent_tools(Loud).descriptors

    assert descriptor.bind_invocation({"word": "a"}).args == ("a",)
    assert descriptor.callable(Loud(), "a") == "A"


class Kinds:
    @agent_tool()
    @staticmethod
    def static(a: int) -> int:
        return a

    @agent_tool()
    @classmethod
    def by_class(cls, a: int) -> int:
        return a

    @agent_tool()
    def method(this, a: int) -> int:  # noqa: N805  # any name serves as the receiver's
        return a


def test_the_receiver_is_no_argument_whatever_the_kind_of_method() -> None:
    catalog = discover_agent_tools(Kinds)

    assert {tool.name: tool.takes for tool in catalog.descriptors} == {
        "static": ToolReceiver.NONE,
        "by_class": ToolReceiver.CLASS,
        "method": ToolReceiver.INSTANCE,
    }
    for tool in catalog.descriptors:
        assert tool.bind_invocation({"a": 1}) == AgentToolBoundInvocation((1,))


@agent_tool(
    schema_name="shell.command",
    effects=ToolEffects.external_side_effect(),
    idempotency=Idempotency.NON_IDEMPOTENT,
    evidence=EvidenceCapture.SUMMARY,
)
def run_shell(command: str) -> dict[str, str]:
    return {"command": command}


@pytest.mark.requirement("DEMO-7", "TOOL-4")
def test_a_function_of_a_module_is_a_tool_without_owner() -> None:
    descriptor = describe_tool_function(run_shell)

    assert descriptor.owner is None
    assert descriptor.identity.key == f"{__name__}.run_shell"
    assert descriptor.metadata.evidence is EvidenceCapture.SUMMARY
    assert descriptor.metadata.idempotency is Idempotency.NON_IDEMPOTENT
    assert descriptor.metadata.approval is ToolApprovalRequirement.DERIVED
    assert descriptor.bind_invocation({"command": "ls"}).args == ("ls",)
    with pytest.raises(AgentDefinitionError, match="no tool"):
        describe_tool_function(discover_agent_tools)


def test_only_a_function_of_a_class_can_be_described_as_a_member() -> None:
    with pytest.raises(AgentDefinitionError, match="no function"):
        describe_member(Kinds, Kinds, "__doc__", AgentToolDefinition("a", "a"))


# ---------------------------------------------------------------- approval


@dataclass
class Contact:
    email: Annotated[str, SensitiveField(PII.EMAIL)]
    name: str


class Sensitive:
    @agent_tool(effects=ToolEffects.external_side_effect())
    def send(self, to: Contact, token: Annotated[str, SecretField()], body: str = "") -> str:
        return f"{to}{token}{body}"

    @agent_tool()
    def harmless(self) -> str:
        return ""


PAYLOADS: list[JsonObject] = [
    {"to": {"email": "kim@example.com", "name": "Kim"}, "token": "s3cr3t", "body": "hi"},
    {"args": [{"email": "kim@example.com", "name": "Kim"}, "s3cr3t"], "kwargs": {"body": "hi"}},
]


@pytest.mark.requirement("SAFE-8", "SAFE-9", "HITL-4")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_an_approval_shows_tool_risk_and_arguments_but_no_sensitive_value(
    payload: JsonObject,
) -> None:
    context = discover_agent_tools(Sensitive).by_schema_name("send").approval_context(payload)

    assert "'send'" in str(context.prompt)
    assert "side_effect, network" in str(context.prompt)
    assert context.action_ref == f"{__name__}.Sensitive.send"
    assert context.metadata["risk"] == ["side_effect", "network"]
    assert "kim@example.com" not in repr(context)
    assert "s3cr3t" not in repr(context)
    arguments = context.metadata["arguments"]
    assert isinstance(arguments, dict)
    assert arguments["body"] == "hi"
    assert arguments["to"]["name"] == "Kim"


def test_a_tool_without_risk_says_nothing_of_it() -> None:
    context = discover_agent_tools(Sensitive).by_schema_name("harmless").approval_context({})

    assert "risk" not in str(context.prompt)
    assert context.metadata == {"tool": "harmless", "risk": [], "arguments": {}}
    assert AgentToolApprovalContext().metadata == {}


def test_an_approval_of_unknown_arguments_is_refused() -> None:
    with pytest.raises(AgentToolBindingError):
        discover_agent_tools(Sensitive).by_schema_name("send").approval_context({"x": 1})


# ---------------------------------------------------------------- descriptors made by hand


def test_a_descriptor_made_by_hand_binds_by_its_callable() -> None:
    descriptor = AgentToolDescriptor(
        identity=AgentToolIdentity("m", "Kinds", "method"),
        owner=Base,
        callable=Base.first,
        schema=AgentToolSchemaHandle("t", "t.in", "t.out"),
    )

    assert descriptor.takes is ToolReceiver.INSTANCE
    assert descriptor.bind_invocation({}) == AgentToolBoundInvocation()
    assert descriptor.injected == ()


def test_a_foreign_tool_without_metadata_may_do_anything() -> None:
    descriptor = AgentToolDescriptor.foreign(
        source="files",
        name="read",
        schema_name="files.read",
        call=lambda **arguments: arguments,
        input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
        description="Reads a file.",
    )

    assert descriptor.metadata.risk.axes == (ToolRiskAxis.SIDE_EFFECT, ToolRiskAxis.NETWORK)
    assert descriptor.metadata.requires_approval_candidate
    assert not descriptor.metadata.may_run_concurrently
    assert descriptor.identity.key == "files.read"
    assert descriptor.name == "files.read"
    assert descriptor.schema.input_schema["type"] == "object"
    assert descriptor.bind_invocation({"path": 1}).kwargs == {"path": 1}
    descriptor.validate()


def test_other_metadata_can_be_put_on_a_foreign_tool() -> None:
    descriptor = AgentToolDescriptor.foreign(
        source="files",
        name="read",
        call=lambda **arguments: arguments,
        input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
        metadata=AgentToolMetadata(effects=ToolEffects.read_only()),
    )

    trusted = replace(descriptor, description="Safe.")

    assert not trusted.metadata.requires_approval_candidate
    assert trusted.bind_invocation({"path": 1}).kwargs == {"path": 1}
    assert trusted.name == "read"


@pytest.mark.parametrize("name", ["", "a\x00"])
def test_a_foreign_tool_needs_a_name(name: str) -> None:
    with pytest.raises(AgentDefinitionError):
        AgentToolDescriptor.foreign(
            source="s", name="x", schema_name=name, call=run_shell, input_schema={}
        )
    with pytest.raises(AgentDefinitionError):
        AgentToolDescriptor.foreign(source="s", name=name, call=run_shell, input_schema={})
