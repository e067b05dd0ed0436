"""``@agent_tool``: declares that a function or method is a tool."""

import inspect
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spakky.agent.checks import require_optional_text, require_text
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
from spakky.agent.declare.docstring import summary_of
from spakky.agent.error import AgentDefinitionError

NOTHING_DECLARED = AgentToolMetadata()
"""The metadata of a tool whose author said nothing."""

_DEFINITION_ATTRIBUTE = "__spakky_agent_tool__"
_MAX_NAME_LENGTH = 256
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class AgentToolDefinition:
    """What ``@agent_tool`` says about a function; it is attached to the function.

    Attributes:
        name: The tool's name inside its owner.
        schema_name: The name that a model calls it by.
        description: What it does, in words for the model.
        metadata: Effects, idempotency and the like.

    Raises:
        AgentDefinitionError: A name is blank, longer than 256 characters or has control characters,
            or the description is blank.
    """

    name: str
    schema_name: str
    description: str | None = None
    metadata: AgentToolMetadata = NOTHING_DECLARED

    def __post_init__(self) -> None:
        require_tool_name(self.name, "AgentToolDefinition.name")
        require_tool_name(self.schema_name, "AgentToolDefinition.schema_name")
        where = f"description of the tool {self.schema_name!r}"
        require_optional_text(self.description, where, error=AgentDefinitionError)


def require_tool_name(name: str, where: str) -> None:
    """Refuse a name that cannot be a tool's.

    Args:
        name: The name.
        where: The class and field, for the message.

    Raises:
        AgentDefinitionError: It is blank, longer than 256 characters or has control characters.
    """
    require_text(name, where, error=AgentDefinitionError)
    if len(name) > _MAX_NAME_LENGTH:
        message = f"{where} has {len(name)} characters; the limit is {_MAX_NAME_LENGTH}."
        raise AgentDefinitionError(message)
    if any(unicodedata.category(character) in _REFUSED_CATEGORIES for character in name):
        message = f"{where} {name!r} has control characters; use visible ones."
        raise AgentDefinitionError(message)


def agent_tool[FunctionT: Callable[..., object]](
    *,
    name: str | None = None,
    schema_name: str | None = None,
    description: str | None = None,
    permissions: Sequence[ToolPermission] = (),
    effects: ToolEffects | None = None,
    idempotency: Idempotency = Idempotency.UNKNOWN,
    data_access: DataAccess | None = None,
    externality: Externality | None = None,
    timeout: TimeoutPolicy | None = None,
    result_budget: ResultBudget | None = None,
    evidence: EvidenceCapture = EvidenceCapture.NONE,
    approval: ToolApprovalRequirement = ToolApprovalRequirement.DERIVED,
    concurrent: bool | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Declare a tool. The function stays as it is and can be called as before.

    Args:
        name: The tool's name inside its owner; without one, the function's name.
        schema_name: The name that a model calls it by; without one, ``name``.
        description: What it does; without one, the first paragraph of the docstring.
        permissions: What the caller must be allowed to do.
        effects: What the tool does to the world; without it, nothing is declared.
        idempotency: Whether a call may be repeated.
        data_access: Replaces that part of ``effects``.
        externality: Replaces that part of ``effects``.
        timeout: How long one call may take.
        result_budget: How large a result may be.
        evidence: What of a result is kept as evidence.
        approval: Whether a person must approve a call.
        concurrent: Whether calls may run beside others of the same turn; None derives it.

    Returns:
        A decorator for functions, methods, static methods and class methods, sync or async.

    Raises:
        AgentDefinitionError: An argument is wrong, or what is decorated is no such function.
    """
    declared = ToolEffects() if effects is None else effects
    if isinstance(declared, ToolEffects):
        declared = declared.overridden(data_access, externality)
    metadata = AgentToolMetadata(
        permissions=tuple(permissions),
        effects=declared,
        idempotency=idempotency,
        timeout=TimeoutPolicy() if timeout is None else timeout,
        result_budget=ResultBudget() if result_budget is None else result_budget,
        evidence=evidence,
        approval=approval,
        concurrent=concurrent,
    )

    def declare(function: FunctionT) -> FunctionT:
        plain = plain_function(function)
        if plain is None or inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
            message = (
                f"@agent_tool decorates functions and methods that return one result, not"
                f" {function!r}."
            )
            raise AgentDefinitionError(message)
        if tool_definition_of(plain) is not None:
            message = f"{plain.__qualname__} is declared as a tool twice; keep one @agent_tool."
            raise AgentDefinitionError(message)
        own_name = plain.__name__ if name is None else name
        definition = AgentToolDefinition(
            name=own_name,
            schema_name=own_name if schema_name is None else schema_name,
            description=summary_of(plain.__doc__) if description is None else description,
            metadata=metadata,
        )
        setattr(plain, _DEFINITION_ATTRIBUTE, definition)
        return function

    return declare


def plain_function(member: object) -> Callable[..., object] | None:
    """Give the function behind a class member.

    Args:
        member: A function, static method or class method, as it stands in a class body.

    Returns:
        The function, or None when the member is something else.
    """
    inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    return inner if inspect.isfunction(inner) else None


def tool_definition_of(member: object) -> AgentToolDefinition | None:
    """Give what ``@agent_tool`` declared about a function or class member, or None.

    Args:
        member: As it stands in a class body or module.
    """
    # getattr: the decorator attached the definition to the function under this name.
    found: object = getattr(plain_function(member), _DEFINITION_ATTRIBUTE, None)
    return found if isinstance(found, AgentToolDefinition) else None
