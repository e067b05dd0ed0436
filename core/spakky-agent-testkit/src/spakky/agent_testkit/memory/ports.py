"""All ports over one store in memory, in one value."""

from dataclasses import dataclass, field

from spakky.agent.error import AgentValueError
from spakky.agent_testkit.clock import ManualClock
from spakky.agent_testkit.memory.repositories import (
    MemoryEvidenceRepository,
    MemorySignalRepository,
    MemoryStateRepository,
    MemoryTaskStore,
    MemoryTranscriptRepository,
)
from spakky.agent_testkit.memory.store import MemoryStore
from spakky.agent_testkit.memory.unit_of_work import MemoryUnitOfWork


@dataclass(slots=True)
class MemoryPorts:
    """The persistence ports of one process; give two of them the same store for two processes.

    Attributes:
        store: What holds the rows.
        states: States and leases.
        signals: Signal queues.
        evidence: Evidence.
        transcripts: Transcripts.
        unit_of_work: Units of work over the four.
        task_store: Conversations.
    """

    store: MemoryStore = field(default_factory=MemoryStore)
    states: MemoryStateRepository = field(init=False)
    signals: MemorySignalRepository = field(init=False)
    evidence: MemoryEvidenceRepository = field(init=False)
    transcripts: MemoryTranscriptRepository = field(init=False)
    unit_of_work: MemoryUnitOfWork = field(init=False)
    task_store: MemoryTaskStore = field(init=False)

    def __post_init__(self) -> None:
        self.states = MemoryStateRepository(self.store)
        self.signals = MemorySignalRepository(self.store)
        self.evidence = MemoryEvidenceRepository(self.store)
        self.transcripts = MemoryTranscriptRepository(self.store)
        self.unit_of_work = MemoryUnitOfWork(self.store)
        self.task_store = MemoryTaskStore(self.store)

    async def advance(self, seconds: float) -> None:
        """Let time pass for leases.

        Raises:
            AgentValueError: The store reads a clock that cannot be moved.
        """
        clock = self.store.clock
        if not isinstance(clock, ManualClock):
            message = "MemoryPorts.advance() needs a store whose clock is a ManualClock."
            raise AgentValueError(message)
        clock.advance(seconds)
