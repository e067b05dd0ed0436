"""Turns what a tool gave into the message that the model reads, what the streams show, and what is put on record."""

import json
from collections.abc import Mapping
from dataclasses import replace

from spakky.agent.contracts.evidence import AgentEvidenceCandidate
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.tool_metadata import EvidenceCapture
from spakky.agent.declare.catalog import AgentToolDescriptor
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.redact import redact_fields, redact_text, sensitive_values
from spakky.agent.guards.sensitive import SensitiveFieldDescriptor
from spakky.agent.json_value import FrozenObject, JsonObject, JsonValue, clean_value, digest_value
from spakky.agent.loop.outcomes import CallReturned
from spakky.agent.loop.plan_calls import (
    may_be_stored,
    named_arguments,
    shown_result,
    without_secrets,
)
from spakky.agent.loop.progress import CallStage, CallState
from spakky.agent.rules.history import EXECUTED_KEY, answer_call

_SHOWN = EvidenceExposurePolicy()
_CUT_MARK = "\n[cut: the result was longer than its budget]"


def returned(call: CallState, tool: AgentToolDescriptor, result: JsonValue) -> CallReturned:
    """Give the outcome of a tool that returned.

    Args:
        call: The call.
        tool: Its tool; its output descriptors say what is sensitive in the result.
        result: The result as JSON.
    """
    result = clean_value(result)
    fields = tool.schema.output_sensitive_fields
    remembered = remembered_result(tool, result)
    shown = redact_fields(result, fields, _SHOWN.can_expose_value) if fields else result
    message = render_result(call, remembered, tool.metadata.result_budget.max_bytes)
    message = _with_executed(call, tool, message)
    done = replace(call, stage=CallStage.DONE)
    return CallReturned(
        done, message, shown_result(done, message, shown, tool), _capture(tool, result, fields)
    )


def remembered_result(tool: AgentToolDescriptor, result: JsonValue) -> JsonValue:
    """Give a result as the transcript keeps it and the model reads it: without secrets."""
    fields = tool.schema.output_sensitive_fields
    return redact_fields(result, fields, may_be_stored) if fields else result


def without_values(value: JsonValue, secrets: tuple[str, ...]) -> JsonValue:
    """Take secrets out of every text of a result: a tool may repeat what it was given, marked or not."""
    if not secrets:
        return value
    match value:
        case str():
            return redact_text(value, secrets)
        case Mapping():
            return {
                redact_text(key, secrets): without_values(item, secrets)
                for key, item in value.items()
            }
        case list() | tuple():
            return [without_values(item, secrets) for item in value]
        case _:
            return value


def failed(call: CallState, tool: AgentToolDescriptor | None, text: str) -> CallReturned:
    """Give the outcome of a tool that told the model of its failure."""
    text = clean_failure(call, tool, text)
    message = answer_call(call.call, text, message_id=call.action_id, is_error=True)
    message = _with_executed(call, tool, message)
    done = replace(call, stage=CallStage.DONE)
    return CallReturned(done, message, shown_result(done, message, text, tool))


def _with_executed(
    call: CallState, tool: AgentToolDescriptor | None, message: ModelMessage
) -> ModelMessage:
    """Note the arguments that ran where a person changed them, so that the model is not told of a call that never was."""
    if call.request is None or tool is None or digest_value(call.call.arguments) == call.digest:
        return message
    executed = without_secrets(tool, call.call.arguments)
    return replace(message, metadata=FrozenObject({**message.metadata, EXECUTED_KEY: executed}))


def clean_failure(call: CallState, tool: AgentToolDescriptor | None, text: str) -> str:
    """Take the call's sensitive arguments out of a text that its tool wrote."""
    if tool is None:
        return text
    fields = tool.schema.input_sensitive_fields
    values = sensitive_values(named_arguments(tool, call.call.arguments), fields)
    return redact_text(text, values) if values else text


def render_result(call: CallState, result: JsonValue, max_bytes: int | None = None) -> ModelMessage:
    """Give the TOOL message of a result: a text as it is, anything else as JSON, cut to the tool's budget."""
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return answer_call(call.call, _cut(text, max_bytes), message_id=call.action_id)


def _cut(text: str, max_bytes: int | None) -> str:
    if max_bytes is None or len(text.encode("utf-8", "replace")) <= max_bytes:
        return text
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore") + _CUT_MARK


def _capture(
    tool: AgentToolDescriptor,
    result: JsonValue,
    fields: tuple[SensitiveFieldDescriptor, ...],
) -> AgentEvidenceCandidate | None:
    capture = tool.metadata.evidence
    if capture is EvidenceCapture.NONE:
        return None
    wrapped: JsonObject = {"result": result}
    return AgentEvidenceCandidate.tool_result(
        tool_identity=tool.identity.key,
        tool_schema_name=tool.name,
        result=wrapped,
        capture=capture,
        sensitive_fields=tuple(
            SensitiveFieldDescriptor(("result", *field.path), field.field) for field in fields
        ),
    )
