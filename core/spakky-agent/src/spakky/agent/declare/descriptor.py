"""The descriptor of one tool: who owns it, how it is called, and what is known about it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from spakky.agent.checks import require_optional_text
from spakky.agent.contracts.tool_metadata import AgentToolMetadata, Externality
from spakky.agent.declare.binding import (
    AgentToolBoundInvocation,
    ForeignBinder,
    SignatureBinder,
    ToolBinder,
    guess_receiver,
)
from spakky.agent.declare.hints import UnresolvedHintError
from spakky.agent.declare.schema import (
    AgentToolSchemaHandle,
    DeferredToolSchemaHandle,
    extract_tool_schema,
)
from spakky.agent.declare.signature import SignatureSource, ToolParameter, ToolReceiver
from spakky.agent.declare.tool import (
    NOTHING_DECLARED,
    AgentToolDefinition,
    plain_function,
    require_tool_name,
)
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.redact import redact_fields
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, freeze_object

_SHOW_NOTHING = ContextExposurePolicy()


@dataclass(frozen=True, slots=True)
class AgentToolIdentity:
    """Tells one tool from all others of an application.

    Attributes:
        owner_module: The module of the owner, or of the function; of a foreign tool, its source.
        owner_qualname: The owner's qualified name; empty for a function of a module.
        name: The tool's name inside its owner.

    Raises:
        AgentDefinitionError: The name cannot be a tool's.
    """

    owner_module: str
    owner_qualname: str
    name: str

    def __post_init__(self) -> None:
        require_tool_name(self.name, "AgentToolIdentity.name")

    @property
    def key(self) -> str:
        """The identity as one text, the parts joined by dots."""
        return ".".join(
            part for part in (self.owner_module, self.owner_qualname, self.name) if part
        )


@dataclass(frozen=True, slots=True)
class AgentToolApprovalContext:
    """What a person is shown who decides about a call.

    Attributes:
        prompt: The question, without argument values.
        action_ref: The tool's identity.
        metadata: ``tool``, ``risk`` and ``arguments``, in which sensitive values are replaced.
    """

    prompt: str | None = None
    action_ref: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_optional_text(self.prompt, "AgentToolApprovalContext.prompt")
        require_optional_text(self.action_ref, "AgentToolApprovalContext.action_ref")
        object.__setattr__(self, "metadata", freeze_object(self.metadata))


@dataclass(frozen=True, slots=True)
class AgentToolDescriptor:
    """One tool as an agent offers it.

    Attributes:
        identity: Tells it from all others.
        owner: The class whose instance it is called on; None for a tool without owner.
        callable: The function as written, taking the owner's instance first where it needs one.
        schema: The schemas of its arguments and result.
        description: What it does, in words for the model.
        metadata: Effects, idempotency and the like.
        member: The owner's attribute through which it is called, so that wrappers around an
            instance take part; None calls ``callable`` itself.
        receiver: What ``callable`` takes before the arguments; None derives it from its signature.
        binder: Binds calls; None derives it from the signature.
        takes: ``receiver``, derived where it was None.
    """

    identity: AgentToolIdentity
    owner: type[object] | None
    callable: Callable[..., object]
    schema: AgentToolSchemaHandle
    description: str | None = None
    metadata: AgentToolMetadata = NOTHING_DECLARED
    member: str | None = None
    receiver: ToolReceiver | None = field(default=None, repr=False)
    binder: ToolBinder | None = field(default=None, repr=False, compare=False)
    # The two above, settled; a copy made by ``replace`` settles them anew.
    takes: ToolReceiver = field(init=False, repr=False, compare=False)
    _calls: ToolBinder = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        takes = guess_receiver(self.callable) if self.receiver is None else self.receiver
        calls = self.binder
        if calls is None:
            source = SignatureSource(self.callable, takes, self.owner)
            calls = SignatureBinder(source, self.schema.name)
        object.__setattr__(self, "takes", takes)
        object.__setattr__(self, "_calls", calls)

    @classmethod
    def foreign(
        cls,
        *,
        source: str,
        name: str,
        call: Callable[..., object],
        input_schema: JsonObject,
        output_schema: JsonObject = EMPTY_OBJECT,
        schema_name: str | None = None,
        description: str | None = None,
        metadata: AgentToolMetadata | None = None,
    ) -> Self:
        """Describe a tool whose schema comes from elsewhere, such as a server.

        Its arguments are always taken by name. Names are checked against ``properties`` and
        ``required`` of the schema; values are left to the tool's owner.

        Args:
            source: Where it comes from, for example the server's name.
            name: The tool's name there.
            call: Gets the arguments as keywords and gives the result, or something awaitable. A
                name of its own, such as ``self``, should be positional-only.
            input_schema: Of the arguments, an object schema.
            output_schema: Of the result; empty when unknown.
            schema_name: The name that a model calls it by; without one, ``name``.
            description: What it does.
            metadata: Without it nothing is known: the tool may do anything and asks for approval.

        Raises:
            AgentDefinitionError: A name cannot be a tool's.
        """
        shown = name if schema_name is None else schema_name
        require_tool_name(shown, f"schema_name of the tool {name!r} of {source}")
        if metadata is None:
            metadata = AgentToolMetadata(externality=Externality.UNKNOWN)
        return cls(
            identity=AgentToolIdentity(source, "", name),
            owner=None,
            callable=call,
            schema=AgentToolSchemaHandle(
                shown, f"{shown}.input", f"{shown}.output", input_schema, output_schema
            ),
            description=description,
            metadata=metadata,
            receiver=ToolReceiver.NONE,
            binder=ForeignBinder(input_schema, shown),
        )

    @property
    def name(self) -> str:
        """The schema name, by which a model calls the tool."""
        return self.schema.name

    @property
    def injected(self) -> tuple[ToolParameter, ...]:
        """The parameters that the framework fills."""
        return self._calls.injected()

    def validate(self) -> None:
        """Read what could not be read when the class was defined.

        Raises:
            AgentDefinitionError: The signature cannot be offered to a model; the message names the
                parameter.
        """
        self._calls.resolve()
        _ = self.schema.input_schema

    def bind_invocation(self, payload: JsonObject) -> AgentToolBoundInvocation:
        """Check and decode the arguments of a call; the tool is not run.

        Args:
            payload: The arguments by name, or ``{"args": [...], "kwargs": {...}}`` where no
                parameter has one of these names.

        Raises:
            AgentToolBindingError: An argument is missing, unknown, given twice or of another type.
        """
        return self._calls.bind(payload)

    def name_arguments(self, payload: JsonObject) -> JsonObject:
        """Give the arguments by name, neither decoded nor complete, whatever form they came in.

        Args:
            payload: The arguments, in any form that ``bind_invocation`` takes.

        Raises:
            AgentToolBindingError: An argument is unknown or given twice.
        """
        return self._calls.flatten(payload)

    def approval_context(self, payload: JsonObject) -> AgentToolApprovalContext:
        """Give what a person is shown who decides about a call.

        Args:
            payload: The arguments, in any form that ``bind_invocation`` takes.

        Raises:
            AgentToolBindingError: An argument is unknown or given twice.
        """
        risk = [axis.value for axis in self.metadata.risk.axes]
        guarded = redact_fields(
            self.name_arguments(payload),
            self.schema.input_sensitive_fields,
            _SHOW_NOTHING.can_expose_value,
        )
        declared = f" Its risk: {', '.join(risk)}." if risk else ""
        return AgentToolApprovalContext(
            prompt=f"The agent wants to run the tool {self.name!r}.{declared} Approve?",
            action_ref=self.identity.key,
            metadata={"tool": self.name, "risk": risk, "arguments": guarded},
        )


def describe_member(
    owner: type[object],
    defined_in: type[object],
    member_name: str,
    definition: AgentToolDefinition,
) -> AgentToolDescriptor:
    """Describe a tool that stands in a class body.

    Args:
        owner: The class that offers it.
        defined_in: That class or a base of it, whose body holds the member.
        member_name: The member's name in that body.
        definition: What was declared about it.

    Raises:
        AgentDefinitionError: The signature cannot be offered to a model.
    """
    member: object = vars(defined_in)[member_name]
    function = plain_function(member)
    if function is None:
        message = f"{defined_in.__qualname__}.{member_name} is no function or method."
        raise AgentDefinitionError(message)
    receiver = ToolReceiver.INSTANCE
    if isinstance(member, classmethod):
        receiver = ToolReceiver.CLASS
    elif isinstance(member, staticmethod):
        receiver = ToolReceiver.NONE
    source = SignatureSource(function, receiver, defined_in)
    return AgentToolDescriptor(
        identity=AgentToolIdentity(owner.__module__, owner.__qualname__, definition.name),
        owner=owner,
        callable=function,
        schema=_schema_of(definition.schema_name, source),
        description=definition.description,
        metadata=definition.metadata,
        member=member_name,
        receiver=receiver,
        binder=SignatureBinder(source, definition.schema_name),
    )


def describe_function(
    function: Callable[..., object], definition: AgentToolDefinition
) -> AgentToolDescriptor:
    """Describe a tool that is a function outside a class.

    Args:
        function: The function.
        definition: What was declared about it.

    Raises:
        AgentDefinitionError: The signature cannot be offered to a model.
    """
    source = SignatureSource(function, ToolReceiver.NONE)
    return AgentToolDescriptor(
        identity=AgentToolIdentity(function.__module__, "", definition.name),
        owner=None,
        callable=function,
        schema=_schema_of(definition.schema_name, source),
        description=definition.description,
        metadata=definition.metadata,
        receiver=ToolReceiver.NONE,
        binder=SignatureBinder(source, definition.schema_name),
    )


def _schema_of(name: str, source: SignatureSource) -> AgentToolSchemaHandle:
    try:
        return extract_tool_schema(name, source.resolve())
    except UnresolvedHintError:
        # A class may be defined further down; ``validate`` reads the signature again.
        return DeferredToolSchemaHandle(name, source)
