"""Ends a stretch of a run: finishes a cancellation, records the dialogue, decodes the output."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from spakky.agent.contracts.cancellation import AgentCancellationCleanupReport
from spakky.agent.contracts.model_message import ModelMessageRole
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.error import AgentRunRefusedError
from spakky.agent.loop.children import ChildOrder
from spakky.agent.loop.do_delegate import child_run_id
from spakky.agent.loop.frames import ChildShown, Frame, TextShown
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import CleanedUp, Outcome, Settled
from spakky.agent.loop.progress import CallState, Completed, Progress
from spakky.agent.loop.steps import Settle


async def clean_up(kit: RunKit, progress: Progress) -> AsyncGenerator[Frame | Outcome, None]:
    """Cancel the child runs that are open, and report what came of stopping everything else."""
    signal_id = kit.run_id if progress.cancel is None else progress.cancel.signal_id
    for call in progress.open_calls:
        if call.delegate is not None and call.delegate in kit.local_teammates:
            async with aclosing(_cancel_child(kit, call, signal_id)) as frames:
                async for frame in frames:
                    yield frame
    yield CleanedUp(
        AgentCancellationCleanupReport(
            state_id=kit.run_id, signal_id=signal_id, outcomes=tuple(kit.cleanups)
        )
    )


async def _cancel_child(
    kit: RunKit, call: CallState, signal_id: str
) -> AsyncGenerator[Frame | Outcome, None]:
    """Hand the cancellation on to a child run that was started, and let it end by it."""
    child = child_run_id(call)
    await kit.journal.send(
        AgentSignal(
            f"{signal_id}/{child}", child, AgentSignalKind.CANCEL, {"reason": "parent cancelled"}
        )
    )
    order = ChildOrder(call.delegate or "", RunAgentInput(child, "", resume=True))
    try:
        async with aclosing(kit.open_child(order)) as events:
            async for event in events:
                yield ChildShown(event)
    except AgentRunRefusedError:
        # The child was never stored, so there is nothing to cancel.
        return


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
    answer = ending.answer
    if kit.exposure.shows_only_final and answer.text:
        # Nothing of it was shown while it streamed in, and only now it is certain to be the run's answer.
        yield TextShown(answer.message_id, answer.text)
    stored = answer.output
    yield Settled(ending, kit.output.decode(stored), stored)


def first_instruction(progress: Progress) -> str:
    """Give the instruction that the run began with."""
    return next((m.content for m in progress.transcript if m.role is ModelMessageRole.USER), "")
