"""Which messages of a history may be kept together: a tool call never loses its results.

A block is the smallest run of messages that stays or goes as one: an ASSISTANT message with tool
calls and everything up to the last TOOL message before the next ASSISTANT message, or any other
message alone. Providers refuse a call without results and a result without its call.
"""

from collections import Counter
from collections.abc import Sequence

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole

type Block = tuple[int, int]
"""The place of a block's first message, and the place after its last one."""


def split_blocks(messages: Sequence[ModelMessage]) -> tuple[Block, ...]:
    """Give the blocks of a history, in order; together they cover it."""
    blocks: list[Block] = []
    place = 0
    while place < len(messages):
        end = _block_end(messages, place)
        blocks.append((place, end))
        place = end
    return tuple(blocks)


def is_well_formed(block: Sequence[ModelMessage]) -> bool:
    """Tell whether each tool call of a block has exactly one result, and each result its call."""
    calls = Counter(call.call_id for message in block for call in message.tool_calls)
    results = Counter(
        message.tool_call_id for message in block if message.role is ModelMessageRole.TOOL
    )
    return calls == results


def keep_pairs(messages: Sequence[ModelMessage], keep_from: int) -> tuple[ModelMessage, ...]:
    """Give the messages from a place on, without cutting a block in two.

    A block that the cut would go through is left out. SYSTEM messages are kept wherever they are.

    Args:
        messages: The history, oldest first.
        keep_from: The place of the first message to keep.
    """
    cut = next((start for start, _ in split_blocks(messages) if start >= keep_from), len(messages))
    system = ModelMessageRole.SYSTEM
    return (*(item for item in messages[:cut] if item.role is system), *messages[cut:])


def plan_recent(messages: Sequence[ModelMessage], max_messages: int) -> tuple[int, ...]:
    """Choose the newest messages that fit into a number, blocks whole.

    SYSTEM messages are always chosen and count. A block that is not well formed is never chosen.
    When not even the newest block fits, the newest USER message is chosen in its place, so that the
    model still knows its task. A history that fits is chosen as it is.

    Args:
        messages: The history, oldest first.
        max_messages: How many may be chosen; more are only when there are more SYSTEM messages.

    Returns:
        The places of the chosen messages, ascending.
    """
    if len(messages) <= max_messages:
        return tuple(range(len(messages)))
    chosen = {place for place, item in enumerate(messages) if item.role is ModelMessageRole.SYSTEM}
    system_count = len(chosen)
    for start, end in reversed(split_blocks(messages)):
        places = set(range(start, end)) - chosen
        if not is_well_formed(messages[start:end]):
            continue
        if len(chosen) + len(places) > max_messages:
            break
        chosen |= places
    if len(chosen) == system_count < max_messages:
        users = [place for place, item in enumerate(messages) if item.role is ModelMessageRole.USER]
        chosen |= set(users[-1:])
    return tuple(sorted(chosen))


def _block_end(messages: Sequence[ModelMessage], start: int) -> int:
    if not messages[start].tool_calls:
        return start + 1
    end = start + 1
    for place in range(start + 1, len(messages)):
        if messages[place].role is ModelMessageRole.ASSISTANT:
            break
        if messages[place].role is ModelMessageRole.TOOL:
            end = place + 1
    return end
