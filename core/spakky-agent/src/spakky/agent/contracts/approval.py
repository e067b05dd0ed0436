"""Approval at a risk boundary: the request to a person, the plan that makes it, and the decision's outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.approval_decision import DEFAULT_APPROVAL_DECISIONS, ApprovalDecision
from spakky.agent.contracts.construction import require_member, store_objects, store_tuples
from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.contracts.tool_metadata import AgentToolMetadata, ToolRisk, ToolRiskAxis
from spakky.agent.contracts.yields import AgentYield, AgentYieldKind, Approval
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue

__all__ = [
    "APPROVAL_REQUEST_KEY",
    "DEFAULT_APPROVAL_DECISIONS",
    "AgentApprovalBoundaryKind",
    "AgentApprovalDecisionOutcome",
    "AgentApprovalPlan",
    "AgentApprovalPlanAction",
    "AgentApprovalRequest",
    "ApprovalDecision",
    "ToolDescriptorLike",
]

APPROVAL_REQUEST_KEY = "approval_request"
"""The key under which a state's metadata holds the open request."""


class ToolDescriptorLike(Protocol):
    """What an approval request needs to know of a tool's descriptor."""

    @property
    def name(self) -> str:
        """The tool's schema name."""

    @property
    def description(self) -> str | None:
        """What the tool does, in words."""

    @property
    def metadata(self) -> AgentToolMetadata:
        """What the tool declares."""


class AgentApprovalBoundaryKind(StrEnum):
    """What a run may not do before a person agreed."""

    MODEL_CALL = "model_call"
    TOOL_INVOCATION = "tool_invocation"
    DELEGATION = "delegation"
    FINAL_PUBLICATION = "final_publication"
    EXTERNAL_SIDE_EFFECT = "external_side_effect"
    CONTEXT_TRANSFORMATION = "context_transformation"
    CANCELLATION_RESUME = "cancellation_resume"


