"""The tools of an agent in a fixed order, looked up by name, and how a class's tools are found."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from spakky.agent.declare.descriptor import (
    AgentToolApprovalContext,
    AgentToolDescriptor,
    AgentToolIdentity,
    describe_function,
    describe_member,
)
from spakky.agent.declare.tool import AgentToolDefinition, tool_definition_of
from spakky.agent.error import AgentDefinitionError, AgentToolDispatchError

__all__ = [
    "AgentToolApprovalContext",
    "AgentToolCatalog",
    "AgentToolDescriptor",
    "AgentToolIdentity",
    "describe_tool_function",
    "discover_agent_tools",
    "merge_catalogs",
]

_MAX_LISTED_NAMES = 50


@dataclass(frozen=True, slots=True)
class AgentToolCatalog:
    """Tools that a model may call.

    Attributes:
        descriptors: In the order in which they are offered.

    Raises:
        AgentDefinitionError: Two tools have the same schema name or the same identity.
    """

    descriptors: tuple[AgentToolDescriptor, ...] = ()
    _by_name: Mapping[str, AgentToolDescriptor] = field(init=False, repr=False, compare=False)
    _by_identity: Mapping[AgentToolIdentity, AgentToolDescriptor] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        by_name: dict[str, AgentToolDescriptor] = {}
        by_identity: dict[AgentToolIdentity, AgentToolDescriptor] = {}
        for descriptor in self.descriptors:
            key = descriptor.identity.key
            if descriptor.name in by_name:
                other = by_name[descriptor.name].identity.key
                message = (
                    f"Two tools are named {descriptor.name!r}: {other} and {key}. Give one of them"
                    " another schema_name."
                )
                raise AgentDefinitionError(message)
            if descriptor.identity in by_identity:
                message = f"Two tools have the identity {key}. Give one of them another name."
                raise AgentDefinitionError(message)
            by_name[descriptor.name] = descriptor
            by_identity[descriptor.identity] = descriptor
        object.__setattr__(self, "descriptors", tuple(self.descriptors))
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_by_identity", by_identity)

    @property
    def names(self) -> tuple[str, ...]:
        """The schema names, in the order of the tools."""
        return tuple(self._by_name)

    def by_identity(self, identity: AgentToolIdentity) -> AgentToolDescriptor:
        """Give the tool with that identity.

        Args:
            identity: The identity.

        Raises:
            AgentToolDispatchError: There is none.
        """
        found = self._by_identity.get(identity)
        if found is None:
            message = f"No tool has the identity {identity.key}. {self._tell_names('')}"
            raise AgentToolDispatchError(message)
        return found

    def by_schema_name(self, schema_name: str) -> AgentToolDescriptor:
        """Give the tool that a model calls by that name.

        Args:
            schema_name: The name, exactly.

        Raises:
            AgentToolDispatchError: There is none; the message lists the names, close ones first.
        """
        found = self._by_name.get(schema_name)
        if found is None:
            shown = schema_name if len(schema_name) <= 256 else schema_name[:256] + "..."
            message = f"No tool is named {shown!r}. {self._tell_names(shown)}"
            raise AgentToolDispatchError(message)
        return found

    def validate(self) -> None:
        """Read every signature that could not be read when its class was defined.

        Raises:
            AgentDefinitionError: A signature cannot be offered to a model; the message names the
                parameter.
        """
        for descriptor in self.descriptors:
            descriptor.validate()

    def _tell_names(self, wanted: str) -> str:
        if not self._by_name:
            return "There are no tools."
        close = difflib.get_close_matches(wanted, self._by_name, n=3)
        ordered = list(dict.fromkeys((*close, *self._by_name)))
        hidden = len(ordered) - _MAX_LISTED_NAMES
        more = f" and {hidden} more" if hidden > 0 else ""
        return f"Known tools: {', '.join(ordered[:_MAX_LISTED_NAMES])}{more}."


def merge_catalogs(*catalogs: AgentToolCatalog) -> AgentToolCatalog:
    """Join catalogs, keeping their order.

    Args:
        catalogs: In the order in which their tools are offered.

    Raises:
        AgentDefinitionError: Two tools have the same schema name.
    """
    return AgentToolCatalog(
        tuple(descriptor for catalog in catalogs for descriptor in catalog.descriptors)
    )


def discover_agent_tools(owner: type[object]) -> AgentToolCatalog:
    """Find the tools of a class and its bases.

    Tools of the most basic class come first, each class's in the order of its body. An override
    takes the place of what it overrides; an override without ``@agent_tool`` takes the tool away,
    since nothing is offered to a model that was not declared.

    Args:
        owner: The class.

    Raises:
        AgentDefinitionError: A signature cannot be offered to a model, or two tools have the same
            schema name. A hint that cannot be resolved yet is read by ``validate``.
    """
    return AgentToolCatalog(
        tuple(
            describe_member(owner, base, name, definition)
            for name, base, definition in _find_definitions(owner)
        )
    )


def _find_definitions(
    owner: type[object],
) -> Iterator[tuple[str, type[object], AgentToolDefinition]]:
    bodies: dict[str, type[object]] = {}
    for base in reversed(owner.__mro__):
        bodies.update(dict.fromkeys(vars(base), base))
    for name, base in bodies.items():
        definition = tool_definition_of(vars(base)[name])
        if definition is not None:
            yield name, base, definition


def describe_tool_function(function: Callable[..., object]) -> AgentToolDescriptor:
    """Describe a function outside a class that carries ``@agent_tool``.

    Args:
        function: The function.

    Raises:
        AgentDefinitionError: It carries no ``@agent_tool``, or its signature cannot be offered to a
            model.
    """
    definition = tool_definition_of(function)
    if definition is None:
        message = f"{function!r} is no tool; decorate the function with @agent_tool(...)."
        raise AgentDefinitionError(message)
    return describe_function(function, definition)
