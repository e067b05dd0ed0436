"""The stored life-cycle state of a run."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spakky.agent.checks import require_text
from spakky.agent.contracts.construction import (
    require_aware,
    require_count,
    require_member,
    store_objects,
)
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


class AgentStatus(StrEnum):
    """Where a run stands; COMPLETED, FAILED and CANCELLED are final."""

    CREATED = "created"
    ACTIVE = "active"
    INTERRUPTED = "interrupted"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AgentStateTransition(StrEnum):
    """The move that brought a run to its status."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"


class AgentStateReason(StrEnum):
    """Why a run does not simply go on."""

    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_DEFERRED = "approval_deferred"
    AUTH_REQUIRED = "auth_required"
    EXECUTION_FAILED = "execution_failed"
    USER_INTERRUPTED = "user_interrupted"
    TIMEOUT = "timeout"
    CANCELLATION_REQUESTED = "cancellation_requested"
    CANCELLATION_CLEANUP_FAILED = "cancellation_cleanup_failed"
    RECOVERY_REQUIRES_HITL = "recovery_requires_hitl"


@dataclass(frozen=True, slots=True)
class AgentState:
    """The state of one run as it is stored.

    Attributes:
        id: The run's id, ``RunAgentInput.state_id``.
        agent_type: The name of the agent's class or spec, for the operator and the scheduler.
        status: Where the run stands.
        transition: The move that brought it there.
        reason: Why it does not simply go on.
        current_activity: What it does, in words for the operator.
        input_ref: A reference to the run's input, where the application keeps one.
        output_ref: A reference to the run's output, likewise.
        pending_signal_count: How many signals were waiting when the state was saved.
        last_event_cursor: Up to where the run's events were stored.
        recovery_marker: The boundary from which the run goes on.
        metadata: Extra data, for example the open approval request.
        created_at: When it was first saved; None before that.
        updated_at: When it was last saved; None before that.
        version: How often it was saved; a save with an old version is refused.
        checkpoint: The loop's control part, needed to go on.

    Raises:
        AgentValueError: A blank id, a negative number, a naive time, or a text in place of an enum.
    """

    id: str
    agent_type: str
    status: AgentStatus
    transition: AgentStateTransition | None = None
    reason: AgentStateReason | None = None
    current_activity: str | None = None
    input_ref: str | None = None
    output_ref: str | None = None
    pending_signal_count: int = 0
    last_event_cursor: str | None = None
    recovery_marker: str | None = None
    metadata: JsonObject = EMPTY_OBJECT
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0
    checkpoint: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "AgentState.id")
        require_text(self.agent_type, "AgentState.agent_type")
        require_member(self.status, AgentStatus, "AgentState.status")
        if self.transition is not None:
            require_member(self.transition, AgentStateTransition, "AgentState.transition")
        if self.reason is not None:
            require_member(self.reason, AgentStateReason, "AgentState.reason")
        require_count(self.pending_signal_count, "AgentState.pending_signal_count")
        require_count(self.version, "AgentState.version")
        require_aware(self.created_at, "AgentState.created_at")
        require_aware(self.updated_at, "AgentState.updated_at")
        store_objects(self, "metadata", "checkpoint")
