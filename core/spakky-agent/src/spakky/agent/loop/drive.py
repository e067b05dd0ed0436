"""The loop: decide on a step, put its intent on disk, carry it out, fold what came of it, put that on disk, show it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import assert_never

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.error import AgentPersistenceError
from spakky.agent.loop.decide import anticipate, begin, decide
from spakky.agent.loop.do_inbox import read_inbox
from spakky.agent.loop.do_model import ask_model
from spakky.agent.loop.do_open import open_run
from spakky.agent.loop.do_people import ask_people
from spakky.agent.loop.do_settle import clean_up, settle_run
from spakky.agent.loop.do_tools import run_calls
from spakky.agent.loop.facts import facts_begun, facts_of
from spakky.agent.loop.fold import fold
from spakky.agent.loop.frames import ApprovalAsked, EvidenceShown, Frame, RunFailed
from spakky.agent.loop.guard_outcome import guard_outcome
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Outcome, Settled
from spakky.agent.loop.progress import Abandoned, Completed, Ending, Paused, Phase, Progress
from spakky.agent.loop.show import asks_of, frames_of
from spakky.agent.loop.steps import (
    ACTING,
    AskModel,
    AskPeople,
    CleanUp,
    OpenRun,
    ReadInbox,
    RunCalls,
    Settle,
    Step,
)

_QUIET = frozenset({AgentEvidenceKind.ACTION_BOUNDARY, AgentEvidenceKind.APPROVAL})
_UNSTOPPABLE = frozenset({Phase.OPENING, Phase.CLEANING, Phase.SETTLING, Phase.SETTLED})


class Drive:
    """Drives one run. ``progress`` is where it stands at any moment, for whoever has to let go of it.

    Args:
        kit: What the executors work with.
        progress: Where the run begins.
    """

    def __init__(self, kit: RunKit, progress: Progress) -> None:
        self._kit = kit
        self.progress = progress
        self._held: list[Frame] = []
        # Whether the last thing shown is an open question, so that a pause need not ask it again.
        self._at_question = False

    async def frames(self) -> AsyncGenerator[Frame, None]:
        """Run until the run is settled, and give everything that it shows.

        Raises:
            AgentRunRefusedError: The run was not opened.
        """
        kit = self._kit
        try:
            while (step := self._next_step()) is not None:
                if await self._begin(step):
                    for frame in self._release():
                        yield frame
                async with aclosing(_perform(kit, self.progress, step)) as items:
                    async for item in items:
                        if not isinstance(item, Outcome):
                            self._at_question = False
                            yield item
                        elif await self._take(item):
                            for frame in self._release():
                                yield frame
        except AgentPersistenceError as error:
            # The store failed or the run belongs to somebody else: nothing is written any more, nothing is undone.
            state = kit.journal.state
            status = self.progress.standing.status if state is None else state.status
            yield RunFailed(error.code, str(error), retryable=True, status=status)

    def _next_step(self) -> Step | None:
        stopped = self._kit.gate.stopped
        if stopped is not None and self.progress.phase not in _UNSTOPPABLE:
            after = fold(self.progress, stopped, self._kit.spec)
            self._kit.journal.note(facts_of(self.progress, stopped, after))
            self.progress = after
        return decide(self.progress, self._kit.spec)

    async def _begin(self, step: Step) -> bool:
        """Mark a step as begun; True when everything so far has been put on disk for it."""
        before, self.progress = self.progress, begin(self.progress, step)
        self._kit.journal.note(facts_begun(before, self.progress))
        completes = isinstance(step, Settle) and isinstance(step.ending, Completed)
        records = completes and self._kit.dialogue.keeps_turns
        if isinstance(step, ACTING) or records:
            self._held.extend(await self._commit())
            return True
        return False

    async def _take(self, outcome: Outcome) -> bool:
        """Fold an outcome; True when it has been put on disk, or the run is let go of."""
        spec = self._kit.spec
        outcome = guard_outcome(outcome, self._kit.exposure)
        before = self.progress
        after = fold(before, outcome, spec)
        self._kit.journal.note(facts_of(before, outcome, after))
        if outcome.commits:
            anticipated = anticipate(after, spec)
            self._kit.journal.note(facts_begun(after, anticipated))
            after = anticipated
        self.progress = after
        let_go = isinstance(after.ending, Abandoned)
        evidence = await self._commit() if outcome.commits and not let_go else []
        shown = frames_of(before, outcome, self.progress)
        if isinstance(outcome, Settled):
            # What ends a stream is its last item.
            asked = asks_of(before.waiting) if self._must_ask_again(outcome.ending) else ()
            self._held.extend((*evidence, *asked, *shown))
        else:
            self._held.extend((*shown, *evidence))
        return outcome.commits

    def _must_ask_again(self, ending: Ending) -> bool:
        return isinstance(ending, Paused) and ending.asks_people and not self._at_question

    async def _commit(self) -> list[Frame]:
        self.progress, evidence = await self._kit.journal.commit(self.progress)
        return [EvidenceShown(piece) for piece in evidence if _is_shown(piece)]

    def _release(self) -> tuple[Frame, ...]:
        frames = tuple(self._held)
        self._held.clear()
        if frames:
            self._at_question = isinstance(frames[-1], ApprovalAsked)
        return frames


def _is_shown(piece: AgentEvidence) -> bool:
    return piece.kind not in _QUIET


def _perform(kit: RunKit, progress: Progress, step: Step) -> AsyncGenerator[Frame | Outcome, None]:
    match step:
        case OpenRun():
            return open_run(kit, progress)
        case ReadInbox():
            return read_inbox(kit, progress, step)
        case AskModel():
            return ask_model(kit, progress)
        case RunCalls():
            return run_calls(kit, progress, step)
        case AskPeople():
            return ask_people(kit, step)
        case CleanUp():
            return clean_up(kit, progress)
        case Settle():
            return settle_run(kit, progress, step)
        case _:
            assert_never(step)
