"""Ends a stretch of a run: finishes a cancellation, records the dialogue, decodes the output."""

from collections.abc import AsyncGenerator

from spakky.agent.contracts.cancellation import AgentCancellationCleanupReport
from spakky.agent.contracts.model_message import ModelMessageRole
from spakky.agent.loop.frames import Frame
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import CleanedUp, Outcome, Settled
from spakky.agent.loop.progress import Completed, Progress
from spakky.agent.loop.steps import Settle


async def clean_up(kit: RunKit, progress: Progress) -> AsyncGenerator[Frame | Outcome, None]:
    """Report what came of stopping what ran; nothing runs any more when this step comes."""
    signal_id = kit.run_id if progress.cancel is None else progress.cancel.signal_id
    yield CleanedUp(
        AgentCancellationCleanupReport(
            state_id=kit.run_id, signal_id=signal_id, outcomes=tuple(kit.cleanups)
        )
    )


async def settle_run(
    kit: RunKit, progress: Progress, step: Settle
) -> AsyncGenerator[Frame | Outcome, None]:
    """Settle the stretch. A completed run's turns join the dialogue before the run is marked as completed."""
    ending = step.ending
    if not isinstance(ending, Completed):
        yield Settled(ending)
        return
    if kit.dialogue.keeps_turns:
        await kit.dialogue.record(
            first_instruction(progress), ending.answer.text, again=progress.resumed
        )
    stored = ending.answer.output
    yield Settled(ending, kit.output.decode(stored), stored)


def first_instruction(progress: Progress) -> str:
    """Give the instruction that the run began with."""
    return next((m.content for m in progress.transcript if m.role is ModelMessageRole.USER), "")