@dataclass(frozen=True, slots=True)
class AgentApprovalRequest:
    """A question to a person about one action of a run.

    Attributes:
        id: The request's id; a decision must name it, and it is never used for another call.
        agent_state_id: The run.
        boundary: What sort of action waits.
        prompt: What is asked; without values of arguments.
        risk: The axes of risk of the action.
        action_ref: The action that waits, or the tool's name where it has no id of its own.
        allowed_decisions: The decisions that may be given, each once.
        metadata: Extra data for the person, guarded.
        call_id: The provider's id of the tool call, when the action is one.
        argument_digest: The digest of the guarded arguments that the person saw.

    Raises:
        AgentValueError: A blank text, no decision, or a decision twice.
    """

    id: str
    agent_state_id: str
    boundary: AgentApprovalBoundaryKind
    prompt: str
    risk: ToolRisk
    action_ref: str
    allowed_decisions: tuple[ApprovalDecision, ...] = DEFAULT_APPROVAL_DECISIONS
    metadata: JsonObject = EMPTY_OBJECT
    call_id: str | None = None
    argument_digest: str | None = None

    def __post_init__(self) -> None:
        where = "AgentApprovalRequest"
        require_text(self.id, f"{where}.id")
        require_text(self.agent_state_id, f"{where}.agent_state_id")
        require_member(self.boundary, AgentApprovalBoundaryKind, f"{where}.boundary")
        require_text(self.prompt, f"{where}.prompt")
        require_text(self.action_ref, f"{where}.action_ref")
        require_optional_text(self.call_id, f"{where}.call_id")
        require_optional_text(self.argument_digest, f"{where}.argument_digest")
        store_tuples(self, "allowed_decisions")
        store_objects(self, "metadata")
        for decision in self.allowed_decisions:
            require_member(decision, ApprovalDecision, f"{where}.allowed_decisions")
        if not self.allowed_decisions:
            message = f"{where}.allowed_decisions of {self.id!r} is empty; allow at least one."
            raise AgentValueError(message)
        if len(set(self.allowed_decisions)) < len(self.allowed_decisions):
            message = f"{where}.allowed_decisions of {self.id!r} names a decision twice."
            raise AgentValueError(message)

    @classmethod
    def from_tool_descriptor(
        cls,
        *,
        approval_id: str,
        agent_state_id: str,
        descriptor: ToolDescriptorLike,
        prompt: str | None = None,
        action_ref: str | None = None,
        call_id: str | None = None,
        metadata: JsonObject | None = None,
        argument_digest: str | None = None,
    ) -> Self:
        """Give the request for a call of a tool.

        Args:
            approval_id: The request's id.
            agent_state_id: The run.
            descriptor: The tool.
            prompt: What is asked; None asks by the tool's name and risk.
            action_ref: The action that waits; None names the tool.
            call_id: The provider's id of the call.
            metadata: Extra data for the person, guarded.
            argument_digest: The digest of the guarded arguments.
        """
        risk = descriptor.metadata.risk
        return cls(
            approval_id,
            agent_state_id,
            AgentApprovalBoundaryKind.TOOL_INVOCATION,
            _default_prompt(descriptor.name, risk) if prompt is None else prompt,
            risk,
            descriptor.name if action_ref is None else action_ref,
            metadata=EMPTY_OBJECT if metadata is None else metadata,
            call_id=call_id,
            argument_digest=argument_digest,
        )

    @classmethod
    def from_metadata(cls, metadata: JsonObject) -> Self:
        """Give the request that ``to_metadata`` wrote.

        Raises:
            AgentValueError: A part is missing or has another form.
        """
        try:
            return cls(
                _text(metadata, "id"),
                _text(metadata, "agent_state_id"),
                AgentApprovalBoundaryKind(_text(metadata, "boundary")),
                _text(metadata, "prompt"),
                ToolRisk(tuple(ToolRiskAxis(axis) for axis in _texts(metadata, "risk_axes"))),
                _text(metadata, "action_ref"),
                tuple(ApprovalDecision(item) for item in _texts(metadata, "allowed_decisions")),
                _object(metadata, "metadata"),
                _optional_text(metadata, "call_id"),
                _optional_text(metadata, "argument_digest"),
            )
        except AgentValueError:
            raise
        except ValueError as error:
            message = f"A stored approval request cannot be read: {error}."
            raise AgentValueError(message) from error

    def to_state(self, *, agent_type: str) -> AgentState:
        """Give the state of a run that waits for the decision.

        Args:
            agent_type: The name of the agent's class or spec.
        """
        return AgentState(
            self.agent_state_id,
            agent_type,
            AgentStatus.INTERRUPTED,
            AgentStateTransition.WAITING_APPROVAL,
            AgentStateReason.APPROVAL_REQUIRED,
            metadata={APPROVAL_REQUEST_KEY: self.to_metadata()},
        )

    def to_yield(self) -> AgentYield[Approval]:
        """Give the item that shows the request to the caller of a run."""
        payload = Approval(self.id, self.prompt, self.allowed_decisions, self.to_metadata())
        return AgentYield(AgentYieldKind.APPROVAL, payload)

    def to_metadata(self) -> JsonObject:
        """Give the request as a JSON object, from which ``from_metadata`` makes it again."""
        return {
            "id": self.id,
            "agent_state_id": self.agent_state_id,
            "boundary": self.boundary.value,
            "prompt": self.prompt,
            "risk_axes": tuple(axis.value for axis in self.risk.axes),
            "action_ref": self.action_ref,
            "allowed_decisions": tuple(decision.value for decision in self.allowed_decisions),
            "metadata": self.metadata,
            "call_id": self.call_id,
            "argument_digest": self.argument_digest,
        }


class AgentApprovalPlanAction(StrEnum):
    """Whether an action may run at once or waits for a person."""

    PROCEED = "proceed"
    WAIT_FOR_APPROVAL = "wait_for_approval"


