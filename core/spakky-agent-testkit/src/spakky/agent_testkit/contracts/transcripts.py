"""The contract of ``IAgentTranscriptRepository``."""
# ruff: noqa: S101  # a suite asserts

import asyncio

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent_testkit.contracts.shared import (
    AWKWARD_TEXT,
    PortContract,
    PortsUnderTest,
    deep_object,
)

_EVERY_FORM = (
    ModelMessage(ModelMessageRole.SYSTEM, AWKWARD_TEXT, {"pinned": True}),
    ModelMessage(ModelMessageRole.USER, "question", message_id="m1"),
    ModelMessage(
        ModelMessageRole.ASSISTANT,
        "",
        tool_calls=(
            ModelToolCall("workspace.read", deep_object(20), "0", {"index": 0}),
            ModelToolCall("workspace.write", {}, None, arguments_error="not an object"),
        ),
        message_id="m2",
    ),
    ModelMessage(
        ModelMessageRole.TOOL, '{"ok":true}', tool_call_id="0", tool_name="workspace.read"
    ),
    ModelMessage(ModelMessageRole.EVIDENCE, "ground"),
    ModelMessage(ModelMessageRole.ASSISTANT, "answer"),
)


def _users(*texts: str) -> list[ModelMessage]:
    return [ModelMessage(ModelMessageRole.USER, text) for text in texts]


class TranscriptRepositoryContract(PortContract):
    """A transcript grows at its end and is read as a whole."""

    async def test_an_unknown_run_has_an_empty_transcript(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Also after an append of nothing."""
        assert await ports.transcripts.load(key) == ()
        await ports.transcripts.append(key, [])
        assert await ports.transcripts.load(key) == ()

    async def test_messages_come_back_as_they_were_appended(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Every role, with tool calls and their results."""
        await ports.transcripts.append(key, _EVERY_FORM)
        assert await ports.transcripts.load(key) == _EVERY_FORM

    async def test_a_nul_character_does_not_stop_a_transcript(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A store may replace it; the rest of the text is kept."""
        await ports.transcripts.append(key, _users("a\x00b"))
        (message,) = await ports.transcripts.load(key)
        assert message.content.startswith("a")
        assert message.content.endswith("b")

    async def test_appends_go_on_where_the_last_one_ended(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Equal messages are kept as often as they were appended."""
        for number in range(25):
            await ports.transcripts.append(key, _users(f"{number}", "again"))
        expected = [text for number in range(25) for text in (f"{number}", "again")]
        loaded = await ports.transcripts.load(key)
        assert [message.content for message in loaded] == expected

    async def test_each_run_has_a_transcript_of_its_own(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Appends to one run do not show in another."""
        await ports.transcripts.append(f"{key}-1", _users("one"))
        await ports.transcripts.append(f"{key}-2", _users("two"))
        assert await ports.transcripts.load(f"{key}-1") == tuple(_users("one"))
        assert await ports.transcripts.load(f"{key}-2") == tuple(_users("two"))

    async def test_appends_of_several_tasks_are_all_kept(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Each append's own order too."""
        batches = [[f"{writer}-{number}" for number in range(5)] for writer in range(4)]
        await asyncio.gather(*(ports.transcripts.append(key, _users(*batch)) for batch in batches))
        texts = [message.content for message in await ports.transcripts.load(key)]
        assert len(texts) == 20
        for writer, batch in enumerate(batches):
            assert [text for text in texts if text.startswith(f"{writer}-")] == batch
