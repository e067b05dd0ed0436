"""What looks after a durable run while it waits: the lease is kept, and a cancel or a lost lease stops the run."""

import asyncio
import logging
from collections.abc import Sequence
from typing import override

import pytest

from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.error import AgentLeaseLostError, AgentPersistenceError
from spakky.agent.loop.gate import Gate
from spakky.agent.loop.journal import NullJournal
from spakky.agent.loop.outcomes import Stopped, StopReason
from spakky.agent.loop.progress import CancelOrder
from spakky.agent.loop.watcher import Watcher, WatchTimes, first_cancel

CANCEL = AgentSignal("s2", "r", AgentSignalKind.CANCEL, {"reason": "enough", "requested_by": "ann"})
MESSAGE = AgentSignal("s1", "r", AgentSignalKind.USER_MESSAGE, {"message": "hello"})


class WatchedJournal(NullJournal):
    """A journal whose inbox and lease do what a test chose; ``awaited`` is set after a number of calls."""

    def __init__(self) -> None:
        self.looks = self.renewals = 0
        self.inbox: Sequence[AgentSignal] = ()
        self.read_fault: Exception | None = None
        self.renew_faults: list[Exception | None] = []
        self.wanted_looks = self.wanted_renewals = 0
        self.awaited = asyncio.Event()

    def _tell(self) -> None:
        if self.looks >= self.wanted_looks and self.renewals >= self.wanted_renewals:
            self.awaited.set()

    async def until(self, *, looks: int = 0, renewals: int = 0) -> None:
        """Wait until that many further calls have begun."""
        self.wanted_looks, self.wanted_renewals = self.looks + looks, self.renewals + renewals
        self.awaited.clear()
        async with asyncio.timeout(5):
            await self.awaited.wait()

    @override
    async def read_pending(self) -> Sequence[AgentSignal]:
        self.looks += 1
        self._tell()
        if self.read_fault is not None:
            raise self.read_fault
        return self.inbox

    @override
    async def renew(self) -> None:
        self.renewals += 1
        self._tell()
        fault = self.renew_faults[min(self.renewals, len(self.renew_faults)) - 1 :][:1]
        if fault and fault[0] is not None:
            raise fault[0]


class TellingGate(Gate):
    """A gate that says when it is tripped."""

    __slots__ = ("trips", "was_tripped")

    def __init__(self) -> None:
        super().__init__()
        self.was_tripped = asyncio.Event()
        self.trips: list[StopReason] = []

    @override
    def trip(self, reason: StopReason, order: CancelOrder | None = None) -> None:
        super().trip(reason, order)
        self.trips.append(reason)
        self.was_tripped.set()


@pytest.fixture
def journal() -> WatchedJournal:
    return WatchedJournal()


@pytest.fixture
def gate() -> TellingGate:
    return TellingGate()


class Watching:
    """A watcher that runs inside a ``with`` block."""

    def __init__(self, journal: WatchedJournal, gate: Gate, lease_seconds: float) -> None:
        self.watcher = Watcher(journal, gate, WatchTimes(0.001, lease_seconds))

    async def __aenter__(self) -> Watcher:
        self.watcher.start()
        return self.watcher

    async def __aexit__(self, *_: object) -> None:
        async with asyncio.timeout(5):
            await self.watcher.stop()


@pytest.mark.requirement("CANCEL-1")
async def test_a_cancel_in_the_inbox_stops_the_run_and_is_looked_for_no_more(
    journal: WatchedJournal, gate: TellingGate
) -> None:
    async with Watching(journal, gate, 60):
        await journal.until(looks=2)
        assert gate.stopped is None
        journal.inbox = (MESSAGE, CANCEL)
        async with asyncio.timeout(5):
            await gate.was_tripped.wait()
        looks = journal.looks
        assert gate.stopped == Stopped(StopReason.CANCEL, CancelOrder("s2", "enough", "ann"))
    assert journal.looks == looks


async def test_other_signals_stop_nothing(journal: WatchedJournal, gate: TellingGate) -> None:
    journal.inbox = (MESSAGE,)
    async with Watching(journal, gate, 60):
        await journal.until(looks=3)
    assert gate.trips == []


