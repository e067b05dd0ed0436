"""Errors of this adapter, and the stable codes of its model errors.

AbstractSpakkyAgentError
├── VllmConfigurationError     vllm.configuration    a setting is missing or wrong; the application does not start
└── AgentModelError
    └── VllmModelError         agent.model.*         a model server failed, or could not be asked
"""

from enum import StrEnum

from spakky.agent.contracts.model_stream import ModelError
from spakky.agent.error import AbstractSpakkyAgentError, AgentModelError
from spakky.agent.json_value import JsonValue


class ModelErrorCode(StrEnum):
    """What went wrong, as it crosses a protocol.

    Attributes:
        SELECTION: The run asks for a profile or provider that is not configured, or for an unknown option.
        INVALID_REQUEST: The server refuses the request as it is.
        AUTHENTICATION: The server refuses the credentials.
        NOT_FOUND: The server has no such model or route.
        RATE_LIMIT: Too many requests or tokens; retryable, unless a quota is used up.
        CONTEXT_OVERFLOW: The input does not fit the model's window.
        UNAVAILABLE: The server cannot be reached or answers with a fault of its own; retryable.
        TIMEOUT: The server was too slow; retryable.
        PROTOCOL: What came back is no chat completion, or it broke off; retryable when it broke off.
        TRUNCATED: The token limit cut the answer inside a tool call.
        CONTENT_FILTER: The provider's filter stopped the answer.
        REFUSAL: The model refused; the message holds its words.
        SERVER_ERROR: The server told a failure inside a stream that had begun well.
    """

    SELECTION = "agent.model.selection"
    INVALID_REQUEST = "agent.model.invalid_request"
    AUTHENTICATION = "agent.model.authentication"
    NOT_FOUND = "agent.model.not_found"
    RATE_LIMIT = "agent.model.rate_limit"
    CONTEXT_OVERFLOW = "agent.model.context_overflow"
    UNAVAILABLE = "agent.model.unavailable"
    TIMEOUT = "agent.model.timeout"
    PROTOCOL = "agent.model.protocol"
    TRUNCATED = "agent.model.truncated"
    CONTENT_FILTER = "agent.model.content_filter"
    REFUSAL = "agent.model.refusal"
    SERVER_ERROR = "agent.model.server_error"


class VllmConfigurationError(AbstractSpakkyAgentError):
    """A setting is missing or wrong. Raised when the settings are read, so that the application does not start."""

    message = "The settings of the model server are wrong."
    code = "vllm.configuration"


class VllmModelError(AgentModelError):
    """A model server failed, or could not be asked.

    Args:
        message: One line: what happened, at which server and model, what to do next. Without credentials.
        code: What went wrong.
        retryable: Whether the same request may succeed later.
        status: The HTTP status, when there was an answer.
        retry_after_seconds: How long the server asks to wait, when it does.
    """

    def __init__(
        self,
        message: str,
        *,
        code: ModelErrorCode,
        retryable: bool = False,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, code=code.value, retryable=retryable)
        self.status = status
        self.retry_after_seconds = retry_after_seconds

    def to_model_error(self) -> ModelError:
        """Give the error as the value that a stream's ERROR event holds."""
        metadata: dict[str, JsonValue] = {}
        if self.status is not None:
            metadata["http_status"] = self.status
        if self.retry_after_seconds is not None:
            metadata["retry_after_seconds"] = self.retry_after_seconds
        return ModelError(self.error_code, str(self), self.retryable, metadata)
