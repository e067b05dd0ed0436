"""Values of the ports as JSON text and back, so that a store in memory keeps no more than a database could."""

import json
from datetime import datetime
from typing import Any

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.json_form import to_json_value
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentPersistenceError, AgentValueError
from spakky.agent.guards.sensitive import (
    PII,
    DataSensitivity,
    MaskingPolicy,
    RedactionPolicy,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.ports.task_store import ConversationTurn

# The decoded records are what `dump_record` wrote; their shape is checked by the constructors that they are given to.
type Record = dict[str, Any]


def dump_record(value: object) -> str:
    """Encode a value of the ports as JSON text.

    Raises:
        AgentPersistenceError: The value holds something that JSON has no form for.
    """
    try:
        return json.dumps(to_json_value(value), allow_nan=False)
    except (AgentValueError, TypeError, ValueError) as error:
        message = f"{type(value).__name__} cannot be stored: {error} Store JSON values only."
        raise AgentPersistenceError(message) from error


def load_state(text: str) -> AgentState:
    """Decode a state."""
    record: Record = json.loads(text)
    record["status"] = AgentStatus(record["status"])
    if record["transition"] is not None:
        record["transition"] = AgentStateTransition(record["transition"])
    if record["reason"] is not None:
        record["reason"] = AgentStateReason(record["reason"])
    _load_times(record, "created_at", "updated_at")
    return AgentState(**record)


def load_signal(text: str) -> AgentSignal:
    """Decode a signal."""
    record: Record = json.loads(text)
    record["kind"] = AgentSignalKind(record["kind"])
    _load_times(record, "created_at")
    return AgentSignal(**record)


def load_evidence(text: str) -> AgentEvidence:
    """Decode a piece of evidence."""
    record: Record = json.loads(text)
    record["kind"] = AgentEvidenceKind(record["kind"])
    record["sensitive_fields"] = tuple(
        SensitiveFieldDescriptor(path=tuple(item["path"]), field=_load_field(item["field"]))
        for item in record["sensitive_fields"]
    )
    _load_times(record, "created_at")
    return AgentEvidence(**record)


def load_message(text: str) -> ModelMessage:
    """Decode a message of a transcript."""
    record: Record = json.loads(text)
    record["role"] = ModelMessageRole(record["role"])
    record["tool_calls"] = tuple(ModelToolCall(**item) for item in record["tool_calls"])
    return ModelMessage(**record)


def load_turn(text: str) -> ConversationTurn:
    """Decode a turn of a conversation."""
    record: Record = json.loads(text)
    record["role"] = ModelMessageRole(record["role"])
    return ConversationTurn(**record)


def _load_times(record: Record, *names: str) -> None:
    # A store gives every record its time, so that none is missing here.
    for name in names:
        record[name] = datetime.fromisoformat(record[name])


def _load_field(record: Record) -> SensitiveField | SecretField:
    record["redaction"] = RedactionPolicy(record["redaction"])
    if "category" not in record:
        return SecretField(**record)
    category = record["category"]
    record["category"] = PII(category) if category in set(PII) else DataSensitivity(category)
    record["masking"] = MaskingPolicy(record["masking"])
    return SensitiveField(**record)
