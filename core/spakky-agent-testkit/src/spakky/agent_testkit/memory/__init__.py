"""The persistence ports over one store in memory, with faults and counters for tests."""

from spakky.agent_testkit.memory.ports import MemoryPorts
from spakky.agent_testkit.memory.repositories import (
    MemoryEvidenceRepository,
    MemorySignalRepository,
    MemoryStateRepository,
    MemoryTaskStore,
    MemoryTranscriptRepository,
)
from spakky.agent_testkit.memory.store import CommitHook, CommitInfo, MemoryStore, ReadHook
from spakky.agent_testkit.memory.unit_of_work import MemoryUnitOfWork, MemoryUnitOfWorkScope

__all__ = [
    "CommitHook",
    "CommitInfo",
    "MemoryEvidenceRepository",
    "MemoryPorts",
    "MemorySignalRepository",
    "MemoryStateRepository",
    "MemoryStore",
    "MemoryTaskStore",
    "MemoryTranscriptRepository",
    "MemoryUnitOfWork",
    "MemoryUnitOfWorkScope",
    "ReadHook",
]
