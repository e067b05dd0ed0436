"""The dialogue that a run belongs to."""

import pytest

from spakky.agent.contracts.model_message import ModelMessageRole
from spakky.agent.loop.dialogue import NoDialogue, StoredDialogue
from spakky.agent.ports.task_store import ConversationTurn
from spakky.agent_testkit.memory import MemoryPorts

USER, ASSISTANT = ModelMessageRole.USER, ModelMessageRole.ASSISTANT


@pytest.fixture
def stored(ports: MemoryPorts) -> StoredDialogue:
    return StoredDialogue(ports.task_store, "talk", "r2")


async def turns(ports: MemoryPorts, conversation_id: str = "talk") -> list[str]:
    history = await ports.task_store.load_history(conversation_id)
    return [f"{turn.role.value}: {turn.content}" for turn in history]


@pytest.mark.requirement("LOOP-24", "STORE-3")
async def test_without_a_store_nothing_is_loaded_or_recorded() -> None:
    nothing = NoDialogue()
    assert not nothing.keeps_turns
    assert await nothing.load() == ()
    await nothing.record("hi", "hello", again=False)
    assert nothing.continued("talk", keeps_turns=True) is nothing


@pytest.mark.requirement("LOOP-24")
async def test_earlier_turns_become_messages_in_order(
    ports: MemoryPorts, stored: StoredDialogue
) -> None:
    await ports.task_store.append_turns(
        "talk", [ConversationTurn(USER, "hi"), ConversationTurn(ASSISTANT, "hello")]
    )
    assert [(message.role, message.content) for message in await stored.load()] == [
        (USER, "hi"),
        (ASSISTANT, "hello"),
    ]


@pytest.mark.requirement("LOOP-24")
async def test_a_run_records_its_two_turns_under_its_id(
    ports: MemoryPorts, stored: StoredDialogue
) -> None:
    assert stored.keeps_turns
    await stored.record("hi", "hello", again=False)
    history = await ports.task_store.load_history("talk")
    assert [turn.metadata["run_id"] for turn in history] == ["r2", "r2"]
    assert await turns(ports) == ["user: hi", "assistant: hello"]


@pytest.mark.requirement("LOOP-24")
async def test_a_resumed_run_records_its_turns_once(
    ports: MemoryPorts, stored: StoredDialogue
) -> None:
    await StoredDialogue(ports.task_store, "talk", "r1").record("a", "b", again=True)
    await stored.record("hi", "hello", again=True)
    await stored.record("hi", "hello", again=True)
    assert await turns(ports) == ["user: a", "assistant: b", "user: hi", "assistant: hello"]


@pytest.mark.requirement("LOOP-24")
async def test_a_resumed_run_goes_on_in_the_conversation_that_it_began_in(
    ports: MemoryPorts, stored: StoredDialogue
) -> None:
    resumed = stored.continued("first talk", keeps_turns=True)
    await resumed.record("hi", "hello", again=True)
    assert await turns(ports, "first talk") == ["user: hi", "assistant: hello"]
    assert await turns(ports) == []
    assert isinstance(stored.continued("talk", keeps_turns=False), NoDialogue)
