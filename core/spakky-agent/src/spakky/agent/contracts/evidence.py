"""Append-only grounds of what a run did, and the candidates from which they are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self, assert_never

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.construction import (
    require_aware,
    require_member,
    store_objects,
    store_tuples,
)
from spakky.agent.contracts.context import (
    ContextHealthSignal,
    ContextOptimizationAction,
    ContextOptimizationEvidenceStage,
)
from spakky.agent.contracts.tool_metadata import EvidenceCapture
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.redact import redact_fields, redact_text, sensitive_values
from spakky.agent.guards.sensitive import SensitiveFieldDescriptor
from spakky.agent.json_value import (
    EMPTY_OBJECT,
    JsonObject,
    JsonValue,
    digest_value,
    dump_canonical,
)


class AgentEvidenceKind(StrEnum):
    """What a piece of evidence is about."""

    ACTION_BOUNDARY = "action_boundary"
    MODEL = "model"
    TOOL = "tool"
    CONTEXT = "context"
    CONTEXT_MANIFEST = "context_manifest"
    CONTEXT_DIGEST = "context_digest"
    CONTEXT_OPTIMIZATION = "context_optimization"
    EVALUATION = "evaluation"
    APPROVAL = "approval"
    CANCELLATION = "cancellation"
    DELEGATION = "delegation"
    OUTPUT_GUARD = "output_guard"


@dataclass(frozen=True, slots=True)
class AgentEvidence:
    """One stored ground of a run. It is never changed; a correction is another piece of evidence.

    Attributes:
        id: Unique over all runs.
        agent_state_id: The run.
        kind: What it is about.
        payload: The facts, guarded.
        summary: The same in words, guarded.
        digest: The digest of what the payload stands for, as ``digest_value`` gives it.
        manifest_ref: The context manifest that it belongs to.
        reference: Where the original is kept, or what it refers to.
        sensitive_fields: What was guarded; never the values.
        created_at: When it was stored; the store fills it in.

    Raises:
        AgentValueError: A blank id or reference, a kind that is no member, or a naive time.
    """

    id: str
    agent_state_id: str
    kind: AgentEvidenceKind
    payload: JsonObject = EMPTY_OBJECT
    summary: str | None = None
    digest: str | None = None
    manifest_ref: str | None = None
    reference: str | None = None
    sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = ()
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        require_text(self.id, "AgentEvidence.id")
        require_text(self.agent_state_id, "AgentEvidence.agent_state_id")
        require_member(self.kind, AgentEvidenceKind, "AgentEvidence.kind")
        require_optional_text(self.digest, "AgentEvidence.digest")
        require_optional_text(self.manifest_ref, "AgentEvidence.manifest_ref")
        require_optional_text(self.reference, "AgentEvidence.reference")
        require_aware(self.created_at, "AgentEvidence.created_at")
        store_objects(self, "payload")
        store_tuples(self, "sensitive_fields")


@dataclass(frozen=True, slots=True)
class AgentEvidenceCandidate:
    """Evidence before it has an id, a run and a time.

    Attributes:
        kind: What it is about.
        payload: The facts, guarded.
        summary: The same in words, guarded.
        digest: The digest of what the payload stands for.
        manifest_ref: The context manifest that it belongs to.
        reference: Where the original is kept, or what it refers to.
        sensitive_fields: What was guarded; never the values.

    Raises:
        AgentValueError: A kind that is no member, or a blank reference.
    """

    kind: AgentEvidenceKind
    payload: JsonObject = EMPTY_OBJECT
    summary: str | None = None
    digest: str | None = None
    manifest_ref: str | None = None
    reference: str | None = None
    sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = ()

    def __post_init__(self) -> None:
        require_member(self.kind, AgentEvidenceKind, "AgentEvidenceCandidate.kind")
        require_optional_text(self.digest, "AgentEvidenceCandidate.digest")
        require_optional_text(self.manifest_ref, "AgentEvidenceCandidate.manifest_ref")
        require_optional_text(self.reference, "AgentEvidenceCandidate.reference")
        store_objects(self, "payload")
        store_tuples(self, "sensitive_fields")

    @classmethod
    def tool_result(
        cls,
        *,
        tool_identity: str,
        tool_schema_name: str,
        result: JsonObject,
        capture: EvidenceCapture,
        sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = (),
        exposure_policy: EvidenceExposurePolicy | None = None,
        summary: str | None = None,
    ) -> Self:
        """Give the evidence of a tool's result, as much of it as the tool's capture setting keeps.

        Sensitive values are replaced before anything else is made of the result, its digest and size
        included. NONE keeps that the tool answered; REFERENCE_ONLY adds the digest; SUMMARY the
        digest, the size and a sentence; STRUCTURED and RAW the result with the values that the policy
        allows; REDACTED the result without any sensitive value.

        Args:
            tool_identity: The tool's identity key.
            tool_schema_name: The tool's name in schemas.
            result: The result as a JSON object.
            capture: What to keep.
            sensitive_fields: Descriptors whose paths start at the result.
            exposure_policy: What evidence may show; None shows nothing sensitive.
            summary: A sentence about the result; without one SUMMARY writes its own.

        Raises:
            AgentValueError: The result holds something that is no JSON.
        """
        policy = EvidenceExposurePolicy() if exposure_policy is None else exposure_policy
        if capture is EvidenceCapture.REDACTED:
            hidden = sensitive_fields
        else:
            hidden = tuple(f for f in sensitive_fields if not policy.can_expose_value(f.field))
        kept = _KeptResult.of(result, hidden, capture, tool_schema_name)
        sentence = kept.sentence if summary is None else kept.guard_summary(summary)
        payload: dict[str, JsonValue] = {
            "tool_identity": tool_identity,
            "tool_schema_name": tool_schema_name,
            "capture": capture.value,
            **kept.facts,
        }
        if capture is EvidenceCapture.SUMMARY:
            payload["summary"] = sentence
        return cls(
            AgentEvidenceKind.TOOL,
            payload,
            summary=sentence,
            digest=kept.digest,
            sensitive_fields=sensitive_fields if policy.include_sensitive_metadata else (),
        )

    @classmethod
    def model_decision(
        cls, *, model: str, decision: JsonObject, summary: str | None = None
    ) -> Self:
        """Give the evidence of what a model decided; the caller guards the decision.

        Args:
            model: The model's name, as far as it is known.
            decision: What it decided, for example the calls that it asked for.
            summary: The same in words.
        """
        payload: JsonObject = {"model": model, "decision": decision}
        digest = _digest_of(decision, f"The decision of model {model!r}")
        return cls(AgentEvidenceKind.MODEL, payload, summary=summary, digest=digest)

    @classmethod
    def tool_decision(
        cls, *, tool_identity: str, decision: JsonObject, summary: str | None = None
    ) -> Self:
        """Give the evidence of what was decided about a tool call; the caller guards the decision.

        Args:
            tool_identity: The tool's identity key.
            decision: What was decided, for example that it was refused, and why.
            summary: The same in words.
        """
        payload: JsonObject = {"tool_identity": tool_identity, "decision": decision}
        digest = _digest_of(decision, f"The decision about tool {tool_identity!r}")
        return cls(AgentEvidenceKind.TOOL, payload, summary=summary, digest=digest)

    @classmethod
    def context_optimization(
        cls,
        *,
        action: ContextOptimizationAction,
        stage: ContextOptimizationEvidenceStage,
        signals: Sequence[ContextHealthSignal] = (),
        summary: str | None = None,
    ) -> Self:
        """Give the evidence that stands before or after an optimisation of the context.

        Args:
            action: What is done.
            stage: Whether it is about to be done, or was.
            signals: The health signals that led to it.
            summary: The same in words.
        """
        payload: JsonObject = {
            "stage": stage.value,
            "action": action.evidence_payload(),
            "signals": tuple(signal.evidence_payload() for signal in signals),
        }
        return cls(
            AgentEvidenceKind.CONTEXT_OPTIMIZATION,
            payload,
            summary=summary,
            manifest_ref=action.manifest_ref,
            reference=action.result_evidence_ref,
        )

    def to_evidence(
        self, *, evidence_id: str, agent_state_id: str, created_at: datetime | None = None
    ) -> AgentEvidence:
        """Give the evidence to append.

        Args:
            evidence_id: Its id, unique over all runs.
            agent_state_id: The run.
            created_at: When it was made; None leaves it to the store.
        """
        return AgentEvidence(
            evidence_id,
            agent_state_id,
            self.kind,
            self.payload,
            summary=self.summary,
            digest=self.digest,
            manifest_ref=self.manifest_ref,
            reference=self.reference,
            sensitive_fields=self.sensitive_fields,
            created_at=created_at,
        )


@dataclass(frozen=True, slots=True)
class _KeptResult:
    """What the capture setting keeps of a tool's result.

    Attributes:
        facts: The part of the payload that is made of the result.
        digest: The digest of the guarded result; None when nothing of it is kept.
        sentence: A summary of our own, where one is due.
        values: The raw texts that no summary may repeat.
    """

    facts: JsonObject
    digest: str | None
    sentence: str | None
    values: tuple[str, ...]

    @classmethod
    def of(
        cls,
        result: JsonObject,
        hidden: Sequence[SensitiveFieldDescriptor],
        capture: EvidenceCapture,
        tool_schema_name: str,
    ) -> Self:
        values = sensitive_values(result, hidden)
        if capture is EvidenceCapture.NONE:
            return cls(EMPTY_OBJECT, None, None, values)
        guarded = redact_fields(result, hidden, lambda _field: False)
        digest = _digest_of(guarded, f"The result of tool {tool_schema_name!r}")
        match capture:
            case EvidenceCapture.REFERENCE_ONLY:
                return cls({"digest": digest}, digest, None, values)
            case EvidenceCapture.SUMMARY:
                size = len(dump_canonical(guarded))
                sentence = f"{tool_schema_name} answered with {size} characters of JSON."
                return cls({"digest": digest, "size": size}, digest, sentence, values)
            case EvidenceCapture.STRUCTURED | EvidenceCapture.RAW | EvidenceCapture.REDACTED:
                return cls({"digest": digest, "result": guarded}, digest, None, values)
            case _:
                assert_never(capture)

    def guard_summary(self, summary: str) -> str:
        return redact_text(summary, self.values)


def _digest_of(value: JsonValue, where: str) -> str:
    try:
        return digest_value(value)
    except (TypeError, ValueError, RecursionError):
        message = (
            f"{where} is not JSON; it must hold only objects with text keys, arrays, texts,"
            " finite numbers, true, false and null."
        )
        raise AgentValueError(message) from None
