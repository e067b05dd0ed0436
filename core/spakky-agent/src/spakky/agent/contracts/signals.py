"""Inbound stimuli of a run, and the batch in which it consumed them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spakky.agent.checks import require_text
from spakky.agent.contracts.construction import (
    require_aware,
    require_member,
    store_objects,
    store_tuples,
)
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


class AgentSignalKind(StrEnum):
    """What a signal wants."""

    USER_MESSAGE = "user_message"
    APPROVAL_DECISION = "approval_decision"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    STEERING_INSTRUCTION = "steering_instruction"
    EXTERNAL_EVENT = "external_event"
    SCHEDULER_WAKE_UP = "scheduler_wake_up"


class AgentSignalPollPoint(StrEnum):
    """Where in a run its queue of signals was read."""

    SAFE_BOUNDARY = "safe_boundary"
    ACTION_BOUNDARY = "action_boundary"
    MODEL_STREAM_TICK = "model_stream_tick"
    TOOL_BOUNDARY = "tool_boundary"
    APPROVAL_BOUNDARY = "approval_boundary"
    CONFIGURED = "configured"


@dataclass(frozen=True, slots=True)
class AgentSignal:
    """One stimulus for a run; appended by anybody, consumed once by the run.

    Attributes:
        id: Unique over all runs.
        agent_state_id: The run that it is for.
        kind: What it wants.
        payload: The details; their keys depend on the kind.
        created_at: When it was appended; the store fills it in.

    Raises:
        AgentValueError: A blank id, a kind that is no member, or a naive time.
    """

    id: str
    agent_state_id: str
    kind: AgentSignalKind
    payload: JsonObject = EMPTY_OBJECT
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        require_text(self.id, "AgentSignal.id")
        require_text(self.agent_state_id, "AgentSignal.agent_state_id")
        require_member(self.kind, AgentSignalKind, "AgentSignal.kind")
        require_aware(self.created_at, "AgentSignal.created_at")
        store_objects(self, "payload")


@dataclass(frozen=True, slots=True)
class AgentSignalConsumptionBatch:
    """The signals that a run consumed at one look at its queue.

    Attributes:
        state_id: The run.
        poll_point: Where in the run the queue was read.
        signals: In the order in which they were appended; may be empty.

    Raises:
        AgentValueError: A blank id or a poll point that is no member.
    """

    state_id: str
    poll_point: AgentSignalPollPoint
    signals: tuple[AgentSignal, ...]

    def __post_init__(self) -> None:
        require_text(self.state_id, "AgentSignalConsumptionBatch.state_id")
        where = "AgentSignalConsumptionBatch.poll_point"
        require_member(self.poll_point, AgentSignalPollPoint, where)
        store_tuples(self, "signals")

    @property
    def consumed_count(self) -> int:
        """How many signals were consumed."""
        return len(self.signals)
