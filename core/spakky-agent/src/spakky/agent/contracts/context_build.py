"""Pure helpers that put a context together: a manifest over packs, and an estimate of tokens."""

from collections.abc import Sequence
from datetime import datetime

from spakky.agent.contracts.context import ContextManifest, ContextManifestEntry, ContextPack

CHARACTERS_PER_TOKEN = 4
"""What the estimate takes for one token; the core knows no tokenizer."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text takes: four characters make one, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def build_manifest(
    manifest_id: str,
    packs: Sequence[ContextPack],
    *,
    origin_ref: str | None = None,
    created_at: datetime | None = None,
) -> ContextManifest:
    """Record how packs were put together, one entry for each in the given order.

    A pack's metadata may name its original under ``origin_ref`` and evidence of it under
    ``evidence_ref``; without the former the pack's source stands in.

    Args:
        manifest_id: Names the manifest.
        packs: The packs of the request.
        origin_ref: Names what the whole was made from.
        created_at: When the manifest was made, with a time zone.

    Raises:
        AgentValueError: A blank id, two packs with one id, or a time without a zone.
    """
    entries = tuple(_manifest_entry(pack) for pack in packs)
    return ContextManifest(manifest_id, entries, origin_ref=origin_ref, created_at=created_at)


def _manifest_entry(pack: ContextPack) -> ContextManifestEntry:
    return ContextManifestEntry(
        pack_id=pack.id,
        source=pack.source,
        role=pack.role,
        origin_ref=_text_at(pack, "origin_ref") or pack.source,
        evidence_ref=_text_at(pack, "evidence_ref"),
        sensitive_fields=pack.sensitive_fields,
    )


def _text_at(pack: ContextPack, key: str) -> str | None:
    value = pack.metadata.get(key)
    return value if isinstance(value, str) and value.strip() else None
