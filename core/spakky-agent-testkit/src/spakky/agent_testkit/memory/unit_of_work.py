"""The unit of work over a store in memory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import override

from spakky.agent.error import AgentPersistenceError
from spakky.agent.ports.repositories import (
    AgentLease,
    AgentUnitOfWorkScope,
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent_testkit.memory.repositories import (
    MemoryEvidenceRepository,
    MemorySignalRepository,
    MemoryStateRepository,
    MemoryTranscriptRepository,
)
from spakky.agent_testkit.memory.store import MemoryStore
from spakky.agent_testkit.memory.writes import Write


class MemoryUnitOfWorkScope(AgentUnitOfWorkScope):
    """Repositories that hold their writes back until the unit of work closes. Reads see committed rows.

    Args:
        store: What holds the rows.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._writes: list[Write] = []
        self._open = True
        self._states = MemoryStateRepository(store, self._keep)
        self._signals = MemorySignalRepository(store, self._keep)
        self._evidence = MemoryEvidenceRepository(store, self._keep)
        self._transcripts = MemoryTranscriptRepository(store, self._keep)

    async def _keep(self, change: Write) -> None:
        if not self._open:
            message = "The unit of work is closed; open another one for further writes."
            raise AgentPersistenceError(message)
        self._writes.append(change)

    def close(self) -> tuple[Write, ...]:
        """Refuse further writes and give those that were made."""
        self._open = False
        return tuple(self._writes)

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


class MemoryUnitOfWork(IAgentUnitOfWork):
    """Opens units of work over a store in memory.

    Args:
        store: What holds the rows.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    @override
    @asynccontextmanager
    async def begin(self, lease: AgentLease | None = None) -> AsyncGenerator[AgentUnitOfWorkScope]:
        scope = MemoryUnitOfWorkScope(self._store)
        try:
            yield scope
        finally:
            writes = scope.close()
        await self._store.commit(writes, lease)
