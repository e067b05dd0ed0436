"""The repositories and the task store over a store in memory."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import override

from spakky.agent.contracts.evidence import AgentEvidence
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentRecordNotFoundError
from spakky.agent.ports.repositories import (
    AgentLease,
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
)
from spakky.agent.ports.task_store import ConversationTurn, ITaskStore, require_conversation_id
from spakky.agent_testkit.memory.store import MemoryStore
from spakky.agent_testkit.memory.writes import (
    AppendEvidence,
    AppendMessages,
    AppendSignal,
    AppendTurns,
    ConsumeSignal,
    SaveState,
    StateRow,
    Write,
    pending_signal,
)
from spakky.agent_testkit.records import (
    dump_record,
    load_evidence,
    load_message,
    load_signal,
    load_state,
    load_turn,
)

type Writer = Callable[[Write], Awaitable[None]]


def write_at_once(store: MemoryStore) -> Writer:
    """Give a writer that commits each write by itself."""

    async def write(change: Write) -> None:
        await store.commit((change,))

    return write


class MemoryStateRepository(IAgentStateRepository):
    """States and leases in memory. Calls about leases take effect at once, inside a unit of work as well.

    Args:
        store: What holds the rows.
        write: Where writes go; each is committed by itself when none is given.
    """

    def __init__(self, store: MemoryStore, write: Writer | None = None) -> None:
        self._store = store
        self._write = write_at_once(store) if write is None else write

    @override
    async def get(self, state_id: str) -> AgentState:
        state = await self.get_or_none(state_id)
        if state is None:
            message = f"No state {state_id!r} is stored; check the id, or start the run first."
            raise AgentRecordNotFoundError(message)
        return state

    @override
    async def get_or_none(self, state_id: str) -> AgentState | None:
        tables = await self._store.start_read("states.get")
        row = tables.states.get(state_id)
        return None if row is None else load_state(row.text)

    @override
    async def save(self, state: AgentState) -> AgentState:
        now = self._store.clock()
        known = self._store.tables.states.get(state.id)
        # A state that was first saved earlier in the same unit of work is not stored yet, but has its time.
        fresh = state.created_at if state.version and state.created_at else now
        created_at = fresh if known is None else known.created_at
        saved = replace(state, version=state.version + 1, created_at=created_at, updated_at=now)
        text = dump_record(saved)
        transition = None if saved.transition is None else saved.transition.value
        row = StateRow(text, saved.version, saved.status, created_at)
        await self._write(SaveState(saved.id, row, transition))
        return load_state(text)

    @override
    async def list_by_status(self, status: AgentStatus) -> Sequence[AgentState]:
        tables = await self._store.start_read("states.list_by_status")
        return tuple(load_state(row.text) for row in tables.states.values() if row.status is status)

    @override
    async def list_resume_candidates(self) -> Sequence[AgentState]:
        tables = await self._store.start_read("states.list_resume_candidates")
        return tuple(
            load_state(row.text)
            for state_id, row in tables.states.items()
            if row.status in {AgentStatus.ACTIVE, AgentStatus.CANCELLING}
            and not self._store.is_live(state_id)
        )

    @override
    async def claim(self, state_id: str, owner: str, ttl_seconds: float) -> AgentLease:
        return await self._store.claim(state_id, owner, ttl_seconds)

    @override
    async def renew(self, lease: AgentLease, ttl_seconds: float) -> AgentLease:
        return await self._store.renew(lease, ttl_seconds)

    @override
    async def release(self, lease: AgentLease) -> None:
        await self._store.release(lease)


class MemorySignalRepository(IAgentSignalRepository):
    """Signal queues in memory. Arguments as for ``MemoryStateRepository``."""

    def __init__(self, store: MemoryStore, write: Writer | None = None) -> None:
        self._store = store
        self._write = write_at_once(store) if write is None else write

    @override
    async def append(self, signal: AgentSignal) -> AgentSignal:
        timed = signal if signal.created_at else replace(signal, created_at=self._store.clock())
        text = dump_record(timed)
        await self._write(AppendSignal(timed, text))
        return load_signal(text)

    @override
    async def list_pending(self, state_id: str) -> Sequence[AgentSignal]:
        tables = await self._store.start_read("signals.list_pending")
        return tuple(
            load_signal(row.text)
            for row in tables.signals.values()
            if row.state_id == state_id and not row.consumed
        )

    @override
    async def mark_consumed(self, signal_id: str) -> AgentSignal:
        text = pending_signal(self._store.tables, signal_id).text
        await self._write(ConsumeSignal(signal_id))
        return load_signal(text)


class MemoryEvidenceRepository(IAgentEvidenceRepository):
    """Evidence in memory. Arguments as for ``MemoryStateRepository``."""

    def __init__(self, store: MemoryStore, write: Writer | None = None) -> None:
        self._store = store
        self._write = write_at_once(store) if write is None else write

    @override
    async def append(self, evidence: AgentEvidence) -> AgentEvidence:
        timed = (
            evidence if evidence.created_at else replace(evidence, created_at=self._store.clock())
        )
        text = dump_record(timed)
        await self._write(AppendEvidence(timed, text))
        return load_evidence(text)

    @override
    async def get(self, evidence_id: str) -> AgentEvidence:
        tables = await self._store.start_read("evidence.get")
        row = tables.evidence.get(evidence_id)
        if row is None:
            message = f"No evidence {evidence_id!r} is stored; check the id that was given."
            raise AgentRecordNotFoundError(message)
        return load_evidence(row.text)

    @override
    async def list_by_state(self, state_id: str) -> Sequence[AgentEvidence]:
        tables = await self._store.start_read("evidence.list_by_state")
        rows = (row for row in tables.evidence.values() if row.state_id == state_id)
        return tuple(load_evidence(row.text) for row in rows)

    @override
    async def list_by_manifest_ref(self, manifest_ref: str) -> Sequence[AgentEvidence]:
        tables = await self._store.start_read("evidence.list_by_manifest_ref")
        rows = (row for row in tables.evidence.values() if row.manifest_ref == manifest_ref)
        return tuple(load_evidence(row.text) for row in rows)


class MemoryTranscriptRepository(IAgentTranscriptRepository):
    """Transcripts in memory. Arguments as for ``MemoryStateRepository``."""

    def __init__(self, store: MemoryStore, write: Writer | None = None) -> None:
        self._store = store
        self._write = write_at_once(store) if write is None else write

    @override
    async def append(self, state_id: str, messages: Sequence[ModelMessage]) -> None:
        if messages:
            texts = tuple(dump_record(message) for message in messages)
            await self._write(AppendMessages(state_id, texts))

    @override
    async def load(self, state_id: str) -> tuple[ModelMessage, ...]:
        tables = await self._store.start_read("transcripts.load")
        return tuple(load_message(text) for text in tables.transcripts.get(state_id, ()))


class MemoryTaskStore(ITaskStore):
    """Conversations in memory.

    Args:
        store: What holds the rows.
    """

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    @override
    async def load_history(self, conversation_id: str) -> Sequence[ConversationTurn]:
        require_conversation_id(conversation_id)
        tables = await self._store.start_read("task_store.load_history")
        return tuple(load_turn(text) for text in tables.turns.get(conversation_id, ()))

    @override
    async def append_turns(self, conversation_id: str, turns: Sequence[ConversationTurn]) -> None:
        require_conversation_id(conversation_id)
        if turns:
            texts = tuple(dump_record(turn) for turn in turns)
            await self._store.commit((AppendTurns(conversation_id, texts),))