async def test_an_inbox_that_cannot_be_read_is_logged_and_looked_into_again(
    journal: WatchedJournal, gate: TellingGate, caplog: pytest.LogCaptureFixture
) -> None:
    journal.read_fault = AgentPersistenceError("The store is away.")
    async with Watching(journal, gate, 60):
        await journal.until(looks=3)
        journal.read_fault, journal.inbox = None, (CANCEL,)
        async with asyncio.timeout(5):
            await gate.was_tripped.wait()
    assert gate.trips == [StopReason.CANCEL]
    assert "The inbox of a run could not be read: The store is away." in caplog.messages


async def test_the_lease_is_renewed_for_as_long_as_the_run_goes_on(
    journal: WatchedJournal, gate: TellingGate
) -> None:
    async with Watching(journal, gate, 0.03):
        await journal.until(renewals=5)
    assert gate.trips == []


async def test_nothing_is_renewed_before_a_third_of_the_lease_has_passed(
    journal: WatchedJournal, gate: TellingGate
) -> None:
    async with Watching(journal, gate, 3600):
        await journal.until(looks=5)
    assert journal.renewals == 0


async def test_a_lease_that_somebody_else_took_stops_the_run_at_once(
    journal: WatchedJournal, gate: TellingGate
) -> None:
    journal.renew_faults = [AgentLeaseLostError()]
    async with Watching(journal, gate, 0.3):
        async with asyncio.timeout(5):
            await gate.was_tripped.wait()
        assert journal.renewals == 1
    assert gate.stopped == Stopped(StopReason.LEASE_LOST, None)


async def test_a_store_that_stays_away_for_the_whole_lease_stops_the_run(
    journal: WatchedJournal, gate: TellingGate, caplog: pytest.LogCaptureFixture
) -> None:
    journal.renew_faults = [AgentPersistenceError("The store is away.")]
    async with Watching(journal, gate, 0.05):
        async with asyncio.timeout(5):
            await gate.was_tripped.wait()
    assert journal.renewals > 1
    assert gate.stopped == Stopped(StopReason.LEASE_LOST, None)
    assert "The lease of a run could not be renewed: The store is away." in caplog.messages


async def test_a_store_that_comes_back_in_time_stops_nothing(
    journal: WatchedJournal, gate: TellingGate
) -> None:
    journal.renew_faults = [AgentPersistenceError(), AgentPersistenceError(), None]
    async with Watching(journal, gate, 1.0):
        await journal.until(renewals=4)
    assert gate.trips == []


@pytest.mark.parametrize("place", ["read_fault", "renew_faults"])
async def test_a_repository_that_raises_what_it_may_not_is_logged_and_the_watch_goes_on(
    journal: WatchedJournal,
    gate: TellingGate,
    caplog: pytest.LogCaptureFixture,
    place: str,
) -> None:
    """A driver's own error must neither end the watch in silence nor come out of the run's stream."""
    fault = RuntimeError("password=hunter2")
    if place == "read_fault":
        journal.read_fault = fault
    else:
        journal.renew_faults = [fault, None]
    with caplog.at_level(logging.WARNING):
        async with Watching(journal, gate, 0.3):
            await journal.until(looks=3, renewals=2)
            journal.read_fault, journal.inbox = None, (CANCEL,)
            async with asyncio.timeout(5):
                await gate.was_tripped.wait()
    assert gate.trips == [StopReason.CANCEL]
    assert "RuntimeError" in caplog.text
    assert "hunter2" not in caplog.text


async def test_a_watcher_can_be_stopped_before_and_after_it_was_started(
    journal: WatchedJournal, gate: TellingGate
) -> None:
    watcher = Watcher(journal, gate, WatchTimes())
    await watcher.stop()
    watcher.start()
    await watcher.stop()
    await watcher.stop()
    assert (journal.looks, journal.renewals, gate.trips) == (0, 0, [])


def test_the_first_cancel_of_a_queue_counts() -> None:
    later = AgentSignal("s3", "r", AgentSignalKind.CANCEL)
    assert first_cancel((MESSAGE, CANCEL, later)) is CANCEL
    assert first_cancel((MESSAGE,)) is None
    assert first_cancel(()) is None
