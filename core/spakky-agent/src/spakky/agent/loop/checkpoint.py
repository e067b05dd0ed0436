"""The control part of a run's progress as JSON, and back.

The transcript is not in here: it is stored as rows, and a call's arguments are read back from the message that asked for
it. Only arguments that a person put in their place are kept, and raw secrets never are.

Schema versions, newest first; older ones are read, newer ones are refused:
    1  first version
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from spakky.agent.contracts.approval import AgentApprovalRequest
from spakky.agent.contracts.model_message import ModelMessage, ModelToolCall
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.state import AgentState
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.error import AgentCheckpointError
from spakky.agent.json_value import (
    EMPTY_OBJECT,
    FrozenObject,
    JsonObject,
    JsonValue,
    digest_value,
    freeze_object,
)
from spakky.agent.loop.progress import (
    CallStage,
    CallState,
    Cancelled,
    CancelOrder,
    Completed,
    Ending,
    Failed,
    FinalAnswer,
    Phase,
    Progress,
)
from spakky.agent.rules.lifecycle import Standing, Trigger
from spakky.agent.rules.limits import read_spent

SCHEMA_VERSION: Final = 1


def dump_checkpoint(progress: Progress) -> JsonObject:
    """Give the control part as a JSON object; its size does not grow with the run."""
    return FrozenObject(
        {
            "schema": SCHEMA_VERSION,
            "seed_count": len(progress.seeds),
            "step": progress.step,
            "asking": progress.asking,
            "calls": [_dump_call(call) for call in progress.calls],
            "tool_calls": progress.tool_calls,
            "usage": _dump_usage(progress.usage),
            "last_usage": _dump_usage(progress.last_usage),
            "delegated": progress.delegated.to_json(),
            "repairs": progress.repairs,
            "answer": _dump_answer(progress.answer),
            "cancel": _dump_cancel(progress.cancel),
            "ending": _dump_ending(progress.ending),
            "evidence_count": progress.evidence_count,
        }
    )


def load_checkpoint(
    run_id: str, stored: JsonObject, standing: Standing, transcript: tuple[ModelMessage, ...]
) -> Progress:
    """Give the progress that a checkpoint and its transcript describe.

    Args:
        run_id: The run.
        stored: What ``dump_checkpoint`` gave.
        standing: The stored life-cycle columns.
        transcript: The stored messages of the run, in order.

    Raises:
        AgentCheckpointError: The checkpoint is of a newer schema, or lacks or garbles a part.
    """
    version = stored.get("schema")
    if not isinstance(version, int) or not 1 <= version <= SCHEMA_VERSION:
        message = f"Run {run_id} was stored with checkpoint schema {version!r}, but this version reads up to {SCHEMA_VERSION}; resume it with the version that wrote it, or a newer one."
        raise AgentCheckpointError(message)
    try:
        return _load(run_id, _Reader(stored), standing, transcript)
    except (KeyError, TypeError, ValueError) as error:
        raise AgentCheckpointError(_damaged(run_id, error)) from error


def seed_count(stored: JsonObject) -> int:
    """Give how many messages of earlier dialogue the run began with."""
    count = stored.get("seed_count")
    return count if isinstance(count, int) else 0


def open_approval_requests(state: AgentState) -> tuple[AgentApprovalRequest, ...]:
    """Give the requests that a stored run waits with, in the model's order; none when it does not wait.

    Args:
        state: The state, as a repository gives it.

    Raises:
        AgentCheckpointError: The checkpoint is damaged.
    """
    try:
        calls = _Reader(state.checkpoint).objects("calls") if state.checkpoint else []
        waiting = [c for c in calls if c.text("stage") == CallStage.WAITING.value]
        stored = [request for c in waiting if (request := c.optional_object("request"))]
        return tuple(AgentApprovalRequest.from_metadata(request) for request in stored)
    except (KeyError, TypeError, ValueError) as error:
        raise AgentCheckpointError(_damaged(state.id, error)) from error


def _damaged(run_id: str, error: Exception) -> str:
    return f"The checkpoint of run {run_id} is damaged ({type(error).__name__} at {error}); restore the row from a backup, or end the run with a CANCEL signal."


class _Reader:
    """Reads typed parts out of a stored object; a missing or wrong part is a KeyError or TypeError with its name."""

    def __init__(self, stored: JsonObject) -> None:
        self._stored = stored

    def text(self, key: str) -> str:
        return self._typed(key, str)

    def optional_text(self, key: str) -> str | None:
        return None if self._stored.get(key) is None else self.text(key)

    def number(self, key: str) -> int:
        value = self._typed(key, int)
        if isinstance(value, bool):
            raise TypeError(key)
        return value

    def flag(self, key: str) -> bool:
        return self._typed(key, bool)

    def value(self, key: str) -> JsonValue:
        return self._stored[key]

    def optional_object(self, key: str) -> "JsonObject | None":
        value = self._stored.get(key)
        if value is None or isinstance(value, Mapping):
            return value
        raise TypeError(key)

    def objects(self, key: str) -> list["_Reader"]:
        return [_Reader(item) for item in self._items(key)]

    def _items(self, key: str) -> Iterator[JsonObject]:
        value = self._stored[key]
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError(key)
        for item in value:
            if not isinstance(item, Mapping):
                raise TypeError(key)
            yield item

    def _typed[T](self, key: str, kind: type[T]) -> T:
        value = self._stored[key]
        if isinstance(value, kind):
            return value
        raise TypeError(key)


def _load(
    run_id: str, stored: _Reader, standing: Standing, transcript: tuple[ModelMessage, ...]
) -> Progress:
    answer = _load_answer(stored.optional_object("answer"))
    cancel = _load_cancel(stored.optional_object("cancel"))
    return Progress(
        run_id=run_id,
        phase=Phase.POLLING,
        standing=standing,
        transcript=transcript,
        step=stored.number("step"),
        asking=stored.flag("asking"),
        calls=_load_calls(stored.objects("calls"), transcript),
        tool_calls=stored.number("tool_calls"),
        usage=_load_usage(stored.optional_object("usage")),
        last_usage=_load_usage(stored.optional_object("last_usage")),
        delegated=read_spent(stored.optional_object("delegated")),
        repairs=stored.number("repairs"),
        answer=answer,
        cancel=cancel,
        ending=_load_ending(stored.optional_object("ending"), answer, cancel),
        resumed=True,
        evidence_count=stored.number("evidence_count"),
    )


# ---------------------------------------------------------------- calls


def _dump_call(call: CallState) -> JsonObject:
    modified = call.storable and digest_value(call.call.arguments) != call.digest
    return {
        "action_id": call.action_id,
        "call_id": call.call_id,
        "name": call.call.name,
        "arguments": call.call.arguments if modified else None,
        "digest": call.digest,
        "stage": call.stage.value,
        "idempotency": call.idempotency.value,
        "concurrent": call.concurrent,
        "request": None if call.request is None else call.request.to_metadata(),
        "storable": call.storable,
        "uncertain": call.uncertain,
        "delegate": call.delegate,
        "note": call.note,
    }


def _load_calls(
    stored: list[_Reader], transcript: tuple[ModelMessage, ...]
) -> tuple[CallState, ...]:
    asked = next((message for message in reversed(transcript) if message.tool_calls), None)
    proposed = {} if asked is None else {call.call_id: call for call in asked.tool_calls}
    return tuple(_load_call(reader, proposed) for reader in stored)


def _load_call(stored: _Reader, proposed: Mapping[str | None, ModelToolCall]) -> CallState:
    call = proposed[stored.text("call_id")]
    modified = stored.optional_object("arguments")
    request = stored.optional_object("request")
    return CallState(
        action_id=stored.text("action_id"),
        call=call if modified is None else replace(call, arguments=freeze_object(modified)),
        digest=stored.text("digest"),
        stage=CallStage(stored.text("stage")),
        idempotency=Idempotency(stored.text("idempotency")),
        concurrent=stored.flag("concurrent"),
        request=None if request is None else AgentApprovalRequest.from_metadata(request),
        storable=stored.flag("storable"),
        uncertain=stored.flag("uncertain"),
        delegate=stored.optional_text("delegate"),
        note=stored.optional_text("note"),
    )


# ---------------------------------------------------------------- smaller parts

_USAGE_FIELDS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
)


def _dump_usage(usage: ModelUsage) -> JsonObject:
    values = (
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_input_tokens,
        usage.reasoning_tokens,
    )
    known: dict[str, JsonValue] = {
        name: value for name, value in zip(_USAGE_FIELDS, values, strict=True) if value is not None
    }
    if usage.cost is not None:
        known["cost"] = usage.cost
    return known


def _load_usage(stored: JsonObject | None) -> ModelUsage:
    reader = _Reader(stored or EMPTY_OBJECT)
    known = stored or EMPTY_OBJECT
    counts = {name: reader.number(name) for name in _USAGE_FIELDS if name in known}
    cost = known.get("cost")
    return ModelUsage(**counts, cost=cost if isinstance(cost, int | float) else None)


def _dump_answer(answer: FinalAnswer | None) -> JsonValue:
    if answer is None:
        return None
    return {
        "text": answer.text,
        "message_id": answer.message_id,
        "output": answer.output,
        "metadata": answer.metadata,
    }


def _load_answer(stored: JsonObject | None) -> FinalAnswer | None:
    if stored is None:
        return None
    reader = _Reader(stored)
    metadata = freeze_object(reader.optional_object("metadata") or EMPTY_OBJECT)
    return FinalAnswer(
        reader.text("text"), reader.text("message_id"), reader.value("output"), metadata
    )


def _dump_cancel(order: CancelOrder | None) -> JsonValue:
    if order is None:
        return None
    return {
        "signal_id": order.signal_id,
        "reason": order.reason,
        "requested_by": order.requested_by,
    }


def _load_cancel(stored: JsonObject | None) -> CancelOrder | None:
    if stored is None:
        return None
    reader = _Reader(stored)
    return CancelOrder(
        reader.text("signal_id"),
        reader.optional_text("reason"),
        reader.optional_text("requested_by"),
    )


def _dump_ending(ending: Ending | None) -> JsonValue:
    # A pause is derived anew when the run is resumed, and an abandoned stretch stores nothing.
    match ending:
        case Completed():
            return {"kind": "completed"}
        case Failed(trigger, code, message, retryable):
            return {
                "kind": "failed",
                "trigger": trigger.value,
                "code": code,
                "message": message,
                "retryable": retryable,
            }
        case Cancelled(_, failed_cleanup):
            return {"kind": "cancelled", "failed_cleanup": failed_cleanup}
        case _:
            return None


def _load_ending(
    stored: JsonObject | None, answer: FinalAnswer | None, cancel: CancelOrder | None
) -> Ending | None:
    if stored is None:
        return None
    reader = _Reader(stored)
    match reader.text("kind"):
        case "completed" if answer is not None:
            return Completed(answer)
        case "cancelled" if cancel is not None:
            return Cancelled(cancel, reader.optional_text("failed_cleanup"))
        case "failed":
            return Failed(
                Trigger(reader.text("trigger")),
                reader.text("code"),
                reader.text("message"),
                retryable=reader.flag("retryable"),
            )
        case kind:
            message = f"ending {kind}"
            raise ValueError(message)
