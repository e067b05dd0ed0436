"""Policies that say which marked values, and which facts about them, may be seen where.

A policy looks at the marker only, never at the value, so that its answer is the same in every
process. Nothing is shown unless a flag says so, and no flag shows a secret.
"""

from dataclasses import dataclass

from spakky.agent.guards.sensitive import DataSensitivity, SecretField, SensitiveField


@dataclass(frozen=True, slots=True)
class ContextExposurePolicy:
    """What a model may see.

    Attributes:
        include_pii_values: Show values marked as personal data.
        include_sensitive_values: Show values marked as sensitive that are neither personal data nor
            secrets.
        include_sensitive_schema_metadata: Give tool schemas the ``x-spakky-sensitive`` extension.
        include_sensitive_context_metadata: Give messages made of context packs the descriptors of
            the packs' sensitive fields, and the own metadata of sensitive packs.
    """

    include_pii_values: bool = False
    include_sensitive_values: bool = False
    include_sensitive_schema_metadata: bool = False
    include_sensitive_context_metadata: bool = False

    def can_expose_value(self, field: SensitiveField | SecretField) -> bool:
        """Tell whether the value of a marked field may be shown. A secret may never be."""
        return _can_expose(field, pii=self.include_pii_values, other=self.include_sensitive_values)


@dataclass(frozen=True, slots=True)
class EvidenceExposurePolicy:
    """What evidence, streams and other records for people may hold.

    Attributes:
        include_pii_values: Keep values marked as personal data.
        include_sensitive_values: Keep values marked as sensitive that are neither personal data nor
            secrets.
        include_sensitive_metadata: Keep the descriptors that say where sensitive fields were.
    """

    include_pii_values: bool = False
    include_sensitive_values: bool = False
    include_sensitive_metadata: bool = True

    def can_expose_value(self, field: SensitiveField | SecretField) -> bool:
        """Tell whether the value of a marked field may be kept. A secret may never be."""
        return _can_expose(field, pii=self.include_pii_values, other=self.include_sensitive_values)


def _can_expose(field: SensitiveField | SecretField, *, pii: bool, other: bool) -> bool:
    if field.sensitivity is DataSensitivity.SECRET:
        return False
    return pii if field.sensitivity is DataSensitivity.PII else other
