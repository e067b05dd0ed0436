"""A stored dialogue in a few lines, for people. Pure."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from spakky.agent import ModelMessage, ModelMessageRole

_MAX_CHARACTERS = 100


def outline_transcript(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Give one line for each message and call, each cut to its beginning."""
    for message in messages:
        match message.role:
            case ModelMessageRole.USER:
                yield f"  user       {_begin(message.content)}"
            case ModelMessageRole.ASSISTANT:
                if message.content.strip():
                    yield f"  assistant  {_begin(message.content)}"
                for call in message.tool_calls:
                    yield f"  call       {call.name} {_begin(str(dict(call.arguments)))}"
            case ModelMessageRole.TOOL:
                yield f"  result     {message.tool_name or ''} {_begin(message.content)}"
            case ModelMessageRole.SYSTEM | ModelMessageRole.EVIDENCE:
                yield f"  {message.role.value:9}  {_begin(message.content)}"
            case _:
                assert_never(message.role)


def _begin(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARACTERS else f"{line[: _MAX_CHARACTERS - 1]}…"
