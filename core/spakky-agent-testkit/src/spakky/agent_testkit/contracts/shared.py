"""What the suites share: the ports under test, ids, and values that stores tend to damage."""

from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import Protocol
from uuid import uuid4

import pytest

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue
from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.ports.task_store import ITaskStore


class PortsUnderTest(Protocol):
    """The implementation that a suite tests; what the fixture ``ports`` gives."""

    @property
    def states(self) -> IAgentStateRepository:
        """States and leases."""

    @property
    def signals(self) -> IAgentSignalRepository:
        """Signals."""

    @property
    def evidence(self) -> IAgentEvidenceRepository:
        """Evidence."""

    @property
    def transcripts(self) -> IAgentTranscriptRepository:
        """Transcripts."""

    @property
    def unit_of_work(self) -> IAgentUnitOfWork:
        """Units of work."""

    @property
    def task_store(self) -> ITaskStore:
        """Conversations."""

    async def advance(self, seconds: float) -> None:
        """Let at least so much time of the store pass; a store on a real clock really waits (half a second at most)."""


LONG_SECONDS = 600.0
"""A lease that does not run out while a test runs."""
SHORT_SECONDS = 0.2
"""A lease that is made to run out."""
PAST_SHORT_SECONDS = 0.5
"""Time after which a short lease has run out."""

AWKWARD_TEXT = "한 🙂 é e\u0301 \u2028\u2029\u0085 \" \\ / ' \n\r\t %s {x} $1 ?"
"""Must come back unchanged."""
EARLY = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=9)))
"""A time in a zone that is not UTC, with microseconds."""


def deep_object(levels: int = 40) -> JsonObject:
    """Give an object with every JSON type, nested many levels deep."""
    value: JsonValue = {
        "text": AWKWARD_TEXT,
        "": "empty key",
        "ключ": [1, -2, 0.1, 2**53, True, False, None, "", [], {}],
        "none": None,
    }
    for level in range(levels):
        value = {"level": level, "inner": value} if level % 2 else {"list": [value]}
    return {"root": value}


def random_ids(key: str, count: int) -> list[str]:
    """Give ids whose alphabetical order has nothing to do with their place."""
    return [f"{key}-{sha256(f'{key}{index}'.encode()).hexdigest()[:16]}" for index in range(count)]


def make_state(
    state_id: str, status: AgentStatus = AgentStatus.ACTIVE, *, metadata: JsonObject = EMPTY_OBJECT
) -> AgentState:
    """Give a new state."""
    return AgentState(state_id, "tests.Agent", status, metadata=metadata)


def make_signal(
    signal_id: str,
    state_id: str,
    *,
    payload: JsonObject = EMPTY_OBJECT,
    created_at: datetime | None = None,
) -> AgentSignal:
    """Give a signal."""
    kind = AgentSignalKind.USER_MESSAGE
    return AgentSignal(signal_id, state_id, kind, payload=payload, created_at=created_at)


def make_evidence(
    evidence_id: str,
    state_id: str,
    *,
    payload: JsonObject = EMPTY_OBJECT,
    manifest_ref: str | None = None,
    created_at: datetime | None = None,
) -> AgentEvidence:
    """Give a piece of evidence."""
    return AgentEvidence(
        evidence_id,
        state_id,
        AgentEvidenceKind.TOOL,
        payload=payload,
        manifest_ref=manifest_ref,
        created_at=created_at,
    )


class PortContract:
    """Base of every suite: ids that no other test uses, so that a store may be shared by all of them."""

    @pytest.fixture
    def key(self) -> str:
        """A prefix for all ids of one test."""
        return uuid4().hex[:12]
