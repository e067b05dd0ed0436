"""The tables of a store in memory, and the writes that can be applied to them and undone."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import override

from spakky.agent.contracts.evidence import AgentEvidence
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentStatus
from spakky.agent.error import (
    AgentPersistenceError,
    AgentRecordNotFoundError,
    AgentSignalConsumedError,
    AgentStateConflictError,
)

type Undo = Callable[[], None]


@dataclass(frozen=True, slots=True)
class StateRow:
    """A stored state: its JSON text, and what is asked of it without decoding."""

    text: str
    version: int
    status: AgentStatus
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A run's lease; a released one has no owner and keeps its fence."""

    owner: str | None
    fence: int
    expires_at: datetime


@dataclass(slots=True)
class SignalRow:
    """A stored signal."""

    text: str
    state_id: str
    consumed: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A stored piece of evidence."""

    text: str
    state_id: str
    manifest_ref: str | None


@dataclass(slots=True)
class Tables:
    """All that a store holds. Dictionaries keep the order of first insertion, which is the order of every list."""

    states: dict[str, StateRow] = field(default_factory=dict)
    leases: dict[str, LeaseRow] = field(default_factory=dict)
    signals: dict[str, SignalRow] = field(default_factory=dict)
    evidence: dict[str, EvidenceRow] = field(default_factory=dict)
    transcripts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    turns: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


class Write(ABC):
    """One change of the tables."""

    __slots__ = ()

    @abstractmethod
    def apply(self, tables: Tables) -> Undo:
        """Change the tables and give what takes the change back.

        Raises:
            AgentPersistenceError: The change does not fit what is stored; nothing was changed.
        """

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words what is written, for the name of a commit."""


@dataclass(frozen=True, slots=True)
class SaveState(Write):
    """Store a state over the version that was read."""

    state_id: str
    row: StateRow
    transition: str | None

    @override
    def apply(self, tables: Tables) -> Undo:
        old = tables.states.get(self.state_id)
        stored = 0 if old is None else old.version
        if stored != self.row.version - 1:
            message = (
                f"State {self.state_id!r} was saved over version {self.row.version - 1}, but version {stored} "
                "is stored; read it again and decide anew."
            )
            raise AgentStateConflictError(message)
        tables.states[self.state_id] = self.row
        if old is None:
            return partial(_remove, tables.states, self.state_id)
        return partial(tables.states.__setitem__, self.state_id, old)

    @override
    def describe(self) -> str:
        move = (
            self.row.status.value
            if self.transition is None
            else f"{self.row.status.value}/{self.transition}"
        )
        return f"state {self.state_id} v{self.row.version} {move}"


@dataclass(frozen=True, slots=True)
class AppendSignal(Write):
    """Add a signal to its queue."""

    signal: AgentSignal
    text: str

    @override
    def apply(self, tables: Tables) -> Undo:
        _refuse_known(tables.signals, self.signal.id, "Signal")
        tables.signals[self.signal.id] = SignalRow(self.text, self.signal.agent_state_id)
        return partial(_remove, tables.signals, self.signal.id)

    @override
    def describe(self) -> str:
        return f"signal {self.signal.kind.value}"


@dataclass(frozen=True, slots=True)
class ConsumeSignal(Write):
    """Take a signal out of its queue."""

    signal_id: str

    @override
    def apply(self, tables: Tables) -> Undo:
        row = pending_signal(tables, self.signal_id)
        row.consumed = True
        return partial(_give_back, row)

    @override
    def describe(self) -> str:
        return f"consumed {self.signal_id}"


@dataclass(frozen=True, slots=True)
class AppendEvidence(Write):
    """Add a piece of evidence."""

    evidence: AgentEvidence
    text: str

    @override
    def apply(self, tables: Tables) -> Undo:
        evidence = self.evidence
        _refuse_known(tables.evidence, evidence.id, "Evidence")
        row = EvidenceRow(self.text, evidence.agent_state_id, evidence.manifest_ref)
        tables.evidence[evidence.id] = row
        return partial(_remove, tables.evidence, evidence.id)

    @override
    def describe(self) -> str:
        return f"evidence {self.evidence.kind.value}"


@dataclass(frozen=True, slots=True)
class AppendMessages(Write):
    """Add messages to a transcript."""

    state_id: str
    texts: tuple[str, ...]

    @override
    def apply(self, tables: Tables) -> Undo:
        return _extend(tables.transcripts[self.state_id], self.texts)

    @override
    def describe(self) -> str:
        return f"{len(self.texts)} messages"


@dataclass(frozen=True, slots=True)
class AppendTurns(Write):
    """Add turns to a conversation."""

    conversation_id: str
    texts: tuple[str, ...]

    @override
    def apply(self, tables: Tables) -> Undo:
        return _extend(tables.turns[self.conversation_id], self.texts)

    @override
    def describe(self) -> str:
        return f"{len(self.texts)} turns"


def pending_signal(tables: Tables, signal_id: str) -> SignalRow:
    """Give a signal that was not consumed.

    Raises:
        AgentRecordNotFoundError: No signal has that id.
        AgentSignalConsumedError: It was consumed.
    """
    row = tables.signals.get(signal_id)
    if row is None:
        message = f"No signal {signal_id!r} is stored; check the id that was given."
        raise AgentRecordNotFoundError(message)
    if row.consumed:
        message = f"Signal {signal_id!r} was already consumed; list the pending signals again."
        raise AgentSignalConsumedError(message)
    return row


def apply_all(tables: Tables, writes: tuple[Write, ...]) -> None:
    """Apply writes in order, all or none.

    Raises:
        AgentPersistenceError: One does not fit; the tables are as before.
    """
    undone: list[Undo] = []
    try:
        for write in writes:
            undone.append(write.apply(tables))  # noqa: PERF401  # the list must hold what was applied before a failure
    except AgentPersistenceError:
        for undo in reversed(undone):
            undo()
        raise


def _refuse_known[Row](table: dict[str, Row], record_id: str, noun: str) -> None:
    if record_id in table:
        message = f"{noun} {record_id!r} is already stored; give every record an id of its own."
        raise AgentPersistenceError(message)


def _extend(rows: list[str], texts: tuple[str, ...]) -> Undo:
    length = len(rows)
    rows.extend(texts)
    return partial(_cut, rows, length)


def _cut(rows: list[str], length: int) -> None:
    del rows[length:]


def _remove[Row](table: dict[str, Row], record_id: str) -> None:
    del table[record_id]


def _give_back(row: SignalRow) -> None:
    row.consumed = False
