"""``@agent_tool`` attaches a definition and leaves the function as it is."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
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
)
from spakky.agent.declare.tool import AgentToolDefinition, agent_tool, tool_definition_of
from spakky.agent.error import AgentDefinitionError


def plain(a: int) -> int:
    """Give the number
    itself.

    More text.
    """
    return a


@pytest.mark.requirement("TOOL-1", "TOOL-3")
def test_the_function_stays_and_carries_a_definition() -> None:
    def tool(a: int) -> int:
        """Give the number
        itself.

        More text.
        """
        return a

    decorated = agent_tool()(tool)

    assert decorated is tool
    assert decorated(3) == 3
    assert tool_definition_of(decorated) == AgentToolDefinition(
        name="tool",
        schema_name="tool",
        description="Give the number itself.",
        metadata=AgentToolMetadata(),
    )
    assert tool_definition_of(plain) is None


@pytest.mark.requirement("TOOL-3", "TOOL-4", "DEMO-7")
def test_every_keyword_is_kept() -> None:
    @agent_tool(
        name="run",
        schema_name="shell.command",
        description="Runs a command.",
        permissions=[ToolPermission("shell")],
        effects=ToolEffects.external_side_effect(),
        idempotency=Idempotency.NON_IDEMPOTENT,
        timeout=TimeoutPolicy(3),
        result_budget=ResultBudget(10),
        evidence=EvidenceCapture.SUMMARY,
        approval=ToolApprovalRequirement.DERIVED,
        concurrent=False,
    )
    def run_shell(command: str) -> dict[str, str]:
        return {"command": command}

    definition = tool_definition_of(run_shell)

    assert definition == AgentToolDefinition(
        "run",
        "shell.command",
        "Runs a command.",
        AgentToolMetadata(
            permissions=(ToolPermission("shell"),),
            effects=ToolEffects.external_side_effect(),
            idempotency=Idempotency.NON_IDEMPOTENT,
            timeout=TimeoutPolicy(3),
            result_budget=ResultBudget(10),
            evidence=EvidenceCapture.SUMMARY,
            concurrent=False,
        ),
    )


def test_a_name_without_a_schema_name_is_what_the_model_sees() -> None:
    @agent_tool(name="lookup")
    def f() -> None:
        return None

    definition = tool_definition_of(f)

    assert definition is not None
    assert (definition.name, definition.schema_name) == ("lookup", "lookup")
    assert definition.description is None


@pytest.mark.parametrize(
    ("data_access", "externality", "effects"),
    [
        (None, None, ToolEffects.external_side_effect()),
        (
            DataAccess.WRITE,
            Externality.LOCAL,
            ToolEffects(data_access=DataAccess.WRITE, network=True),
        ),
        (
            DataAccess.NONE,
            Externality.UNKNOWN,
            ToolEffects(externality=Externality.UNKNOWN, network=True),
        ),
    ],
)
def test_explicit_parts_replace_those_of_the_effects(
    data_access: DataAccess | None, externality: Externality | None, effects: ToolEffects
) -> None:
    @agent_tool(
        effects=ToolEffects.external_side_effect(),
        data_access=data_access,
        externality=externality,
    )
    def f() -> None:
        return None

    definition = tool_definition_of(f)

    assert definition is not None
    assert definition.metadata.effects == effects


def test_static_and_class_methods_carry_a_definition_in_any_order_of_decorators() -> None:
    class Owner:
        @agent_tool()
        @staticmethod
        def a() -> int:
            return 1

        @staticmethod
        @agent_tool()
        def b() -> int:
            return 2

        @classmethod
        @agent_tool()
        def c(cls) -> int:
            return 3

    members = [vars(Owner)[name] for name in "abc"]

    assert all(tool_definition_of(member) is not None for member in members)
    assert (Owner.a(), Owner.b(), Owner.c()) == (1, 2, 3)


async def test_a_coroutine_function_stays_one() -> None:
    @agent_tool()
    async def f() -> int:
        return 1

    assert await f() == 1


def _generator() -> Iterator[int]:
    yield 1


async def _async_generator() -> AsyncIterator[int]:
    yield 1


class _Callable:
    def __call__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "function",
    [_generator, _async_generator, _Callable(), _Callable, functools.partial(plain, 1), len],
)
def test_what_gives_no_single_result_is_no_tool(function: Callable[..., object]) -> None:
    with pytest.raises(AgentDefinitionError, match="functions and methods"):
        agent_tool()(function)


def test_a_function_is_declared_once() -> None:
    @agent_tool()
    def f() -> None:
        return None

    with pytest.raises(AgentDefinitionError, match="twice"):
        agent_tool(schema_name="g")(f)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00", "a\u2028b", "\ud800", "x" * 257])
@pytest.mark.parametrize("keyword", ["name", "schema_name"])
def test_a_name_that_no_tool_can_have_is_refused(keyword: str, name: str) -> None:
    def f() -> None:
        return None

    decorate = agent_tool(name=name) if keyword == "name" else agent_tool(schema_name=name)
    with pytest.raises(AgentDefinitionError):
        decorate(f)


@pytest.mark.parametrize("name", ["file.read", "x" * 256, "파일 읽기", "a👩‍💻b"])
def test_other_names_are_taken(name: str) -> None:
    assert AgentToolDefinition(name, name).schema_name == name


def test_a_blank_description_is_refused() -> None:
    def f() -> None:
        return None

    with pytest.raises(AgentDefinitionError, match="description of the tool 'f'"):
        agent_tool(description=" ")(f)


@pytest.mark.parametrize(
    "decorate",
    [
        lambda: agent_tool(effects=cast("ToolEffects", "none")),
        lambda: agent_tool(idempotency=cast("Idempotency", "unknown")),
        lambda: agent_tool(permissions=[cast("ToolPermission", "x")]),
        lambda: agent_tool(data_access=cast("DataAccess", "read")),
    ],
)
def test_wrong_metadata_is_refused_at_the_decorator(decorate: Callable[[], object]) -> None:
    with pytest.raises(AgentDefinitionError):
        decorate()
