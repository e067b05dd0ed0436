"""``IAgentEvidenceRepository`` on SQLAlchemy: rows that the database itself refuses to change."""

from collections.abc import Sequence
from typing import Any, override

from spakky.agent.contracts.evidence import AgentEvidence
from spakky.agent.error import AgentRecordNotFoundError
from spakky.agent.ports.repositories import IAgentEvidenceRepository
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.rows import evidence_to_row, row_to_evidence
from spakky.plugins.sqlalchemy.agent.tables import evidence as evidence_table
from spakky.plugins.sqlalchemy.agent.times import now_utc
from spakky.plugins.sqlalchemy.agent.write_sink import IWriteSink
from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection


class SqlAgentEvidenceRepository(IAgentEvidenceRepository):
    """Keeps evidence in the order in which it was appended.

    Args:
        database: Where the rows are.
        sink: Where writes go.
    """

    def __init__(self, database: AgentDatabase, sink: IWriteSink) -> None:
        self._database = database
        self._sink = sink

    @override
    async def append(self, evidence: AgentEvidence) -> AgentEvidence:
        row, stored = evidence_to_row(evidence, now_utc())
        await self._sink.put(
            f"append evidence {evidence.id!r}", lambda writes: writes.evidence.append(row)
        )
        return stored

    @override
    async def get(self, evidence_id: str) -> AgentEvidence:
        query = select(evidence_table).where(evidence_table.c.id == evidence_id)
        found = await self._list(f"read evidence {evidence_id!r}", query)
        if not found:
            message = f"No evidence has the id {evidence_id!r}."
            raise AgentRecordNotFoundError(message)
        return found[0]

    @override
    async def list_by_state(self, state_id: str) -> Sequence[AgentEvidence]:
        query = select(evidence_table).where(evidence_table.c.state_id == state_id)
        return await self._list(f"list the evidence of run {state_id!r}", query)

    @override
    async def list_by_manifest_ref(self, manifest_ref: str) -> Sequence[AgentEvidence]:
        query = select(evidence_table).where(evidence_table.c.manifest_ref == manifest_ref)
        return await self._list(f"list the evidence of manifest {manifest_ref!r}", query)

    # The row type of a select over a table is not known to the type checker.
    async def _list(self, action: str, query: Select[Any]) -> tuple[AgentEvidence, ...]:
        ordered = query.order_by(evidence_table.c.seq)

        async def load(connection: AsyncConnection) -> tuple[AgentEvidence, ...]:
            return tuple(map(row_to_evidence, (await connection.execute(ordered)).mappings()))

        return await self._database.read(action, load)
