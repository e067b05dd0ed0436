"""The contract of ``ITaskStore``."""
# ruff: noqa: S101  # a suite asserts

import asyncio

import pytest

from spakky.agent.contracts.model_message import ModelMessageRole
from spakky.agent.error import AgentValueError
from spakky.agent.ports.task_store import ConversationTurn
from spakky.agent_testkit.contracts.shared import (
    AWKWARD_TEXT,
    PortContract,
    PortsUnderTest,
    deep_object,
)


def _turns(*texts: str) -> list[ConversationTurn]:
    return [ConversationTurn(ModelMessageRole.USER, text) for text in texts]


class TaskStoreContract(PortContract):
    """A conversation grows at its end and is read as a whole."""

    async def test_an_unknown_conversation_has_an_empty_history(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Also after an append of nothing."""
        assert not await ports.task_store.load_history(key)
        await ports.task_store.append_turns(key, [])
        assert not await ports.task_store.load_history(key)

    async def test_turns_come_back_as_they_were_appended(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Both roles, an empty text, metadata."""
        turns = [
            ConversationTurn(ModelMessageRole.USER, AWKWARD_TEXT, deep_object()),
            ConversationTurn(ModelMessageRole.ASSISTANT, ""),
        ]
        await ports.task_store.append_turns(key, turns)
        assert list(await ports.task_store.load_history(key)) == turns

    async def test_a_nul_character_does_not_stop_a_turn(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A store may replace it; the rest of the text is kept."""
        await ports.task_store.append_turns(key, _turns("a\x00b"))
        (turn,) = await ports.task_store.load_history(key)
        assert turn.content.startswith("a")
        assert turn.content.endswith("b")

    async def test_appends_go_on_where_the_last_one_ended(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """In append order."""
        for number in range(25):
            await ports.task_store.append_turns(key, _turns(f"{number}", "again"))
        expected = [text for number in range(25) for text in (f"{number}", "again")]
        history = await ports.task_store.load_history(key)
        assert [turn.content for turn in history] == expected

    async def test_each_conversation_has_a_history_of_its_own(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Ids are compared as they are."""
        await ports.task_store.append_turns(f"{key}-a", _turns("lower"))
        await ports.task_store.append_turns(f"{key}-A", _turns("upper"))
        assert list(await ports.task_store.load_history(f"{key}-a")) == _turns("lower")
        assert list(await ports.task_store.load_history(f"{key}-A")) == _turns("upper")

    async def test_a_blank_conversation_id_is_refused(self, ports: PortsUnderTest) -> None:
        """By both calls."""
        with pytest.raises(AgentValueError):
            await ports.task_store.load_history(" ")
        with pytest.raises(AgentValueError):
            await ports.task_store.append_turns("", _turns("text"))

    async def test_appends_of_several_tasks_are_all_kept(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Each append's own order too."""
        batches = [[f"{writer}-{number}" for number in range(5)] for writer in range(4)]
        await asyncio.gather(
            *(ports.task_store.append_turns(key, _turns(*batch)) for batch in batches)
        )
        texts = [turn.content for turn in await ports.task_store.load_history(key)]
        assert len(texts) == 20
        for writer, batch in enumerate(batches):
            assert [text for text in texts if text.startswith(f"{writer}-")] == batch
