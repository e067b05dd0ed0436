"""``IAgentUnitOfWork`` on SQLAlchemy: gathers the writes of a boundary and commits them together."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import override

from spakky.agent.ports.repositories import (
    AgentLease,
    AgentUnitOfWorkScope,
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.evidence import SqlAgentEvidenceRepository
from spakky.plugins.sqlalchemy.agent.signals import ScopedAgentSignalRepository
from spakky.plugins.sqlalchemy.agent.states import SqlAgentStateRepository
from spakky.plugins.sqlalchemy.agent.transcripts import SqlAgentTranscriptRepository
from spakky.plugins.sqlalchemy.agent.write_sink import BufferedSink


class SqlAgentUnitOfWorkScope(AgentUnitOfWorkScope):
    """The repositories of one unit of work. Their reads see what is committed, not its own writes.

    Args:
        database: Where the rows are.
        sink: Gathers the writes.
    """

    def __init__(self, database: AgentDatabase, sink: BufferedSink) -> None:
        self._states = SqlAgentStateRepository(database, sink)
        self._signals = ScopedAgentSignalRepository(database, sink)
        self._evidence = SqlAgentEvidenceRepository(database, sink)
        self._transcripts = SqlAgentTranscriptRepository(database, sink)

    @property
    @override
    def states(self) -> IAgentStateRepository:
        return self._states

    @property
    @override
    def signals(self) -> IAgentSignalRepository:
        return self._signals

    @property
    @override
    def evidence(self) -> IAgentEvidenceRepository:
        return self._evidence

    @property
    @override
    def transcripts(self) -> IAgentTranscriptRepository:
        return self._transcripts


class SqlAgentUnitOfWork(IAgentUnitOfWork):
    """Opens units of work. No connection is held while one is open: it writes once, at its end.

    Args:
        database: Where to write.
    """

    def __init__(self, database: AgentDatabase) -> None:
        self._database = database

    @override
    @asynccontextmanager
    async def begin(self, lease: AgentLease | None = None) -> AsyncGenerator[AgentUnitOfWorkScope]:
        sink = BufferedSink()
        try:
            yield SqlAgentUnitOfWorkScope(self._database, sink)
        finally:
            sink.close()
        await self._database.commit("commit a unit of work", sink.writes, lease)
