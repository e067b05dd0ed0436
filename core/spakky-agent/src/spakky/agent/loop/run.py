"""One stretch of a run from beginning to end: the loop, its watcher, and what is left behind when a caller goes away."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from spakky.agent.error import AgentPersistenceError
from spakky.agent.loop.drive import Drive
from spakky.agent.loop.fold import interrupt
from spakky.agent.loop.frames import Frame
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.progress import Abandoned, Phase, Progress
from spakky.agent.loop.watcher import Watcher, WatchTimes

_LOG = logging.getLogger(__name__)


async def run_frames(kit: RunKit, times: WatchTimes) -> AsyncGenerator[Frame, None]:
    """Run the agent and give everything that it shows. Closing the generator interrupts the run, which can be resumed.

    Raises:
        AgentRunRefusedError: The run was not opened; nothing was changed.
    """
    drive = Drive(kit, Progress(kit.run_id))
    watcher = Watcher(kit.journal, kit.gate, times) if kit.spec.is_durable else None
    kit.gate.start_deadline(kit.spec.effective_timeout_seconds)
    if watcher is not None:
        watcher.start()
    try:
        async with aclosing(drive.frames()) as frames:
            async for frame in frames:
                yield frame
    finally:
        kit.gate.close()
        if watcher is not None:
            await watcher.stop()
        await _let_go(kit, drive.progress)


async def _let_go(kit: RunKit, progress: Progress) -> None:
    """Leave a resumable run behind: store where it stands, unless it is settled, and give its lease back."""
    opened = progress.phase not in {Phase.OPENING, Phase.SETTLED}
    try:
        if opened and kit.journal.state is not None and not isinstance(progress.ending, Abandoned):
            await kit.journal.commit(interrupt(progress))
    except AgentPersistenceError as error:
        _LOG.warning("Run %s could not be left in order: %s", kit.run_id, error)
    try:
        await kit.journal.release()
    except AgentPersistenceError as error:
        _LOG.warning("The lease of run %s could not be given back: %s", kit.run_id, error)
