"""Between the values of ``spakky.agent`` and the rows of the tables; pure.

A value is turned into a row together with the value that reading the row gives: they differ only
where a character or number could not be stored, see ``json_text``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentPersistenceError
from spakky.agent.guards.sensitive import (
    PII,
    DataSensitivity,
    MaskingPolicy,
    RedactionPolicy,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue
from spakky.agent.ports.task_store import ConversationTurn
from spakky.plugins.sqlalchemy.json_text import (
    JsonText,
    clean_text,
    dump_json,
    encode_stored,
)
from sqlalchemy.engine import RowMapping

type RowValue = str | int | datetime | None
type Row = dict[str, RowValue]

# What a stored document holds is known only after the constructors below have looked at it.
type _Document = Mapping[str, Any] | RowMapping


def state_to_row(state: AgentState, now: datetime) -> tuple[Row, AgentState]:
    """Give the row of a state's next version, and the state as it will be read.

    Args:
        state: What to save; ``version`` is the one that was read.
        now: The time of the save.
    """
    metadata, stored_metadata = _encode(state.metadata, "metadata of state", state.id)
    checkpoint, stored_checkpoint = _encode(state.checkpoint, "checkpoint of state", state.id)
    stored = replace(
        state,
        id=clean_text(state.id),
        agent_type=clean_text(state.agent_type),
        current_activity=_clean(state.current_activity),
        input_ref=_clean(state.input_ref),
        output_ref=_clean(state.output_ref),
        last_event_cursor=_clean(state.last_event_cursor),
        recovery_marker=_clean(state.recovery_marker),
        metadata=stored_metadata,
        checkpoint=stored_checkpoint,
        created_at=state.created_at or now,
        updated_at=now,
        version=state.version + 1,
    )
    row: Row = {
        "id": stored.id,
        "version": stored.version,
        "agent_type": stored.agent_type,
        "status": stored.status.value,
        "transition": None if stored.transition is None else stored.transition.value,
        "reason": None if stored.reason is None else stored.reason.value,
        "current_activity": stored.current_activity,
        "input_ref": stored.input_ref,
        "output_ref": stored.output_ref,
        "pending_signal_count": stored.pending_signal_count,
        "last_event_cursor": stored.last_event_cursor,
        "recovery_marker": stored.recovery_marker,
        "metadata": metadata,
        "checkpoint": checkpoint,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }
    return row, stored


def row_to_state(row: RowMapping) -> AgentState:
    """Give the state of a row."""
    return _decode(row, "state", row["id"], _state)


def _state(row: _Document) -> AgentState:
    transition, reason = row["transition"], row["reason"]
    return AgentState(
        row["id"],
        row["agent_type"],
        AgentStatus(row["status"]),
        None if transition is None else AgentStateTransition(transition),
        None if reason is None else AgentStateReason(reason),
        row["current_activity"],
        row["input_ref"],
        row["output_ref"],
        row["pending_signal_count"],
        row["last_event_cursor"],
        row["recovery_marker"],
        row["metadata"],
        row["created_at"],
        row["updated_at"],
        row["version"],
        row["checkpoint"],
    )


def signal_to_row(signal: AgentSignal, now: datetime) -> tuple[Row, AgentSignal]:
    """Give the row of a signal, and the signal as it will be read."""
    payload, stored_payload = _encode(signal.payload, "payload of signal", signal.id)
    stored = replace(
        signal,
        id=clean_text(signal.id),
        agent_state_id=clean_text(signal.agent_state_id),
        payload=stored_payload,
        created_at=signal.created_at or now,
    )
    row: Row = {
        "id": stored.id,
        "state_id": stored.agent_state_id,
        "kind": stored.kind.value,
        "payload": payload,
        "created_at": stored.created_at,
        "consumed_at": None,
    }
    return row, stored


def row_to_signal(row: RowMapping) -> AgentSignal:
    """Give the signal of a row."""
    return _decode(row, "signal", row["id"], _signal)


def _signal(row: _Document) -> AgentSignal:
    kind = AgentSignalKind(row["kind"])
    return AgentSignal(row["id"], row["state_id"], kind, row["payload"], row["created_at"])


def evidence_to_row(evidence: AgentEvidence, now: datetime) -> tuple[Row, AgentEvidence]:
    """Give the row of a piece of evidence, and the evidence as it will be read."""
    payload, stored_payload = _encode(evidence.payload, "payload of evidence", evidence.id)
    stored = replace(
        evidence,
        id=clean_text(evidence.id),
        agent_state_id=clean_text(evidence.agent_state_id),
        payload=stored_payload,
        summary=_clean(evidence.summary),
        digest=_clean(evidence.digest),
        manifest_ref=_clean(evidence.manifest_ref),
        reference=_clean(evidence.reference),
        created_at=evidence.created_at or now,
    )
    row: Row = {
        "id": stored.id,
        "state_id": stored.agent_state_id,
        "kind": stored.kind.value,
        "payload": payload,
        "summary": stored.summary,
        "digest": stored.digest,
        "manifest_ref": stored.manifest_ref,
        "reference": stored.reference,
        "sensitive_fields": dump_json([_from_marked(mark) for mark in stored.sensitive_fields]),
        "created_at": stored.created_at,
    }
    return row, stored


def row_to_evidence(row: RowMapping) -> AgentEvidence:
    """Give the evidence of a row."""
    return _decode(row, "evidence", row["id"], _evidence)


def _evidence(row: _Document) -> AgentEvidence:
    return AgentEvidence(
        row["id"],
        row["state_id"],
        AgentEvidenceKind(row["kind"]),
        row["payload"],
        row["summary"],
        row["digest"],
        row["manifest_ref"],
        row["reference"],
        tuple(_to_marked(mark) for mark in row["sensitive_fields"]),
        row["created_at"],
    )


def _from_marked(mark: SensitiveFieldDescriptor) -> JsonObject:
    return {"path": list(mark.path), "field": mark.field.to_metadata()}


def _to_marked(document: _Document) -> SensitiveFieldDescriptor:
    field = document["field"]
    redaction, label = RedactionPolicy(field["redaction"]), field["label"]
    if field["kind"] == "secret":
        secret = SecretField(redaction, label, field["metadata"])
        return SensitiveFieldDescriptor(tuple(document["path"]), secret)
    name = field["category"]
    category = PII(name) if name in set(PII) else DataSensitivity(name)
    masking = MaskingPolicy(field["masking"])
    marker = SensitiveField(category, masking, redaction, label, field["metadata"])
    return SensitiveFieldDescriptor(tuple(document["path"]), marker)


def message_to_json(state_id: str, message: ModelMessage) -> JsonText:
    """Encode a model message of a run; what is empty is left out."""
    document: dict[str, JsonValue] = {"role": message.role.value, "content": message.content}
    _add(document, "metadata", message.metadata)
    _add(document, "tool_calls", [_from_call(call) for call in message.tool_calls])
    _add(document, "tool_call_id", message.tool_call_id)
    _add(document, "tool_name", message.tool_name)
    _add(document, "message_id", message.message_id)
    return _encode(document, "message of run", state_id)[0]


def _from_call(call: ModelToolCall) -> JsonObject:
    document: dict[str, JsonValue] = {"name": call.name, "arguments": call.arguments}
    _add(document, "call_id", call.call_id)
    _add(document, "metadata", call.metadata)
    _add(document, "arguments_error", call.arguments_error)
    return document


def _add(document: dict[str, JsonValue], key: str, value: JsonValue) -> None:
    # An empty call id is a fact of its own; only an absent value is left out.
    if value is not None and value not in ({}, []):
        document[key] = value


def row_to_message(row: RowMapping) -> ModelMessage:
    """Give the model message of a transcript row."""
    where = f"{row['state_id']!r} at position {row['position']}"
    return _decode(row["message"], "message", where, _message)


def _message(document: _Document) -> ModelMessage:
    return ModelMessage(
        ModelMessageRole(document["role"]),
        document["content"],
        document.get("metadata", EMPTY_OBJECT),
        tuple(_to_call(call) for call in document.get("tool_calls", ())),
        document.get("tool_call_id"),
        document.get("tool_name"),
        document.get("message_id"),
    )


def _to_call(document: _Document) -> ModelToolCall:
    return ModelToolCall(
        document["name"],
        document["arguments"],
        document.get("call_id"),
        document.get("metadata", EMPTY_OBJECT),
        document.get("arguments_error"),
    )


def turns_to_rows(
    conversation_id: str, turns: Sequence[ConversationTurn], now: datetime
) -> list[Row]:
    """Give the rows of conversation turns, in their order."""
    return [
        {
            "conversation_id": clean_text(conversation_id),
            "role": turn.role.value,
            "content": clean_text(turn.content),
            "metadata": _encode(
                turn.metadata, "metadata of a turn of conversation", conversation_id
            )[0],
            "created_at": now,
        }
        for turn in turns
    ]


def row_to_turn(row: RowMapping) -> ConversationTurn:
    """Give the conversation turn of a row."""
    return _decode(row, "turn of conversation", row["conversation_id"], _turn)


def _turn(row: _Document) -> ConversationTurn:
    return ConversationTurn(ModelMessageRole(row["role"]), row["content"], row["metadata"])


def _clean(value: str | None) -> str | None:
    return None if value is None else clean_text(value)


def _encode[T: JsonValue](value: T, what: str, where: str) -> tuple[JsonText, T]:
    try:
        return encode_stored(value)
    except (TypeError, ValueError, RecursionError) as error:
        message = (
            f"The {what} {where!r} cannot be stored ({type(error).__name__}: {error}); it must "
            "hold only objects, arrays, texts, numbers, booleans and null. Nothing was written."
        )
        raise AgentPersistenceError(message) from error


def _decode[T](document: _Document, what: str, where: str, build: Callable[[_Document], T]) -> T:
    try:
        return build(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = (
            f"The stored {what} {where} cannot be read ({type(error).__name__}: {error}). "
            "It was written by a newer version, or changed by hand."
        )
        raise AgentPersistenceError(message) from error
