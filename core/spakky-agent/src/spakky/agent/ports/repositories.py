"""Where a durable run is kept: states, signals, evidence, the transcript, and the unit of work over the four.

Every call may do I/O and is a coroutine. Outside a unit of work each call commits by itself. A store that cannot do its
work raises ``AgentPersistenceError`` or one of its subclasses, never a driver's own exception.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime

from spakky.agent.checks import require_text
from spakky.agent.contracts.evidence import AgentEvidence
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentState, AgentStatus


@dataclass(frozen=True, slots=True)
class AgentLease:
    """The right to act on one run, for a limited time.

    Attributes:
        state_id: The run.
        owner: Who holds it; unique for each runner.
        fence: Grows by one with each new holder; a write under an older fence is refused.
        expires_at: When the right ends unless it is renewed, by the store's clock.
    """

    state_id: str
    owner: str
    fence: int
    expires_at: datetime

    def __post_init__(self) -> None:
        require_text(self.state_id, "AgentLease.state_id")
        require_text(self.owner, "AgentLease.owner")


class IAgentStateRepository(ABC):
    """Keeps one ``AgentState`` for each run, and the lease that says who may act on it."""

    @abstractmethod
    async def get(self, state_id: str) -> AgentState:
        """Give the stored state.

        Raises:
            AgentRecordNotFoundError: No run has that id.
        """

    @abstractmethod
    async def get_or_none(self, state_id: str) -> AgentState | None:
        """Give the stored state, or None when no run has that id."""

    @abstractmethod
    async def save(self, state: AgentState) -> AgentState:
        """Store a state if nobody else has since it was read.

        ``state.version`` is the version that was read, 0 for a new run. The stored state has the next version,
        ``created_at`` of its first save and ``updated_at`` of this one, and is returned.

        Raises:
            AgentStateConflictError: The stored version is another one; nothing was written.
        """

    @abstractmethod
    async def list_by_status(self, status: AgentStatus) -> Sequence[AgentState]:
        """Give all states with that status, in the order in which they were first saved."""

    @abstractmethod
    async def list_resume_candidates(self) -> Sequence[AgentState]:
        """Give the runs that a runner died on: ACTIVE or CANCELLING without a live lease, oldest first."""

    @abstractmethod
    async def claim(self, state_id: str, owner: str, ttl_seconds: float) -> AgentLease:
        """Take the lease of a run, known or new, when no other owner holds a live one.

        The owner of a live lease gets it again, renewed, with the same fence. Times are the store's, never the caller's.

        Raises:
            AgentRunInProgressError: Another owner holds a live lease.
        """

    @abstractmethod
    async def renew(self, lease: AgentLease, ttl_seconds: float) -> AgentLease:
        """Prolong a lease.

        Raises:
            AgentLeaseLostError: It ran out and was taken, or was released.
        """

    @abstractmethod
    async def release(self, lease: AgentLease) -> None:
        """Give a lease back. A lease that is no longer held is left alone."""


class IAgentSignalRepository(ABC):
    """A queue of signals for each run; a signal is consumed once."""

    @abstractmethod
    async def append(self, signal: AgentSignal) -> AgentSignal:
        """Add a signal at the end of its run's queue, whether or not the run exists yet.

        A signal without ``created_at`` gets the store's time. Returns what was stored.

        Raises:
            AgentPersistenceError: A signal with that id exists.
        """

    @abstractmethod
    async def list_pending(self, state_id: str) -> Sequence[AgentSignal]:
        """Give the signals of a run that were not consumed, in the order in which they were appended."""

    @abstractmethod
    async def mark_consumed(self, signal_id: str) -> AgentSignal:
        """Consume a signal.

        Raises:
            AgentRecordNotFoundError: No signal has that id.
            AgentSignalConsumedError: It was consumed before.
        """


class IAgentEvidenceRepository(ABC):
    """Append-only grounds of what runs did. There is no call that changes or removes evidence."""

    @abstractmethod
    async def append(self, evidence: AgentEvidence) -> AgentEvidence:
        """Add one piece of evidence; without ``created_at`` it gets the store's time. Returns what was stored.

        Raises:
            AgentPersistenceError: Evidence with that id exists.
        """

    @abstractmethod
    async def get(self, evidence_id: str) -> AgentEvidence:
        """Give one piece of evidence.

        Raises:
            AgentRecordNotFoundError: None has that id.
        """

    @abstractmethod
    async def list_by_state(self, state_id: str) -> Sequence[AgentEvidence]:
        """Give the evidence of a run in the order in which it was appended."""

    @abstractmethod
    async def list_by_manifest_ref(self, manifest_ref: str) -> Sequence[AgentEvidence]:
        """Give the evidence that names a context manifest, in the order in which it was appended."""


class IAgentTranscriptRepository(ABC):
    """The append-only model messages of a run: its working memory, which holds what is needed to go on."""

    @abstractmethod
    async def append(self, state_id: str, messages: Sequence[ModelMessage]) -> None:
        """Add messages at the end of a run's transcript, in their order."""

    @abstractmethod
    async def load(self, state_id: str) -> tuple[ModelMessage, ...]:
        """Give a run's transcript in append order; empty for an unknown run."""


class AgentUnitOfWorkScope(ABC):
    """The four repositories inside one open unit of work."""

    @property
    @abstractmethod
    def states(self) -> IAgentStateRepository:
        """States; a save is checked and written when the unit of work closes."""

    @property
    @abstractmethod
    def signals(self) -> IAgentSignalRepository:
        """Signals."""

    @property
    @abstractmethod
    def evidence(self) -> IAgentEvidenceRepository:
        """Evidence."""

    @property
    @abstractmethod
    def transcripts(self) -> IAgentTranscriptRepository:
        """Transcripts."""


class IAgentUnitOfWork(ABC):
    """Opens units of work: all writes inside one are committed together, or none is."""

    @abstractmethod
    def begin(
        self, lease: AgentLease | None = None
    ) -> AbstractAsyncContextManager[AgentUnitOfWorkScope]:
        """Open a unit of work; use it with ``async with``.

        The writes are committed when the block ends and dropped when it raises. Inside, ``states.save`` returns the
        state with its next version at once; a version conflict may show only when the block ends. Writes may be held
        back and sent together; ``mark_consumed`` of a signal consumed elsewhere may likewise show at the end.

        Args:
            lease: The lease under which the caller acts. The commit is refused when it is not the live one of its run.

        Raises:
            AgentStateConflictError: When the block ends: a saved state was stale. Nothing was written.
            AgentSignalConsumedError: When the block ends: a signal was consumed by somebody else. Nothing was written.
            AgentLeaseLostError: When the block ends: the lease is no longer the run's. Nothing was written.
            AgentPersistenceError: The store failed. Nothing was written.
        """
