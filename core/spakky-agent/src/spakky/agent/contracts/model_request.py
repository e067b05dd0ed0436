"""What a model is asked, and what is known about the model that is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from spakky.agent.checks import (
    require_not_negative,
    require_optional_text,
    require_text,
)
from spakky.agent.contracts.construction import (
    require_count,
    require_member,
    store_objects,
    store_tuples,
)
from spakky.agent.contracts.context import (
    ContextDigest,
    ContextManifest,
    ContextPack,
    ContextPackRole,
)
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


@dataclass(frozen=True, slots=True)
class ModelCapability:
    """What a model can do, known before it is asked.

    Attributes:
        supports_reasoning: Whether it streams its reasoning apart from its answer.
        context_window_tokens: The most tokens of input and output together; None when unknown.
        supports_token_counting: Whether the backend counts tokens of a request.

    Raises:
        AgentValueError: A window below one token.
    """

    supports_reasoning: bool = False
    context_window_tokens: int | None = None
    supports_token_counting: bool = False

    def __post_init__(self) -> None:
        where = "ModelCapability.context_window_tokens"
        require_count(self.context_window_tokens, where, least=1)


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """Which model a request goes to; a part that is None is left to the adapter.

    Attributes:
        provider: The backend's name.
        model: The model's name at the provider.
        profile: The name of a configured endpoint of the adapter.
        metadata: Extra data for the adapter.

    Raises:
        AgentValueError: A blank name.
    """

    provider: str | None = None
    model: str | None = None
    profile: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_optional_text(self.provider, "ModelSelection.provider")
        require_optional_text(self.model, "ModelSelection.model")
        require_optional_text(self.profile, "ModelSelection.profile")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class JsonSchemaConstraint:
    """A JSON schema that something the model writes has to fit.

    Attributes:
        schema: Draft 2020-12; every reference resolves from its root.
        strict: Whether the provider is asked to enforce it where it can.
    """

    schema: JsonObject
    strict: bool = True

    def __post_init__(self) -> None:
        store_objects(self, "schema")


@dataclass(frozen=True, slots=True)
class StructuredOutputSpec:
    """Asks for an answer that is a JSON value of a given shape.

    Attributes:
        constraint: The shape.
        output_type_name: A name for the shape, which some providers need.

    Raises:
        AgentValueError: The name is blank.
    """

    constraint: JsonSchemaConstraint
    output_type_name: str | None = None

    def __post_init__(self) -> None:
        require_optional_text(self.output_type_name, "StructuredOutputSpec.output_type_name")


class ModelToolChoice(StrEnum):
    """Whether the model may, must not or must call a tool."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class ModelToolSpec:
    """A tool as it is offered to a model.

    Attributes:
        name: The tool's schema name; an adapter maps it to what its wire allows.
        parameters: The schema of the arguments, an object schema.
        description: What the tool does, in words for the model.
        metadata: Extra data for the adapter.

    Raises:
        AgentValueError: The name is blank.
    """

    name: str
    parameters: JsonSchemaConstraint
    description: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.name, "ModelToolSpec.name")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class ToolCallingSpec:
    """The tools of a request.

    Attributes:
        tools: In the order in which they are offered, each name once.
        choice: Whether one has to be called.

    Raises:
        AgentValueError: Two tools of one name, or a call is required and there is no tool.
    """

    tools: Sequence[ModelToolSpec]
    choice: ModelToolChoice = ModelToolChoice.AUTO

    def __post_init__(self) -> None:
        store_tuples(self, "tools")
        require_member(self.choice, ModelToolChoice, "ToolCallingSpec.choice")
        seen: set[str] = set()
        for tool in self.tools:
            if tool.name in seen:
                message = (
                    f"ToolCallingSpec.tools offers {tool.name!r} twice; rename one of the tools."
                )
                raise AgentValueError(message)
            seen.add(tool.name)
        if self.choice is ModelToolChoice.REQUIRED and not self.tools:
            message = "ToolCallingSpec.choice is REQUIRED but no tool is offered; add one."
            raise AgentValueError(message)


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How the model picks its words; None leaves a value to the provider.

    Attributes:
        temperature: Zero or above.
        top_p: From 0 to 1.
        max_tokens: The most tokens of the answer, at least one.

    Raises:
        AgentValueError: A number outside its range.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        require_not_negative(self.temperature, "SamplingOptions.temperature")
        require_not_negative(self.top_p, "SamplingOptions.top_p")
        if self.top_p is not None and self.top_p > 1:
            message = f"SamplingOptions.top_p must be from 0 to 1, not {self.top_p!r}."
            raise AgentValueError(message)
        require_count(self.max_tokens, "SamplingOptions.max_tokens", least=1)


@dataclass(frozen=True, slots=True)
class StreamingOptions:
    """What a stream reports beside the answer.

    Attributes:
        include_usage: Ask the provider for the token usage.
        include_progress: Pass on progress that the provider reports.
    """

    include_usage: bool = True
    include_progress: bool = True


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model, free of any provider's format.

    Attributes:
        messages: The dialogue, oldest first.
        context: Packs that are sent after the messages, most important first.
        context_manifest: How the packs were put together.
        context_digest: What stands for older context, when there is any.
        structured_output: The shape of the answer, when it is not free text.
        tool_calling: The tools, when there are any.
        sampling: How the words are picked.
        streaming: What a stream reports.
        model_selection: Which model is asked; None leaves it to the adapter.
        metadata: Extra data of the run and the adapter.
    """

    messages: Sequence[ModelMessage]
    context: Sequence[ContextPack] = ()
    context_manifest: ContextManifest | None = None
    context_digest: ContextDigest | None = None
    structured_output: StructuredOutputSpec | None = None
    tool_calling: ToolCallingSpec | None = None
    sampling: SamplingOptions = SamplingOptions()
    streaming: StreamingOptions = StreamingOptions()
    model_selection: ModelSelection | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_tuples(self, "messages", "context")
        store_objects(self, "metadata")

    def assemble_messages(
        self, policy: ContextExposurePolicy | None = None
    ) -> tuple[ModelMessage, ...]:
        """Give the messages to send: the dialogue, then one message for each context pack.

        Args:
            policy: What the model may see of the packs; None shows nothing sensitive.
        """
        packs = tuple(
            ModelMessage(
                _role_of(pack.role),
                pack.guarded_content(policy),
                pack.message_metadata(policy),
            )
            for pack in self.context
        )
        return (*self.messages, *packs)


def _role_of(role: ContextPackRole) -> ModelMessageRole:
    """Give the role of a pack's message: only a pack declared as SYSTEM may direct the model."""
    match role:
        case ContextPackRole.SYSTEM:
            return ModelMessageRole.SYSTEM
        case ContextPackRole.INSTRUCTION | ContextPackRole.TASK:
            return ModelMessageRole.USER
        case (
            ContextPackRole.STATE
            | ContextPackRole.EVIDENCE
            | ContextPackRole.TOOL_RESULT
            | ContextPackRole.DELEGATION
            | ContextPackRole.MEMORY
        ):
            return ModelMessageRole.EVIDENCE
        case _:
            assert_never(role)