@dataclass(frozen=True, slots=True)
class AgentApprovalPlan:
    """What the approval rule decided about an action.

    Attributes:
        action: Whether it may run at once.
        request: The question, when it waits.
        state: The state of the waiting run.
        yield_item: The item that shows the question.

    Raises:
        AgentValueError: A wait without its three parts, or one of them without a wait.
    """

    action: AgentApprovalPlanAction
    request: AgentApprovalRequest | None = None
    state: AgentState | None = None
    yield_item: AgentYield[Approval] | None = None

    def __post_init__(self) -> None:
        require_member(self.action, AgentApprovalPlanAction, "AgentApprovalPlan.action")
        parts = [part is not None for part in (self.request, self.state, self.yield_item)]
        if parts != [self.requires_approval] * 3:
            message = (
                "AgentApprovalPlan holds request, state and yield_item if and only if its action is"
                f" WAIT_FOR_APPROVAL; this one is {self.action.name}."
            )
            raise AgentValueError(message)

    @property
    def requires_approval(self) -> bool:
        """Whether the action waits for a person."""
        return self.action is AgentApprovalPlanAction.WAIT_FOR_APPROVAL


@dataclass(frozen=True, slots=True)
class AgentApprovalDecisionOutcome:
    """What a person decided, and what it does to the run.

    Attributes:
        request_id: The request that it answers.
        decision: The decision.
        status: The run's status after it.
        transition: The move to that status.
        reason: Why the run does not simply go on, when it does not.
        modified_payload: The arguments to use instead, for MODIFY.
        comment: The person's words.
        result: The outcome to record instead of running the action.
        has_result: Whether ``result`` counts; it may be null.
        decided_by: Who decided.

    Raises:
        AgentValueError: A blank id, a text in place of an enum, or a result without ``has_result``.
    """

    request_id: str
    decision: ApprovalDecision
    status: AgentStatus
    transition: AgentStateTransition
    reason: AgentStateReason | None = None
    modified_payload: JsonObject = EMPTY_OBJECT
    comment: str | None = None
    result: JsonValue = None
    has_result: bool = False
    decided_by: str | None = None

    def __post_init__(self) -> None:
        where = "AgentApprovalDecisionOutcome"
        require_text(self.request_id, f"{where}.request_id")
        require_member(self.decision, ApprovalDecision, f"{where}.decision")
        require_member(self.status, AgentStatus, f"{where}.status")
        require_member(self.transition, AgentStateTransition, f"{where}.transition")
        if self.reason is not None:
            require_member(self.reason, AgentStateReason, f"{where}.reason")
        require_optional_text(self.decided_by, f"{where}.decided_by")
        store_objects(self, "modified_payload")
        if self.result is not None and not self.has_result:
            message = f"{where} of {self.request_id!r} has a result; set has_result=True with it."
            raise AgentValueError(message)


def _default_prompt(name: str, risk: ToolRisk) -> str:
    axes = ", ".join(axis.value.replace("_", " ") for axis in risk.axes)
    if not axes:
        return f"May the agent run the tool {name!r}?"
    return f"May the agent run the tool {name!r}? Its declared risk: {axes}."


def _text(metadata: JsonObject, key: str) -> str:
    value = metadata.get(key)
    if not isinstance(value, str):
        message = f"A stored approval request has no text under {key!r}."
        raise AgentValueError(message)
    return value


def _optional_text(metadata: JsonObject, key: str) -> str | None:
    return None if metadata.get(key) is None else _text(metadata, key)


def _texts(metadata: JsonObject, key: str) -> tuple[str, ...]:
    value = metadata.get(key)
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = f"A stored approval request has no list under {key!r}."
        raise AgentValueError(message)
    return tuple(str(item) for item in value)


def _object(metadata: JsonObject, key: str) -> JsonObject:
    value = metadata.get(key)
    if not isinstance(value, Mapping):
        message = f"A stored approval request has no object under {key!r}."
        raise AgentValueError(message)
    return value
