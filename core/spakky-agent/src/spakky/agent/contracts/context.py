"""What a model is given to know beside its dialogue: packs of text with their origin, and records
of how they were put together.

The records of a context's health are in ``context_health`` and given on from here.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Never

from spakky.agent.checks import require_not_negative, require_optional_text, require_text
from spakky.agent.contracts.context_checks import require_finite, require_zone, to_text_tuple
from spakky.agent.contracts.context_health import (
    ContextHealthSignal,
    ContextOptimizationAction,
    ContextOptimizationActionKind,
    ContextOptimizationEvidenceStage,
    ContextRotSymptom,
)
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.field_paths import path_reaches_value
from spakky.agent.guards.redact import redact_fields
from spakky.agent.guards.sensitive import REDACTED_TEXT, SensitiveFieldDescriptor
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue, freeze_object

__all__ = [
    "ContextDigest",
    "ContextFreshness",
    "ContextHealthSignal",
    "ContextManifest",
    "ContextManifestEntry",
    "ContextOptimizationAction",
    "ContextOptimizationActionKind",
    "ContextOptimizationEvidenceStage",
    "ContextPack",
    "ContextPackRole",
    "ContextRotSymptom",
    "ContextSensitivity",
    "ContextTokenBudget",
]

_NOTHING_EXPOSED = ContextExposurePolicy()


class ContextPackRole(StrEnum):
    """What a pack is for."""

    SYSTEM = "system"
    INSTRUCTION = "instruction"
    TASK = "task"
    STATE = "state"
    EVIDENCE = "evidence"
    TOOL_RESULT = "tool_result"
    DELEGATION = "delegation"
    MEMORY = "memory"


class ContextFreshness(StrEnum):
    """How old a pack's content is, as its supplier judges."""

    CURRENT = "current"
    RECENT = "recent"
    STALE = "stale"
    UNKNOWN = "unknown"


