"""Finding stored runs: their settings, what they wait for, and what was said in them."""

from collections.abc import Sequence
from dataclasses import dataclass

from spakky.core.pod.annotations.pod import Pod

from code_assistant.session import RunSettings
from spakky.agent import (
    AgentApprovalRequest,
    AgentRunRefusedError,
    AgentState,
    AgentStatus,
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    ModelMessage,
    open_approval_requests,
)

AGENT_NAME = "code_assistant"
ENDED = frozenset({AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it is stored.

    Attributes:
        state: Its state row.
        settings: What it works on.
        requests: The approvals that are open, in the order of the calls.
    """

    state: AgentState
    settings: RunSettings
    requests: tuple[AgentApprovalRequest, ...]

    @property
    def has_ended(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.state.status in ENDED


@Pod(name="code_assistant.runs")
class Runs:
    """The demo's runs in the store.

    Args:
        states: States.
        transcripts: What was said.
        evidence: What was put on record.
        signals: What waits to be read by runs.
    """

    def __init__(
        self,
        states: IAgentStateRepository,
        transcripts: IAgentTranscriptRepository,
        evidence: IAgentEvidenceRepository,
        signals: IAgentSignalRepository,
    ) -> None:
        self._states = states
        self._transcripts = transcripts
        self._evidence = evidence
        self.signals = signals

    async def exists(self, run_id: str) -> bool:
        """Whether a run has that id."""
        return await self._states.get_or_none(run_id) is not None

    async def find(self, run_id: str) -> StoredRun:
        """Give a run.

        Raises:
            AgentRunRefusedError: There is none of that id, or it belongs to another agent.
        """
        state = await self._states.get_or_none(run_id)
        if state is None or state.agent_type != AGENT_NAME:
            message = f"No run of the code assistant has the id {run_id!r}; 'code-assistant runs' lists those there are."
            raise AgentRunRefusedError(message)
        settings = RunSettings.from_metadata(state.metadata.get("run_metadata"))
        if settings is None:
            message = f"Run {run_id!r} was not started by code-assistant, so its workspace is not known; resume it where it was started."
            raise AgentRunRefusedError(message)
        return StoredRun(state, settings, open_approval_requests(state))

    async def list_all(self) -> list[AgentState]:
        """Give the states of all runs, the oldest first."""
        found = [
            state for status in AgentStatus for state in await self._states.list_by_status(status)
        ]
        own = [state for state in found if state.agent_type == AGENT_NAME]
        return sorted(own, key=lambda s: (s.created_at is None, s.created_at or s.updated_at, s.id))

    async def load_transcript(self, run_id: str) -> Sequence[ModelMessage]:
        """Give what was said in a run."""
        return await self._transcripts.load(run_id)

    async def count_evidence(self, run_id: str) -> int:
        """Give how many pieces of evidence a run has."""
        return len(await self._evidence.list_by_state(run_id))
