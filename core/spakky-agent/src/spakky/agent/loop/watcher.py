"""Looks after a durable run while it waits: renews its lease, and trips the gate when somebody cancels it."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.error import AgentLeaseLostError, AgentPersistenceError
from spakky.agent.loop.do_inbox import cancel_order
from spakky.agent.loop.fault_log import log_fault
from spakky.agent.loop.gate import Gate
from spakky.agent.loop.journal import Journal
from spakky.agent.loop.outcomes import StopReason

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """How often a run is looked after.

    Attributes:
        poll_seconds: Between two looks into the inbox.
        lease_seconds: How long the lease lasts; it is renewed after a third of that.
    """

    poll_seconds: float = 0.25
    lease_seconds: float = 30.0


class Watcher:
    """One background task for one run. At most one look into the inbox is under way, and no token waits for it."""

    def __init__(self, journal: Journal, gate: Gate, times: WatchTimes) -> None:
        self._journal = journal
        self._gate = gate
        self._times = times
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch; the journal holds a lease by now."""
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """End the task, and wait until it has ended."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        renew_at = loop.time() + self._times.lease_seconds / 3
        lost_at = loop.time() + self._times.lease_seconds
        while True:
            await asyncio.sleep(self._times.poll_seconds)
            if loop.time() >= renew_at:
                if await self._renew():
                    renew_at = loop.time() + self._times.lease_seconds / 3
                    lost_at = loop.time() + self._times.lease_seconds
                elif loop.time() >= lost_at:
                    self._gate.trip(StopReason.LEASE_LOST)
            await self._look()

    async def _renew(self) -> bool:
        try:
            await self._journal.renew()
        except AgentLeaseLostError:
            self._gate.trip(StopReason.LEASE_LOST)
            return False
        except AgentPersistenceError as error:
            _LOG.warning("The lease of a run could not be renewed: %s", error)
            return False
        except Exception as error:  # noqa: BLE001 - a driver's own error must not end the watch in silence
            log_fault("The renewal of a run's lease", error)
            return False
        return True

    async def _look(self) -> None:
        if self._gate.stopped is not None:
            return
        try:
            pending = await self._journal.read_pending()
        except AgentPersistenceError as error:
            _LOG.warning("The inbox of a run could not be read: %s", error)
            return
        except Exception as error:  # noqa: BLE001 - as above
            log_fault("The inbox of a run", error)
            return
        order = first_cancel(pending)
        if order is not None:
            self._gate.trip(StopReason.CANCEL, cancel_order(order))


def first_cancel(pending: Sequence[AgentSignal]) -> AgentSignal | None:
    """Give the first CANCEL of a queue."""
    return next((signal for signal in pending if signal.kind is AgentSignalKind.CANCEL), None)
