"""``ITaskStore`` on SQLAlchemy: the turns of conversations."""

from collections.abc import Sequence
from typing import override

from spakky.agent.ports.task_store import ConversationTurn, ITaskStore, require_conversation_id
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.rows import row_to_turn, turns_to_rows
from spakky.plugins.sqlalchemy.agent.tables import conversation_turns
from spakky.plugins.sqlalchemy.agent.times import now_utc
from sqlalchemy import insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection


class SqlTaskStore(ITaskStore):
    """Keeps the turns of each conversation in the order of their commits; an append stays together.

    Args:
        database: Where the rows are.
    """

    def __init__(self, database: AgentDatabase) -> None:
        self._database = database

    @override
    async def load_history(self, conversation_id: str) -> Sequence[ConversationTurn]:
        require_conversation_id(conversation_id)
        query = (
            select(conversation_turns)
            .where(conversation_turns.c.conversation_id == conversation_id)
            .order_by(conversation_turns.c.seq)
        )

        async def load(connection: AsyncConnection) -> tuple[ConversationTurn, ...]:
            return tuple(map(row_to_turn, (await connection.execute(query)).mappings()))

        return await self._database.read(f"load conversation {conversation_id!r}", load)

    @override
    async def append_turns(self, conversation_id: str, turns: Sequence[ConversationTurn]) -> None:
        require_conversation_id(conversation_id)
        rows = turns_to_rows(conversation_id, turns, now_utc())
        if not rows:
            return

        async def append(connection: AsyncConnection) -> None:
            if self._database.dialect == "postgresql":
                # The sequence hands numbers out before the commit; in turn, the orders are one.
                await connection.execute(_IN_TURN, {"conversation": rows[0]["conversation_id"]})
            await connection.execute(insert(conversation_turns), rows)

        await self._database.write(f"append to conversation {conversation_id!r}", append)


_IN_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended(:conversation, 7370616))")
