"""The offline planner: decides from the messages alone what comes next, a tool call or an answer. Pure.

It holds no state. For each request it runs the scripts of all tasks from the beginning over the tool results that the
messages hold; where the results end is where the next call is due. So a run that was killed goes on after any restart,
and another folder gives other results and another answer.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from code_assistant.instructions import parse_instruction
from code_assistant.task_scripts import Script, ToolCall, ToolReply, script_of

type WireMessage = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the planner answers: a text, and a call or none."""

    text: str
    call: ToolCall | None = None


def plan_answer(messages: Sequence[WireMessage]) -> Decision:
    """Decide on the answer to a dialogue in the form of chat completions.

    Args:
        messages: All of them, oldest first. User messages hold instructions; a later one adds to the earlier ones.
    """
    replies = iter([_read_reply(message) for message in messages if message.get("role") == "tool"])
    told = _count_told(messages)
    reports: list[str] = []
    users = [message for message in messages if message.get("role") == "user"]
    for number, message in enumerate(users, 1):
        for task in parse_instruction(_text(message)):
            outcome = _replay(script_of(task), replies)
            if isinstance(outcome, ToolCall):
                return Decision(outcome.intent, outcome)
            if number > told:
                reports.append(outcome)
    return Decision("\n\n".join(reports) or "There is nothing more to do.")


def _replay(script: Script, replies: Iterator[ToolReply]) -> ToolCall | str:
    """Run a script over the replies that are there: gives the call that has none yet, or the report."""
    try:
        call = next(script)
        while True:
            reply = next(replies, None)
            if reply is None:
                return call
            call = script.send(reply)
    except StopIteration as end:
        return str(end.value)


def _count_told(messages: Sequence[WireMessage]) -> int:
    """Give how many user messages were answered in full already: those before the last answer without calls."""
    users = told = 0
    for message in messages:
        if message.get("role") == "user":
            users += 1
        elif message.get("role") == "assistant" and not message.get("tool_calls"):
            told = users
    return told


def _read_reply(message: WireMessage) -> ToolReply:
    text = _text(message)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return ToolReply(value if isinstance(value, dict) else None, text)


def _text(message: WireMessage) -> str:
    """Give a message's text; a content of several parts is joined."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))
