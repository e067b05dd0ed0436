"""Symptoms of a context that has gone bad, and what is done about them.

They speak of quality and budget only: nothing here judges whether a text is hostile, and nothing
blocks a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.context_checks import require_finite, require_zone, to_text_tuple
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, freeze_object


class ContextRotSymptom(StrEnum):
    """In which way a context has gone bad."""

    STALE = "stale"
    CONTRADICTORY = "contradictory"
    LOW_RELEVANCE = "low_relevance"
    OVER_BUDGET = "over_budget"
    POLLUTED = "polluted"


class ContextOptimizationActionKind(StrEnum):
    """What is done about a context that has gone bad."""

    COMPRESSION = "compression"
    RETRIEVAL_REFRESH = "retrieval_refresh"
    DELEGATION = "delegation"
    CONTEXT_SLICE_DROP = "context_slice_drop"


class ContextOptimizationEvidenceStage(StrEnum):
    """Whether a record was made before or after an optimisation."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class ContextHealthSignal:
    """A symptom of a context that has gone bad.

    Attributes:
        id: Names the signal; actions refer to it.
        symptom: What is wrong.
        manifest_ref: The manifest that it is about.
        pack_id: The pack that it is about.
        evidence_ref: Evidence for it.
        score: How bad, on the scale of whoever raised it; finite.
        observed_at: When it was seen, with a time zone.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank text, a score that is not finite, or a time without a zone.
    """

    id: str
    symptom: ContextRotSymptom
    manifest_ref: str | None = None
    pack_id: str | None = None
    evidence_ref: str | None = None
    score: float | None = None
    observed_at: datetime | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "ContextHealthSignal.id")
        require_optional_text(self.manifest_ref, "ContextHealthSignal.manifest_ref")
        require_optional_text(self.pack_id, "ContextHealthSignal.pack_id")
        require_optional_text(self.evidence_ref, "ContextHealthSignal.evidence_ref")
        require_finite(self.score, "ContextHealthSignal.score")
        require_zone(self.observed_at, "ContextHealthSignal.observed_at")
        object.__setattr__(self, "metadata", freeze_object(self.metadata))

    def evidence_payload(self) -> JsonObject:
        """Give the signal as the payload of evidence."""
        return freeze_object(
            {
                "id": self.id,
                "symptom": self.symptom.value,
                "manifest_ref": self.manifest_ref,
                "pack_id": self.pack_id,
                "evidence_ref": self.evidence_ref,
                "score": self.score,
                "observed_at": None if self.observed_at is None else self.observed_at.isoformat(),
                "metadata": self.metadata,
            }
        )


@dataclass(frozen=True, slots=True)
class ContextOptimizationAction:
    """What is done about a context, and because of which signals. It never changes an original.

    Attributes:
        id: Names the action.
        kind: What is done.
        signal_refs: The signals that asked for it.
        target_pack_ids: The packs that it is done to.
        manifest_ref: The manifest that it is about.
        digest_ref: The digest that a compression made.
        delegation_ref: The packet that a delegation sent.
        result_evidence_ref: Evidence of the result.
        reason: Why, for people.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank text.
    """

    id: str
    kind: ContextOptimizationActionKind
    signal_refs: Sequence[str] = ()
    target_pack_ids: Sequence[str] = ()
    manifest_ref: str | None = None
    digest_ref: str | None = None
    delegation_ref: str | None = None
    result_evidence_ref: str | None = None
    reason: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        where = "ContextOptimizationAction"
        require_text(self.id, f"{where}.id")
        require_optional_text(self.manifest_ref, f"{where}.manifest_ref")
        require_optional_text(self.digest_ref, f"{where}.digest_ref")
        require_optional_text(self.delegation_ref, f"{where}.delegation_ref")
        require_optional_text(self.result_evidence_ref, f"{where}.result_evidence_ref")
        require_optional_text(self.reason, f"{where}.reason")
        object.__setattr__(
            self, "signal_refs", to_text_tuple(self.signal_refs, f"{where}.signal_refs")
        )
        object.__setattr__(
            self, "target_pack_ids", to_text_tuple(self.target_pack_ids, f"{where}.target_pack_ids")
        )
        object.__setattr__(self, "metadata", freeze_object(self.metadata))

    def evidence_payload(self) -> JsonObject:
        """Give the action as the payload of evidence."""
        return freeze_object(
            {
                "id": self.id,
                "kind": self.kind.value,
                "signal_refs": self.signal_refs,
                "target_pack_ids": self.target_pack_ids,
                "manifest_ref": self.manifest_ref,
                "digest_ref": self.digest_ref,
                "delegation_ref": self.delegation_ref,
                "result_evidence_ref": self.result_evidence_ref,
                "reason": self.reason,
                "metadata": self.metadata,
            }
        )
