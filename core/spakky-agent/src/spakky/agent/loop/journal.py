"""The persistence boundary of the loop: the only module that writes a run, and the stand-in that writes nothing.

The journal gathers what moves of the loop put on record and commits it, together with state and transcript, in one unit
of work. Executors never see a repository.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import override

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceCandidate
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentRunRefusedError
from spakky.agent.json_value import JsonObject
from spakky.agent.loop.checkpoint import dump_checkpoint
from spakky.agent.loop.facts import Facts
from spakky.agent.loop.progress import Progress
from spakky.agent.ports.repositories import (
    AgentLease,
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.rules.lifecycle import Standing


@dataclass(frozen=True, slots=True)
class DurablePorts:
    """The five ports of a durable run."""

    states: IAgentStateRepository
    signals: IAgentSignalRepository
    evidence: IAgentEvidenceRepository
    transcripts: IAgentTranscriptRepository
    unit_of_work: IAgentUnitOfWork


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it was found in the store."""

    state: AgentState
    transcript: tuple[ModelMessage, ...]


class Journal(ABC):
    """What the loop needs of a store."""

    @abstractmethod
    async def open(self) -> StoredRun | None:
        """Take the run's lease and load what is stored of it; None for a run that is not known.

        Raises:
            AgentRunInProgressError: Another runner holds the run.
            AgentPersistenceError: The store failed.
        """

    @abstractmethod
    def describe(self, metadata: JsonObject) -> None:
        """Set what the state row tells about the run's input, for whoever resumes it."""

    @abstractmethod
    def note(self, facts: Facts) -> None:
        """Put facts beside the next commit."""

    @abstractmethod
    async def commit(self, progress: Progress) -> tuple[Progress, tuple[AgentEvidence, ...]]:
        """Store everything that is new since the last commit, all or nothing.

        Returns:
            The progress with its evidence counted, and the evidence that was stored.

        Raises:
            AgentPersistenceError: The store failed or the run belongs to somebody else; nothing was stored.
        """

    @abstractmethod
    async def read_pending(self) -> Sequence[AgentSignal]:
        """Give the run's pending signals, oldest first."""

    @abstractmethod
    async def send(self, signal: AgentSignal) -> None:
        """Append a signal to another run's queue, on its own."""

    @abstractmethod
    async def renew(self) -> None:
        """Prolong the run's lease; does nothing while none is held.

        Raises:
            AgentLeaseLostError: It is gone.
        """

    @abstractmethod
    async def release(self) -> None:
        """Give the lease back, once; later calls do nothing."""

    @property
    @abstractmethod
    def state(self) -> AgentState | None:
        """The state as it was last stored."""

    @property
    @abstractmethod
    def lease(self) -> AgentLease | None:
        """The lease that is held."""


class NullJournal(Journal):
    """The journal of a stateless run: it keeps nothing and has no inbox."""

    @override
    async def open(self) -> StoredRun | None:
        return None

    @override
    def describe(self, metadata: JsonObject) -> None:
        return

    @override
    def note(self, facts: Facts) -> None:
        return

    @override
    async def commit(self, progress: Progress) -> tuple[Progress, tuple[AgentEvidence, ...]]:
        return progress, ()

    @override
    async def read_pending(self) -> Sequence[AgentSignal]:
        return ()

    @override
    async def send(self, signal: AgentSignal) -> None:
        return

    @override
    async def renew(self) -> None:
        return

    @override
    async def release(self) -> None:
        return

    @property
    @override
    def state(self) -> AgentState | None:
        return None

    @property
    @override
    def lease(self) -> AgentLease | None:
        return None


