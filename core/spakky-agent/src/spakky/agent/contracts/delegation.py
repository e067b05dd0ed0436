"""A task handed to another agent: the packet that goes out and the result that comes back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from spakky.agent.checks import require_optional_text, require_positive, require_text
from spakky.agent.contracts.construction import (
    require_aware,
    require_count,
    require_member,
    store_objects,
    store_texts,
    store_tuples,
)
from spakky.agent.contracts.events import AgentEvent
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.yields import AgentYield, AgentYieldKind, Evidence
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class AgentDelegateTarget:
    """The agent that a task is for.

    Attributes:
        agent_type: The name of its class or spec, or the address of its card.
        agent_name: Its name for people.
        metadata: Extra data for the delegate.

    Raises:
        AgentValueError: A blank name.
    """

    agent_type: str
    agent_name: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.agent_type, "AgentDelegateTarget.agent_type")
        require_optional_text(self.agent_name, "AgentDelegateTarget.agent_name")
        store_objects(self, "metadata")

    def to_payload(self) -> JsonObject:
        """Give the target as a JSON object."""
        return {
            "agent_type": self.agent_type,
            "agent_name": self.agent_name,
            "metadata": self.metadata,
        }


@dataclass(frozen=True, slots=True)
class DelegationContextSlice:
    """The part of the parent's context that the child gets.

    Attributes:
        summary: The context in words.
        evidence_refs: Ids of evidence that the child may read.
        manifest_ref: The manifest that the slice was taken from.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank reference.
    """

    summary: str | None = None
    evidence_refs: tuple[str, ...] = ()
    manifest_ref: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_optional_text(self.manifest_ref, "DelegationContextSlice.manifest_ref")
        store_texts(self, "evidence_refs")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class DelegationExpectedOutput:
    """What the parent wants back.

    Attributes:
        description: In words.
        schema: As a JSON schema; empty when any shape will do.
        metadata: Extra data.
    """

    description: str | None = None
    schema: JsonObject = EMPTY_OBJECT
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "schema", "metadata")


@dataclass(frozen=True, slots=True)
class DelegationBudget:
    """What the child may spend; None sets no limit of its own.

    Attributes:
        max_steps: The most model calls, at least one.
        max_tokens: The most tokens, at least one.
        timeout_seconds: The longest time, above zero.
        deadline_at: The point in time at which it must have ended, with a time zone.
        metadata: Extra data.

    Raises:
        AgentValueError: A number outside its range, or a naive time.
    """

    max_steps: int | None = None
    max_tokens: int | None = None
    timeout_seconds: float | None = None
    deadline_at: datetime | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_count(self.max_steps, "DelegationBudget.max_steps", least=1)
        require_count(self.max_tokens, "DelegationBudget.max_tokens", least=1)
        require_positive(self.timeout_seconds, "DelegationBudget.timeout_seconds")
        require_aware(self.deadline_at, "DelegationBudget.deadline_at")
        store_objects(self, "metadata")


class DelegationReturnPolicy(StrEnum):
    """What of the child's work comes back to the parent."""

    SUMMARY = "summary"
    EVIDENCE_REFS = "evidence_refs"
    SUMMARY_AND_EVIDENCE = "summary_and_evidence"
    FINAL_OUTPUT = "final_output"


