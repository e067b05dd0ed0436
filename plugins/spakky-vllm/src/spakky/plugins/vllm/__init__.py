"""Public names of the model adapter for OpenAI-compatible HTTP servers."""

from spakky.plugins.vllm.config import VllmSettings
from spakky.plugins.vllm.endpoint_profile import (
    MaxTokensField,
    StructuredOutputForm,
    SystemRole,
    VllmCapability,
    VllmDialect,
    VllmOptions,
    VllmProfile,
    VllmRetry,
    VllmTimeouts,
)
from spakky.plugins.vllm.error import ModelErrorCode, VllmConfigurationError, VllmModelError
from spakky.plugins.vllm.model import VllmAgentModel
from spakky.plugins.vllm.operations import ServedModel
from spakky.plugins.vllm.runtime import VllmRuntime
from spakky.plugins.vllm.transports import HttpTransport

__all__ = [
    "HttpTransport",
    "MaxTokensField",
    "ModelErrorCode",
    "ServedModel",
    "StructuredOutputForm",
    "SystemRole",
    "VllmAgentModel",
    "VllmCapability",
    "VllmConfigurationError",
    "VllmDialect",
    "VllmModelError",
    "VllmOptions",
    "VllmProfile",
    "VllmRetry",
    "VllmRuntime",
    "VllmSettings",
    "VllmTimeouts",
]
