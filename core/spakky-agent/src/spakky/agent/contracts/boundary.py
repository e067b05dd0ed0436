"""Checkpoints around each action of a run, and the plan that a resume makes of them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from spakky.agent.checks import require_text
from spakky.agent.contracts.construction import require_member, store_objects, store_tuples
from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentState
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


class AgentActionKind(StrEnum):
    """What sort of action stands at a boundary."""

    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    APPROVAL_WAIT = "approval_wait"


class AgentActionBoundaryStage(StrEnum):
    """Whether the action is about to begin, or has ended."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class AgentActionBoundaryCheckpoint:
    """That an action is about to begin or has ended, as it is stored before the run goes on.

    Attributes:
        action_id: The action, the same before and after.
        action_kind: Its sort.
        stage: Before or after.
        idempotency: Whether the action may be repeated when only its beginning was stored.
        metadata: Extra data, guarded.

    Raises:
        AgentValueError: A blank id, or a text in place of an enum.
    """

    action_id: str
    action_kind: AgentActionKind
    stage: AgentActionBoundaryStage
    idempotency: Idempotency = Idempotency.UNKNOWN
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        where = "AgentActionBoundaryCheckpoint"
        require_text(self.action_id, f"{where}.action_id")
        require_member(self.action_kind, AgentActionKind, f"{where}.action_kind")
        require_member(self.stage, AgentActionBoundaryStage, f"{where}.stage")
        require_member(self.idempotency, Idempotency, f"{where}.idempotency")
        store_objects(self, "metadata")

    @classmethod
    def before_model_call(
        cls,
        action_id: str,
        *,
        idempotency: Idempotency = Idempotency.UNKNOWN,
        metadata: JsonObject | None = None,
    ) -> Self:
        """Give the checkpoint before a model is asked."""
        kind, stage = AgentActionKind.MODEL_CALL, AgentActionBoundaryStage.BEFORE
        return cls(action_id, kind, stage, idempotency, metadata or EMPTY_OBJECT)

    @classmethod
    def after_model_call(
        cls,
        action_id: str,
        *,
        idempotency: Idempotency = Idempotency.UNKNOWN,
        metadata: JsonObject | None = None,
    ) -> Self:
        """Give the checkpoint after a model answered."""
        kind, stage = AgentActionKind.MODEL_CALL, AgentActionBoundaryStage.AFTER
        return cls(action_id, kind, stage, idempotency, metadata or EMPTY_OBJECT)

    @classmethod
    def before_tool_call(
        cls, action_id: str, *, idempotency: Idempotency, metadata: JsonObject | None = None
    ) -> Self:
        """Give the checkpoint before a tool runs."""
        kind, stage = AgentActionKind.TOOL_CALL, AgentActionBoundaryStage.BEFORE
        return cls(action_id, kind, stage, idempotency, metadata or EMPTY_OBJECT)

    @classmethod
    def after_tool_call(
        cls, action_id: str, *, idempotency: Idempotency, metadata: JsonObject | None = None
    ) -> Self:
        """Give the checkpoint after a tool ended."""
        kind, stage = AgentActionKind.TOOL_CALL, AgentActionBoundaryStage.AFTER
        return cls(action_id, kind, stage, idempotency, metadata or EMPTY_OBJECT)

    @classmethod
    def before_approval_wait(cls, action_id: str, *, metadata: JsonObject | None = None) -> Self:
        """Give the checkpoint before a run waits for a person."""
        kind, stage = AgentActionKind.APPROVAL_WAIT, AgentActionBoundaryStage.BEFORE
        return cls(action_id, kind, stage, metadata=metadata or EMPTY_OBJECT)

    @classmethod
    def after_approval_wait(cls, action_id: str, *, metadata: JsonObject | None = None) -> Self:
        """Give the checkpoint after a person decided."""
        kind, stage = AgentActionKind.APPROVAL_WAIT, AgentActionBoundaryStage.AFTER
        return cls(action_id, kind, stage, metadata=metadata or EMPTY_OBJECT)

    def to_evidence_candidate(self, *, summary: str | None = None) -> AgentEvidenceCandidate:
        """Give the checkpoint as evidence.

        Args:
            summary: The same in words.
        """
        payload: JsonObject = {
            "action_id": self.action_id,
            "action_kind": self.action_kind.value,
            "stage": self.stage.value,
            "idempotency": self.idempotency.value,
            "metadata": self.metadata,
        }
        return AgentEvidenceCandidate(
            AgentEvidenceKind.ACTION_BOUNDARY, payload, summary=summary, reference=self.action_id
        )


class AgentResumeAction(StrEnum):
    """What a resumed run does first."""

    START = "start"
    SKIP_COMPLETED = "skip_completed"
    RETRY = "retry"
    REQUIRE_HITL = "require_hitl"
    NOT_RESUMABLE = "not_resumable"


@dataclass(frozen=True, slots=True)
class AgentResumeBoundary:
    """The last boundary of a run that a resume found.

    Attributes:
        action_id: The action.
        action_kind: Its sort.
        stage: Whether only its beginning was stored, or its end too.
        idempotency: Whether it may be repeated.
        evidence_id: The evidence that says so.

    Raises:
        AgentValueError: A blank id, or a text in place of an enum.
    """

    action_id: str
    action_kind: AgentActionKind
    stage: AgentActionBoundaryStage
    idempotency: Idempotency
    evidence_id: str

    def __post_init__(self) -> None:
        where = "AgentResumeBoundary"
        require_text(self.action_id, f"{where}.action_id")
        require_member(self.action_kind, AgentActionKind, f"{where}.action_kind")
        require_member(self.stage, AgentActionBoundaryStage, f"{where}.stage")
        require_member(self.idempotency, Idempotency, f"{where}.idempotency")
        require_text(self.evidence_id, f"{where}.evidence_id")


@dataclass(frozen=True, slots=True)
class AgentResumePlan:
    """What to do with a stored run.

    Attributes:
        state: The run's state as the plan wants it stored.
        action: What comes first.
        boundary: The last boundary, when the run has any.
        signals: The signals that wait for the run, in append order.

    Raises:
        AgentValueError: The action is no member.
    """

    state: AgentState
    action: AgentResumeAction
    boundary: AgentResumeBoundary | None = None
    signals: tuple[AgentSignal, ...] = ()

    def __post_init__(self) -> None:
        require_member(self.action, AgentResumeAction, "AgentResumePlan.action")
        store_tuples(self, "signals")

    @property
    def requires_human_input(self) -> bool:
        """Whether a person has to decide before anything runs."""
        return self.action is AgentResumeAction.REQUIRE_HITL

    @property
    def can_resume_automatically(self) -> bool:
        """Whether the run may go on without a person."""
        return self.action in {
            AgentResumeAction.START,
            AgentResumeAction.SKIP_COMPLETED,
            AgentResumeAction.RETRY,
        }