@dataclass(frozen=True, slots=True)
class DelegationPacket:
    """A task for another agent, with everything that the parent says about it.

    Attributes:
        id: The packet's id.
        parent_agent_state_id: The run that delegates.
        target: Who gets it.
        task: The task as a JSON object.
        context: The part of the parent's context that goes with it.
        constraints: What the child must keep to, in words.
        expected_output: What the parent wants back.
        budget: What the child may spend.
        allowed_capabilities: Schema names of the tools that the child may use; empty sets no limit.
        return_policy: What of the child's work comes back.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank text, or a return policy that is no member.
    """

    id: str
    parent_agent_state_id: str
    target: AgentDelegateTarget
    task: JsonObject
    context: DelegationContextSlice = DelegationContextSlice()
    constraints: tuple[str, ...] = ()
    expected_output: DelegationExpectedOutput = DelegationExpectedOutput()
    budget: DelegationBudget = DelegationBudget()
    allowed_capabilities: tuple[str, ...] = ()
    return_policy: DelegationReturnPolicy = DelegationReturnPolicy.SUMMARY_AND_EVIDENCE
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "DelegationPacket.id")
        require_text(self.parent_agent_state_id, "DelegationPacket.parent_agent_state_id")
        where = "DelegationPacket.return_policy"
        require_member(self.return_policy, DelegationReturnPolicy, where)
        store_texts(self, "constraints", "allowed_capabilities")
        store_objects(self, "task", "metadata")


@dataclass(frozen=True, slots=True)
class DelegationResult:
    """What a delegate gives back. The child's own trace is not part of it.

    Attributes:
        id: The result's id.
        packet_id: The packet that it answers.
        target: Who answered.
        summary: What was done, in words for the parent.
        output: The child's final output as JSON.
        evidence_refs: Ids of the child's evidence.
        metadata: Extra data.
        created_at: When it was made, with a time zone.

    Raises:
        AgentValueError: A blank id or reference, or a naive time.
    """

    id: str
    packet_id: str
    target: AgentDelegateTarget
    summary: str
    output: JsonValue = None
    evidence_refs: tuple[str, ...] = ()
    metadata: JsonObject = EMPTY_OBJECT
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        require_text(self.id, "DelegationResult.id")
        require_text(self.packet_id, "DelegationResult.packet_id")
        require_aware(self.created_at, "DelegationResult.created_at")
        store_texts(self, "evidence_refs")
        store_objects(self, "metadata")

    def to_parent_evidence(self, *, evidence_id: str, parent_agent_state_id: str) -> AgentEvidence:
        """Give the evidence for the parent: the summary and references, not the child's output.

        Args:
            evidence_id: The evidence's id.
            parent_agent_state_id: The run that delegated.
        """
        payload: JsonObject = {
            "result_id": self.id,
            "packet_id": self.packet_id,
            "target": self.target.to_payload(),
            "summary": self.summary,
            "evidence_refs": self.evidence_refs,
            "metadata": self.metadata,
        }
        return AgentEvidence(
            evidence_id,
            parent_agent_state_id,
            AgentEvidenceKind.DELEGATION,
            payload,
            summary=self.summary,
            reference=self.packet_id,
            created_at=self.created_at,
        )

    def to_parent_yield(
        self, *, evidence_id: str, parent_agent_state_id: str
    ) -> AgentYield[Evidence]:
        """Give the item that shows that evidence in the parent's stream.

        Args:
            evidence_id: The evidence's id.
            parent_agent_state_id: The run that delegated.
        """
        evidence = self.to_parent_evidence(
            evidence_id=evidence_id, parent_agent_state_id=parent_agent_state_id
        )
        return AgentYield(AgentYieldKind.EVIDENCE, Evidence(evidence))


@dataclass(frozen=True, slots=True)
class DelegationToolResult:
    """What a delegate tool hands to the parent's loop.

    Attributes:
        summary: What was done, in words for the parent's model.
        output: The child's final output as JSON.
        events: The child's events, for clients; never for the parent's model.
        metadata: Extra data.
    """

    summary: str
    output: JsonValue = None
    events: tuple[AgentEvent, ...] = ()
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_tuples(self, "events")
        store_objects(self, "metadata")

    @classmethod
    def from_result(cls, result: DelegationResult, *, events: tuple[AgentEvent, ...] = ()) -> Self:
        """Give the tool's result for what a delegate gave back.

        Args:
            result: The delegate's result; its ids and references are added to the metadata.
            events: The child's events.
        """
        metadata: JsonObject = {
            **result.metadata,
            "result_id": result.id,
            "packet_id": result.packet_id,
            "evidence_refs": result.evidence_refs,
        }
        return cls(result.summary, result.output, events, metadata)
