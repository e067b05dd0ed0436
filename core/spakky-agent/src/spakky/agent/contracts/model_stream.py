"""What a model answers: in one piece, or as a stream of events."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from spakky.agent.checks import require_not_negative, require_text
from spakky.agent.contracts.construction import require_count, store_objects, store_tuples
from spakky.agent.contracts.model_guard import ModelOutputGuard, plan_output_guard
from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.sensitive import SensitiveFieldDescriptor
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """How many tokens a model call took, as far as the provider told; None when it did not.

    Attributes:
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the answer.
        total_tokens: Both together as the provider counts them.
        cached_input_tokens: The part of the input that came from the provider's cache.
        reasoning_tokens: The part of the output that was reasoning.
        cost: What the provider charged, in a unit of its own; zero or more. None when it does not tell.

    Raises:
        AgentValueError: A number is negative or not whole.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        require_count(self.input_tokens, "ModelUsage.input_tokens")
        require_count(self.output_tokens, "ModelUsage.output_tokens")
        require_count(self.total_tokens, "ModelUsage.total_tokens")
        require_count(self.cached_input_tokens, "ModelUsage.cached_input_tokens")
        require_count(self.reasoning_tokens, "ModelUsage.reasoning_tokens")
        require_not_negative(self.cost, "ModelUsage.cost")


@dataclass(frozen=True, slots=True)
class ModelError:
    """A failure that a model backend reported inside its stream.

    Attributes:
        code: A stable code, not blank.
        message: What happened, without credentials; may be empty when the backend said nothing.
        retryable: Whether the same request may succeed later.
        metadata: Extra data of the adapter.

    Raises:
        AgentValueError: The code is blank, or the message is no text.
    """

    code: str
    message: str
    retryable: bool = False
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.code, "ModelError.code")
        if not isinstance(self.message, str):
            message = f"ModelError.message must be text, not {type(self.message).__name__}."
            raise AgentValueError(message)
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A model's answer in one piece.

    Attributes:
        content: The text; empty when the model only called tools.
        structured_output: The value, when one was asked for and the text was one.
        tool_calls: The calls, in the model's order.
        usage: What it took.
        metadata: Extra data of the adapter.

    Raises:
        AgentValueError: The content is no text.
    """

    content: str
    structured_output: JsonValue = None
    tool_calls: Sequence[ModelToolCall] = ()
    usage: ModelUsage = ModelUsage()
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        if not isinstance(self.content, str):
            message = f"ModelResponse.content must be text, not {type(self.content).__name__}."
            raise AgentValueError(message)
        store_tuples(self, "tool_calls")
        store_objects(self, "metadata")

    def guarded(
        self,
        sensitive_fields: Sequence[SensitiveFieldDescriptor],
        policy: EvidenceExposurePolicy | None = None,
    ) -> "ModelResponse":
        """Give the answer with every sensitive value replaced that the policy does not allow.

        Args:
            sensitive_fields: Descriptors whose paths start at the structured output and at the
                arguments of each call.
            policy: What may be shown; None shows nothing sensitive.

        Returns:
            The answer itself when there was nothing to replace.
        """
        arguments = (call.arguments for call in self.tool_calls)
        parts = (self.structured_output, *arguments)
        guard = plan_output_guard(sensitive_fields, policy, parts, (self.content,))
        guarded = replace(
            self,
            content=guard.guard_text(self.content),
            structured_output=guard.guard_value(self.structured_output),
            tool_calls=tuple(call.guarded_by(guard) for call in self.tool_calls),
            metadata=guard.scrub_object(self.metadata),
        )
        return self if guarded == self else guarded


class ModelStreamEventKind(StrEnum):
    """What one event of a model's stream tells."""

    TOKEN_DELTA = "token_delta"  # noqa: S105  # a piece of text, not a password
    MESSAGE_DELTA = "message_delta"
    REASONING_DELTA = "reasoning_delta"
    TOOL_CALL_START = "tool_call_start"
    TOOL_CALL_ARGS_DELTA = "tool_call_args_delta"
    TOOL_CALL_END = "tool_call_end"
    TOOL_CALL_CANDIDATE = "tool_call_candidate"
    STRUCTURED_OUTPUT = "structured_output"
    PROGRESS = "progress"
    ERROR = "error"
    DONE = "done"


# One is made for every delta, so the fields are neither checked nor frozen.
@dataclass(slots=True)
class ModelStreamEvent:
    """One event of a model's stream; treat it as read-only.

    Attributes:
        kind: What the event tells, and so which of the other fields are set.
        token_delta: The next piece of the answer's text.
        message_delta: The same, from backends that send whole parts of a message.
        reasoning_delta: The next piece of the reasoning.
        tool_call: The call that the event is about.
        tool_call_args_delta: The next piece of the call's argument text.
        structured_output: The decoded value of a structured answer.
        error: Why the stream failed.
        usage: What the call took.
        metadata: Extra data of the adapter.
    """

    kind: ModelStreamEventKind
    token_delta: str | None = None
    message_delta: str | None = None
    reasoning_delta: str | None = None
    tool_call: ModelToolCall | None = None
    tool_call_args_delta: str | None = None
    structured_output: JsonValue = None
    error: ModelError | None = None
    usage: ModelUsage | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def guarded(
        self,
        sensitive_fields: Sequence[SensitiveFieldDescriptor],
        policy: EvidenceExposurePolicy | None = None,
    ) -> "ModelStreamEvent":
        """Give the event with every sensitive value replaced that the policy does not allow.

        A piece of argument text that is no whole JSON value is replaced as a whole while any field
        is hidden. A piece of free text is replaced where it repeats a value of the same event.

        Args:
            sensitive_fields: Descriptors whose paths start at the structured output and at the
                call's arguments.
            policy: What may be shown; None shows nothing sensitive.

        Returns:
            The event itself when there was nothing to replace.
        """
        if not sensitive_fields:
            return self
        arguments = () if self.tool_call is None else (self.tool_call.arguments,)
        texts = (self.token_delta, self.message_delta, self.reasoning_delta)
        guard = plan_output_guard(
            sensitive_fields,
            policy,
            (self.structured_output, *arguments),
            tuple(text for text in (*texts, self.tool_call_args_delta) if text),
        )
        guarded = self._guarded_by(guard)
        return self if guarded == self else guarded

    def _guarded_by(self, guard: ModelOutputGuard) -> "ModelStreamEvent":
        args_delta = self.tool_call_args_delta
        return ModelStreamEvent(
            kind=self.kind,
            token_delta=guard.guard_optional_text(self.token_delta),
            message_delta=guard.guard_optional_text(self.message_delta),
            reasoning_delta=guard.guard_optional_text(self.reasoning_delta),
            tool_call=None if self.tool_call is None else self.tool_call.guarded_by(guard),
            tool_call_args_delta=(
                None if args_delta is None else guard.guard_argument_text(args_delta)
            ),
            structured_output=guard.guard_value(self.structured_output),
            error=None if self.error is None else _guard_error(self.error, guard),
            usage=self.usage,
            metadata=guard.scrub_object(self.metadata),
        )


def _guard_error(error: ModelError, guard: ModelOutputGuard) -> ModelError:
    return replace(
        error,
        message=guard.scrub_text(error.message),
        metadata=guard.scrub_object(error.metadata),
    )