class ContextSensitivity(StrEnum):
    """How sensitive a pack is as a whole. The content of a ``REDACTED`` pack is never shown."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    SENSITIVE = "sensitive"
    REDACTED = "redacted"


@dataclass(frozen=True, slots=True)
class ContextTokenBudget:
    """How many tokens a pack may take, and is thought to take.

    Attributes:
        max_tokens: The most that the pack may take; None sets no bound.
        estimated_tokens: What it is thought to take; None when nobody has estimated.
        reserved_output_tokens: What must stay free for the answer.

    Raises:
        AgentValueError: A number below zero.
    """

    max_tokens: int | None = None
    estimated_tokens: int | None = None
    reserved_output_tokens: int | None = None

    def __post_init__(self) -> None:
        require_not_negative(self.max_tokens, "ContextTokenBudget.max_tokens")
        require_not_negative(self.estimated_tokens, "ContextTokenBudget.estimated_tokens")
        require_not_negative(
            self.reserved_output_tokens, "ContextTokenBudget.reserved_output_tokens"
        )

    def to_metadata(self) -> JsonObject:
        """Give the budget as a JSON object with the three fields."""
        return freeze_object(
            {
                "max_tokens": self.max_tokens,
                "estimated_tokens": self.estimated_tokens,
                "reserved_output_tokens": self.reserved_output_tokens,
            }
        )


_NO_BUDGET = ContextTokenBudget()


@dataclass(frozen=True, slots=True)
class ContextPack:
    """One piece of context for a model, with what is known about it.

    Attributes:
        id: Names the pack within its request.
        content: The raw text, no part of the ``repr``; use ``guarded_content`` for anything that
            leaves the process.
        source: Where it comes from, for example ``crm`` or ``docs-search``.
        role: What it is for.
        freshness: How old it is.
        relevance: How well it fits, on the scale of its supplier; finite.
        token_budget: What it may take.
        sensitivity: How sensitive it is as a whole.
        sensitive_fields: Where marked values lie when the content is a JSON object. The empty path,
            a path that does not lead to a value, or a content that is no JSON object hides the
            whole content.
        metadata: Extra data of the supplier, for example ``origin_ref`` and ``evidence_ref`` for
            the manifest.

    Raises:
        AgentValueError: A blank id or source, a content that is no text, or a relevance that is not
            finite.
    """

    id: str
    content: str = field(repr=False)
    source: str
    role: ContextPackRole
    freshness: ContextFreshness = ContextFreshness.UNKNOWN
    relevance: float | None = None
    token_budget: ContextTokenBudget = _NO_BUDGET
    sensitivity: ContextSensitivity = ContextSensitivity.INTERNAL
    sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = ()
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "ContextPack.id")
        require_text(self.source, "ContextPack.source")
        if not isinstance(self.content, str):
            kind = type(self.content).__name__
            message = f"ContextPack.content of {self.id!r} must be text, not {kind}."
            raise AgentValueError(message)
        require_finite(self.relevance, "ContextPack.relevance")
        object.__setattr__(self, "sensitive_fields", tuple(self.sensitive_fields))
        object.__setattr__(self, "metadata", freeze_object(self.metadata))

    def guarded_content(self, policy: ContextExposurePolicy | None = None) -> str:
        """Give the content without the values that the policy does not expose.

        Args:
            policy: What may be seen; None exposes nothing that is marked. No policy shows a
                ``REDACTED`` pack.
        """
        if self.sensitivity is ContextSensitivity.REDACTED:
            return REDACTED_TEXT
        exposed = _NOTHING_EXPOSED if policy is None else policy
        hidden = [
            item for item in self.sensitive_fields if not exposed.can_expose_value(item.field)
        ]
        if not hidden:
            return self.content
        whole = next((item.field for item in hidden if not item.path), None)
        if whole is not None:
            return whole.guard_text(self.content)
        parsed = _parse_object(self.content)
        if parsed is None or not all(path_reaches_value(parsed, item.path) for item in hidden):
            return REDACTED_TEXT
        guarded = redact_fields(parsed, hidden, exposed.can_expose_value)
        return json.dumps(guarded, ensure_ascii=False)

    def message_metadata(self, policy: ContextExposurePolicy | None = None) -> JsonObject:
        """Give what is known about the pack as the metadata of its message.

        ``pack_metadata`` of a pack that is sensitive, redacted or has sensitive fields, and
        ``sensitive_fields``, are there only when the policy includes sensitive context metadata.
        """
        exposed = _NOTHING_EXPOSED if policy is None else policy
        metadata: dict[str, JsonValue] = {
            "context_pack_id": self.id,
            "source": self.source,
            "role": self.role.value,
            "freshness": self.freshness.value,
            "relevance": self.relevance,
            "token_budget": self.token_budget.to_metadata(),
            "sensitivity": self.sensitivity.value,
        }
        if exposed.include_sensitive_context_metadata:
            metadata["sensitive_fields"] = [item.to_metadata() for item in self.sensitive_fields]
        if exposed.include_sensitive_context_metadata or not self._is_sensitive():
            metadata["pack_metadata"] = self.metadata
        return freeze_object(metadata)

    def _is_sensitive(self) -> bool:
        closed = {ContextSensitivity.SENSITIVE, ContextSensitivity.REDACTED}
        return bool(self.sensitive_fields) or self.sensitivity in closed


@dataclass(frozen=True, slots=True)
class ContextManifestEntry:
    """What a manifest says about one pack.

    Attributes:
        pack_id: The pack.
        source: Where it came from.
        role: What it was for.
        origin_ref: Names the original, so that it can be read again.
        evidence_ref: The evidence that holds the original.
        digest_ref: The digest that stood in its place, when it was compressed.
        sensitive_fields: Where marked values lay.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank text.
    """

    pack_id: str
    source: str
    role: ContextPackRole
    origin_ref: str
    evidence_ref: str | None = None
    digest_ref: str | None = None
    sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = ()
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.pack_id, "ContextManifestEntry.pack_id")
        require_text(self.source, "ContextManifestEntry.source")
        require_text(self.origin_ref, "ContextManifestEntry.origin_ref")
        require_optional_text(self.evidence_ref, "ContextManifestEntry.evidence_ref")
        require_optional_text(self.digest_ref, "ContextManifestEntry.digest_ref")
        object.__setattr__(self, "sensitive_fields", tuple(self.sensitive_fields))
        object.__setattr__(self, "metadata", freeze_object(self.metadata))


@dataclass(frozen=True, slots=True)
class ContextManifest:
    """How the packs of one request were put together: the unit of audit.

    Attributes:
        id: Names the manifest; evidence refers to it.
        entries: One for each pack, in the order of the request; pack ids are unique.
        origin_ref: Names what the whole was made from.
        evidence_refs: Evidence that belongs to the whole.
        created_at: When it was made, with a time zone.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank text, two entries for one pack, or a time without a zone.
    """

    id: str
    entries: Sequence[ContextManifestEntry]
    origin_ref: str | None = None
    evidence_refs: Sequence[str] = ()
    created_at: datetime | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "ContextManifest.id")
        require_optional_text(self.origin_ref, "ContextManifest.origin_ref")
        require_zone(self.created_at, "ContextManifest.created_at")
        object.__setattr__(self, "entries", tuple(self.entries))
        object.__setattr__(
            self,
            "evidence_refs",
            to_text_tuple(self.evidence_refs, "ContextManifest.evidence_refs"),
        )
        object.__setattr__(self, "metadata", freeze_object(self.metadata))
        seen: set[str] = set()
        for entry in self.entries:
            if entry.pack_id in seen:
                message = (
                    f"ContextManifest {self.id!r} has two entries for the pack {entry.pack_id!r}; "
                    "pack ids must be unique."
                )
                raise AgentValueError(message)
            seen.add(entry.pack_id)


@dataclass(frozen=True, slots=True)
class ContextDigest:
    """A shorter form of some packs. It is derived evidence: the originals stay and are named here.

    Attributes:
        id: Names the digest.
        context_identity: Names the context that it stands for.
        source_manifest_ref: The manifest of the originals.
        digest: The hash or other short form.
        derived_from_pack_ids: The packs that it was made from.
        compression_evidence_ref: The evidence of the compression.
        algorithm: How it was made, for example ``sha256`` or ``model-summary``.
        summary: A text for the model.
        created_at: When it was made, with a time zone.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank text, or a time without a zone.
    """

    id: str
    context_identity: str
    source_manifest_ref: str
    digest: str
    derived_from_pack_ids: Sequence[str] = ()
    compression_evidence_ref: str | None = None
    algorithm: str | None = None
    summary: str | None = None
    created_at: datetime | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "ContextDigest.id")
        require_text(self.context_identity, "ContextDigest.context_identity")
        require_text(self.source_manifest_ref, "ContextDigest.source_manifest_ref")
        require_text(self.digest, "ContextDigest.digest")
        require_optional_text(
            self.compression_evidence_ref, "ContextDigest.compression_evidence_ref"
        )
        require_optional_text(self.algorithm, "ContextDigest.algorithm")
        require_optional_text(self.summary, "ContextDigest.summary")
        require_zone(self.created_at, "ContextDigest.created_at")
        packs = to_text_tuple(self.derived_from_pack_ids, "ContextDigest.derived_from_pack_ids")
        object.__setattr__(self, "derived_from_pack_ids", packs)
        object.__setattr__(self, "metadata", freeze_object(self.metadata))


def _parse_object(text: str) -> dict[str, JsonValue] | None:
    """Give the JSON object that a text holds; None for any other text."""
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _refuse_constant(name: str) -> Never:
    message = f"{name} is no JSON number."
    raise ValueError(message)