class DurableJournal(Journal):
    """The journal of a durable run.

    Args:
        ports: Where it is stored.
        run_id: The run.
        agent_type: The agent's name; a stored run of another agent is refused.
        owner: Who acts; unique for each runner.
        lease_seconds: How long the lease lasts without being renewed.
    """

    def __init__(
        self, ports: DurablePorts, run_id: str, agent_type: str, owner: str, lease_seconds: float
    ) -> None:
        self._ports = ports
        self._run_id = run_id
        self._agent_type = agent_type
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._lease: AgentLease | None = None
        self._state: AgentState | None = None
        self._metadata: JsonObject | None = None
        self._committed: tuple[JsonObject, Standing] | None = None
        self._stored_messages = 0
        self._evidence: list[AgentEvidenceCandidate] = []
        self._consumed: list[str] = []
        self._forwarded: list[AgentSignal] = []

    @override
    async def open(self) -> StoredRun | None:
        states = self._ports.states
        self._lease = await states.claim(self._run_id, self._owner, self._lease_seconds)
        self._state = await states.get_or_none(self._run_id)
        if self._state is None:
            return None
        if self._state.agent_type != self._agent_type:
            message = f"Run {self._run_id} belongs to agent {self._state.agent_type}, not to {self._agent_type}; use another state_id."
            raise AgentRunRefusedError(message)
        transcript = await self._ports.transcripts.load(self._run_id)
        self._stored_messages = len(transcript)
        return StoredRun(self._state, transcript)

    @override
    def describe(self, metadata: JsonObject) -> None:
        self._metadata = metadata

    @override
    def note(self, facts: Facts) -> None:
        self._evidence.extend(facts.evidence)
        self._consumed.extend(facts.consumed)
        self._forwarded.extend(facts.forwarded)

    @override
    async def commit(self, progress: Progress) -> tuple[Progress, tuple[AgentEvidence, ...]]:
        checkpoint = dump_checkpoint(progress)
        messages = progress.transcript[self._stored_messages :]
        if not (messages or self._evidence or self._consumed) and self._committed == (
            checkpoint,
            progress.standing,
        ):
            return progress, ()
        evidence = self._number_evidence(progress)
        if evidence:
            progress = replace(progress, evidence_count=progress.evidence_count + len(evidence))
            checkpoint = dump_checkpoint(progress)
        async with self._ports.unit_of_work.begin(self._lease) as scope:
            saved = await scope.states.save(self._next_state(progress, checkpoint))
            if messages:
                await scope.transcripts.append(self._run_id, messages)
            for piece in evidence:
                await scope.evidence.append(piece)
            for signal_id in self._consumed:
                await scope.signals.mark_consumed(signal_id)
            for signal in self._forwarded:
                await scope.signals.append(signal)
        self._state = saved
        self._committed = (checkpoint, progress.standing)
        self._stored_messages = len(progress.transcript)
        self._evidence.clear()
        self._consumed.clear()
        self._forwarded.clear()
        return progress, evidence

    def _number_evidence(self, progress: Progress) -> tuple[AgentEvidence, ...]:
        first = progress.evidence_count + 1
        return tuple(
            candidate.to_evidence(
                evidence_id=f"{self._run_id}/evidence/{number}", agent_state_id=self._run_id
            )
            for number, candidate in enumerate(self._evidence, first)
        )

    def _next_state(self, progress: Progress, checkpoint: JsonObject) -> AgentState:
        standing = progress.standing
        base = self._state or AgentState(self._run_id, self._agent_type, AgentStatus.CREATED)
        return replace(
            base,
            status=standing.status,
            transition=standing.transition,
            reason=standing.reason,
            current_activity=_activity(progress),
            recovery_marker=progress.model_action_id if progress.step else None,
            metadata=base.metadata if self._metadata is None else self._metadata,
            checkpoint=checkpoint,
        )

    @override
    async def read_pending(self) -> Sequence[AgentSignal]:
        return await self._ports.signals.list_pending(self._run_id)

    @override
    async def send(self, signal: AgentSignal) -> None:
        await self._ports.signals.append(signal)

    @override
    async def renew(self) -> None:
        if self._lease is None:
            return
        self._lease = await self._ports.states.renew(self._lease, self._lease_seconds)

    @override
    async def release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            await self._ports.states.release(lease)

    @property
    @override
    def state(self) -> AgentState | None:
        return self._state

    @property
    @override
    def lease(self) -> AgentLease | None:
        return self._lease


def _activity(progress: Progress) -> str | None:
    open_calls = progress.open_calls
    if open_calls:
        return ", ".join(sorted({call.call.name for call in open_calls}))
    return progress.step_name if progress.asking else None
