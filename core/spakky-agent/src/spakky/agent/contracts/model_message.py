"""The messages of a model's input and output, and the tool calls in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from spakky.agent.checks import require_optional_text
from spakky.agent.contracts.construction import require_member, store_objects, store_tuples
from spakky.agent.contracts.model_guard import ModelOutputGuard, plan_output_guard
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.sensitive import SensitiveFieldDescriptor
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


class ModelMessageRole(StrEnum):
    """Who speaks in a message, independent of any provider's names."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class ModelToolCall:
    """A tool call as a model asked for it; nothing about it is known to be right yet.

    Attributes:
        name: The tool's schema name as the model wrote it; it may be unknown or empty, which the loop answers.
        arguments: The decoded arguments.
        call_id: The provider's id of the call, unique within one answer at most.
        metadata: Extra data of the adapter.
        arguments_error: What was wrong with the argument text when it was not a JSON object, without quoting
            the text; ``arguments`` is empty then.

    Raises:
        AgentValueError: The name is no text, arguments are no mapping, or an error came together with arguments.
    """

    name: str
    arguments: JsonObject
    call_id: str | None = None
    metadata: JsonObject = EMPTY_OBJECT
    arguments_error: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            message = f"ModelToolCall.name must be text, not {type(self.name).__name__}."
            raise AgentValueError(message)
        store_objects(self, "arguments", "metadata")
        if self.arguments_error is not None and self.arguments:
            message = f"The call of {self.name!r} has arguments and arguments_error; give only one."
            raise AgentValueError(message)

    def guarded(
        self,
        sensitive_fields: Sequence[SensitiveFieldDescriptor],
        policy: EvidenceExposurePolicy | None = None,
    ) -> "ModelToolCall":
        """Give the call with every sensitive value replaced that the policy does not allow.

        Args:
            sensitive_fields: Descriptors whose paths start at the arguments.
            policy: What may be shown; None shows nothing sensitive.

        Returns:
            The call itself when there was nothing to replace.
        """
        return self.guarded_by(plan_output_guard(sensitive_fields, policy, (self.arguments,)))

    def guarded_by(self, guard: ModelOutputGuard) -> "ModelToolCall":
        """Give the call as a guard shows it, that of the answer which holds the call for example."""
        error = self.arguments_error
        guarded = replace(
            self,
            arguments=guard.guard_object(self.arguments),
            metadata=guard.scrub_object(self.metadata),
            arguments_error=None if error is None else guard.scrub_text(error),
        )
        return self if guarded == self else guarded


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message of a model's input.

    Attributes:
        role: Who speaks.
        content: The text; may be empty.
        metadata: Extra data; what of it a provider gets is the adapter's choice.
        tool_calls: The calls that an ASSISTANT message asks for, in the model's order.
        tool_call_id: Which call a TOOL message answers.
        tool_name: The schema name of the tool that a TOOL message comes from.
        message_id: The message's id in the conversation, as events name it.

    Raises:
        AgentValueError: A field that belongs to another role, a blank id, or a content that is no text.
    """

    role: ModelMessageRole
    content: str
    metadata: JsonObject = EMPTY_OBJECT
    tool_calls: tuple[ModelToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None
    message_id: str | None = None

    def __post_init__(self) -> None:
        require_member(self.role, ModelMessageRole, "ModelMessage.role")
        if not isinstance(self.content, str):
            message = f"ModelMessage.content must be text, not {type(self.content).__name__}."
            raise AgentValueError(message)
        store_objects(self, "metadata")
        store_tuples(self, "tool_calls")
        require_optional_text(self.message_id, "ModelMessage.message_id")
        if self.tool_calls:
            self._require_role(ModelMessageRole.ASSISTANT, "tool_calls")
        if self.tool_call_id is not None:
            self._require_role(ModelMessageRole.TOOL, "tool_call_id")
        if self.tool_name is not None:
            self._require_role(ModelMessageRole.TOOL, "tool_name")

    def _require_role(self, role: ModelMessageRole, field_name: str) -> None:
        if self.role is not role:
            message = (
                f"ModelMessage.{field_name} belongs to {role.name} messages only;"
                f" this one is {self.role.name}."
            )
            raise AgentValueError(message)
