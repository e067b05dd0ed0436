"""Gathers the context packs of a model request, and lets the application's handler improve them when they go bad."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from spakky.agent.contracts.context import (
    ContextHealthSignal,
    ContextManifest,
    ContextOptimizationAction,
    ContextOptimizationActionKind,
    ContextOptimizationEvidenceStage,
    ContextPack,
    ContextRotSymptom,
)
from spakky.agent.contracts.context_build import build_manifest, estimate_tokens
from spakky.agent.contracts.evidence import AgentEvidenceCandidate
from spakky.agent.loop.frames import Frame
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Outcome, Recorded
from spakky.agent.loop.progress import Progress


@dataclass(slots=True)
class GatheredContext:
    """The packs of one request and the manifest that tells how they were put together."""

    packs: tuple[ContextPack, ...] = ()
    manifest: ContextManifest | None = None


async def gather_context(
    kit: RunKit, progress: Progress, into: GatheredContext
) -> AsyncGenerator[Frame | Outcome, None]:
    """Gather the packs of the input and of the provider; ask the handler what to do about unhealthy ones.

    Each action of the handler is put on record before and after it is carried out. The core drops the packs that
    CONTEXT_SLICE_DROP names; the other kinds are carried out by the handler itself, and are recorded here.
    """
    packs = kit.run_input.context
    if kit.context_provider is not None:
        provided = await kit.gate.wait(kit.context_provider.provide_context(kit.run_input))
        packs = (*packs, *provided)
    if not packs:
        return
    manifest = build_manifest(f"{progress.run_id}/context/{progress.step}", packs)
    signals = over_budget_signals(packs, manifest)
    actions: Sequence[ContextOptimizationAction] = ()
    if kit.context_handler is not None and signals:
        actions = await kit.gate.wait(
            kit.context_handler.select_optimization_actions(signals, manifest)
        )
    for action in actions:
        yield _record(action, ContextOptimizationEvidenceStage.BEFORE, signals)
        packs = apply_action(packs, action)
        yield _record(action, ContextOptimizationEvidenceStage.AFTER, signals)
    if actions:
        manifest = build_manifest(manifest.id, packs)
    into.packs, into.manifest = packs, manifest


def over_budget_signals(
    packs: Sequence[ContextPack], manifest: ContextManifest
) -> tuple[ContextHealthSignal, ...]:
    """Give one signal for each pack whose text is longer than its own token budget."""
    return tuple(
        ContextHealthSignal(
            id=f"{manifest.id}/over_budget/{pack.id}",
            symptom=ContextRotSymptom.OVER_BUDGET,
            manifest_ref=manifest.id,
            pack_id=pack.id,
        )
        for pack in packs
        if pack.token_budget.max_tokens is not None
        and estimate_tokens(pack.content) > pack.token_budget.max_tokens
    )


def apply_action(
    packs: tuple[ContextPack, ...], action: ContextOptimizationAction
) -> tuple[ContextPack, ...]:
    """Carry out an action as far as the core can: a dropped slice leaves the request, never the store."""
    if action.kind is not ContextOptimizationActionKind.CONTEXT_SLICE_DROP:
        return packs
    return tuple(pack for pack in packs if pack.id not in action.target_pack_ids)


def _record(
    action: ContextOptimizationAction,
    stage: ContextOptimizationEvidenceStage,
    signals: Sequence[ContextHealthSignal],
) -> Recorded:
    named = [
        signal for signal in signals if not action.signal_refs or signal.id in action.signal_refs
    ]
    candidate = AgentEvidenceCandidate.context_optimization(
        action=action, stage=stage, signals=named
    )
    return Recorded((candidate,))
