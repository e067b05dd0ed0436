"""Keeps a history well-formed: every assistant tool call is answered by exactly one TOOL message, right after it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.json_value import JsonValue, freeze_object

EXECUTED_KEY = "executed_arguments"
"""Metadata of a TOOL message: the arguments that its call ran with, where a person changed them."""

OUTCOME_UNKNOWN = "The outcome of this call is unknown: the run ended before a result was recorded."


def answer_call(
    call: ModelToolCall,
    content: str,
    *,
    message_id: str | None = None,
    is_error: bool = False,
    ran: bool = True,
) -> ModelMessage:
    """Build the TOOL message that answers a call; its metadata tell errors, and calls whose tool was not run."""
    marks: dict[str, JsonValue] = {}
    if is_error:
        marks["is_error"] = True
    if not ran:
        marks["not_run"] = True
    return ModelMessage(
        role=ModelMessageRole.TOOL,
        content=content,
        metadata=freeze_object(marks),
        tool_call_id=call.call_id,
        tool_name=call.name,
        message_id=message_id,
    )


def show_executed(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Give the same history with the arguments that ran in the place of those that a person changed."""
    executed = {
        message.tool_call_id: arguments
        for message in messages
        if isinstance(arguments := message.metadata.get(EXECUTED_KEY), Mapping)
    }
    if not executed:
        return tuple(messages)
    return tuple(
        replace(
            message,
            tool_calls=tuple(
                replace(call, arguments=freeze_object(executed.get(call.call_id, call.arguments)))
                for call in message.tool_calls
            ),
        )
        for message in messages
    )


def repair_history(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Give the same history with every call answered and every orphan answer dropped.

    A call without an answer gets a recorded "outcome unknown" result. Answers are put into the order of their calls. A
    well-formed history comes back equal. Histories arrive from clients and from older or broken versions, and providers
    refuse a whole request for one orphan.
    """
    return tuple(_repaired(messages))


def _repaired(messages: Sequence[ModelMessage]) -> Iterator[ModelMessage]:
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if message.role is ModelMessageRole.TOOL:
            continue
        yield message
        if not message.tool_calls:
            continue
        answers = _answers_from(messages, index)
        yield from _in_call_order(message, answers)


def _answers_from(messages: Sequence[ModelMessage], start: int) -> list[ModelMessage]:
    answers: list[ModelMessage] = []
    for message in messages[start:]:
        if message.role is not ModelMessageRole.TOOL:
            break
        answers.append(message)
    return answers


def _in_call_order(asked: ModelMessage, answers: list[ModelMessage]) -> Iterator[ModelMessage]:
    for call in asked.tool_calls:
        found = next((m for m in answers if m.tool_call_id == call.call_id), None)
        if found is None:
            yield answer_call(call, OUTCOME_UNKNOWN, is_error=True)
        else:
            answers.remove(found)
            yield found


def used_call_ids(messages: Iterable[ModelMessage]) -> frozenset[str]:
    """Give every call id that a history has used."""
    return frozenset(
        call.call_id
        for message in messages
        for call in message.tool_calls
        if call.call_id is not None
    )
