"""``IAgentTranscriptRepository`` on SQLAlchemy: numbered rows that are only added."""

from collections.abc import Sequence
from typing import override

from spakky.agent.checks import require_text
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.ports.repositories import IAgentTranscriptRepository
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.rows import message_to_json, row_to_message
from spakky.plugins.sqlalchemy.agent.tables import transcript
from spakky.plugins.sqlalchemy.agent.write_sink import IWriteSink
from spakky.plugins.sqlalchemy.json_text import clean_text
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection


class SqlAgentTranscriptRepository(IAgentTranscriptRepository):
    """Keeps the model messages of each run, numbered from 0 without gaps.

    Args:
        database: Where the rows are.
        sink: Where writes go.
    """

    def __init__(self, database: AgentDatabase, sink: IWriteSink) -> None:
        self._database = database
        self._sink = sink

    @override
    async def append(self, state_id: str, messages: Sequence[ModelMessage]) -> None:
        require_text(state_id, "state_id")
        if not messages:
            return
        run, texts = (
            clean_text(state_id),
            [message_to_json(state_id, message) for message in messages],
        )
        await self._sink.put(
            f"append to the transcript of run {state_id!r}",
            lambda writes: writes.add_messages(run, texts),
        )

    @override
    async def load(self, state_id: str) -> tuple[ModelMessage, ...]:
        query = (
            select(transcript)
            .where(transcript.c.state_id == state_id)
            .order_by(transcript.c.position)
        )

        async def load(connection: AsyncConnection) -> tuple[ModelMessage, ...]:
            return tuple(map(row_to_message, (await connection.execute(query)).mappings()))

        return await self._database.read(f"load the transcript of run {state_id!r}", load)
