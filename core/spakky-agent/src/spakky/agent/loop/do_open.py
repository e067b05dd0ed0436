"""Opens a run: takes its lease, loads or creates it, and works out where a stored one goes on."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import ModelSelection
from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.tool_metadata import ToolResumeAction, ToolResumeMetadata
from spakky.agent.error import AgentRunEndedError, AgentRunRefusedError, AgentRunUnfinishedError
from spakky.agent.json_value import EMPTY_OBJECT, FrozenObject, JsonObject, clean_text
from spakky.agent.loop.checkpoint import load_checkpoint, seed_count
from spakky.agent.loop.frames import Frame, RunStarted
from spakky.agent.loop.journal import StoredRun
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Opened, Outcome, Settled
from spakky.agent.loop.progress import CallStage, CallState, Completed, Phase, Progress
from spakky.agent.loop.show import frames_of
from spakky.agent.rules.history import repair_history
from spakky.agent.rules.lifecycle import CREATED, ENDED, Trigger, decide_move, standing_of

_KEEPS_TURNS_KEY = "keeps_turns"


async def open_run(kit: RunKit, progress: Progress) -> AsyncGenerator[Frame | Outcome, None]:
    """Open the run and say where it stands. An ended run that is resumed shows its stored ending again.

    Raises:
        AgentRunRefusedError: The input does not fit what is stored; nothing was changed.
    """
    stored = await kit.journal.open()
    if stored is None:
        kit.journal.describe(_describe(kit))
        yield Opened(await _create(kit, progress))
        return
    _check_input(kit.run_input, stored)
    kit.run_input = complete_input(kit.run_input, stored.state.metadata)
    kit.dialogue = kit.dialogue.continued(
        kit.run_input.effective_conversation_id,
        keeps_turns=stored.state.metadata.get(_KEEPS_TURNS_KEY) is not False,
    )
    kit.journal.describe(_describe(kit))
    restored = load_checkpoint(
        kit.run_id, stored.state.checkpoint, standing_of(stored.state), stored.transcript
    )
    if stored.state.status in ENDED:
        async with aclosing(_show_again(kit, restored)) as items:
            async for item in items:
                yield item
        return
    seeds = await kit.dialogue.load()
    seeds = seeds[: seed_count(stored.state.checkpoint)]
    yield Opened(reopen(replace(restored, seeds=seeds)))


async def _create(kit: RunKit, progress: Progress) -> Progress:
    run_input = kit.run_input
    if not run_input.instruction.strip():
        message = f"No run has the id {run_input.state_id}, and there is no instruction to start one with; give an instruction, or the state_id of a run to resume."
        raise AgentRunRefusedError(message)
    injected = repair_history(run_input.message_history)
    instruction = ModelMessage(ModelMessageRole.USER, clean_text(run_input.instruction))
    return replace(
        progress,
        phase=Phase.POLLING,
        standing=decide_move(CREATED.status, Trigger.START),
        seeds=() if injected else await kit.dialogue.load(),
        transcript=(*injected, instruction),
    )


def _check_input(run_input: RunAgentInput, stored: StoredRun) -> None:
    if run_input.resume:
        return
    status = stored.state.status
    if status in ENDED:
        message = f"Run {run_input.state_id} is {status.value}; start the new instruction under another state_id, or resume it to see its result again."
        raise AgentRunEndedError(message)
    message = f"Run {run_input.state_id} is {status.value} and has not ended; resume it, or start the new instruction under another state_id."
    raise AgentRunUnfinishedError(message)


async def _show_again(kit: RunKit, restored: Progress) -> AsyncGenerator[Frame | Outcome, None]:
    settled = replace(restored, phase=Phase.SETTLED)
    yield Opened(settled)
    if restored.ending is None:
        message = f"Run {kit.run_id} has ended, but its ending was not stored; look its evidence up, and start another run under another state_id."
        raise AgentRunEndedError(message)
    yield RunStarted(resumed=True)
    outcome = Settled(restored.ending)
    if isinstance(restored.ending, Completed):
        stored = restored.ending.answer.output
        outcome = Settled(restored.ending, kit.output.decode(stored), stored)
    for frame in frames_of(settled, outcome, settled):
        yield frame


def reopen(progress: Progress) -> Progress:
    """Work out where a stored run goes on.

    A model call that was cut off is made again, and counts again. A call whose tool may be repeated is made again under
    the same idempotency key; any other call that was cut off waits for a person. A cancellation is finished.
    """
    if progress.cancel is not None:
        return replace(progress, phase=Phase.CLEANING, ending=None)
    calls = tuple(_reopen_call(call) for call in progress.calls)
    return replace(progress, phase=Phase.POLLING, calls=calls, asking=False, ending=None)


def _reopen_call(call: CallState) -> CallState:
    if call.stage is CallStage.READY and not call.storable:
        # Its secret was stored nowhere, so that only a person can say what becomes of it.
        return replace(call, stage=CallStage.GATED, uncertain=True, request=None)
    if call.stage is not CallStage.STARTED:
        return call
    resume = ToolResumeMetadata(call.idempotency).action_for_incomplete_boundary()
    if resume is ToolResumeAction.RETRY and call.storable:
        return replace(call, stage=CallStage.READY)
    return replace(call, stage=CallStage.GATED, uncertain=True, request=None)


def _describe(kit: RunKit) -> JsonObject:
    return FrozenObject(
        {**describe_input(kit.run_input), _KEEPS_TURNS_KEY: kit.dialogue.keeps_turns}
    )


def describe_input(run_input: RunAgentInput) -> JsonObject:
    """Give what the state row keeps of a run's input, so that a resume needs nothing but the run's id."""
    selection = run_input.model_selection
    return FrozenObject(
        {
            "conversation_id": run_input.conversation_id,
            "parent_run_id": run_input.parent_run_id,
            "model_selection": None
            if selection is None
            else {
                "provider": selection.provider,
                "model": selection.model,
                "profile": selection.profile,
                "metadata": selection.metadata,
            },
            "run_metadata": run_input.metadata,
        }
    )


def complete_input(run_input: RunAgentInput, stored: JsonObject) -> RunAgentInput:
    """Fill what a resuming caller left out with what the run was started with."""
    metadata = stored.get("run_metadata")
    return replace(
        run_input,
        conversation_id=run_input.conversation_id or _text(stored, "conversation_id"),
        parent_run_id=run_input.parent_run_id or _text(stored, "parent_run_id"),
        model_selection=run_input.model_selection or _selection(stored.get("model_selection")),
        metadata={**metadata, **run_input.metadata}
        if isinstance(metadata, dict)
        else run_input.metadata,
    )


def _text(stored: JsonObject, key: str) -> str | None:
    value = stored.get(key)
    return value if isinstance(value, str) else None


def _selection(stored: object) -> ModelSelection | None:
    if not isinstance(stored, dict):
        return None
    metadata = stored.get("metadata")
    return ModelSelection(
        provider=_text(stored, "provider"),
        model=_text(stored, "model"),
        profile=_text(stored, "profile"),
        metadata=metadata if isinstance(metadata, dict) else EMPTY_OBJECT,
    )
