"""The gate: stopping a waiting run from outside, with real tasks."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import pytest

from spakky.agent.loop.gate import Gate, Tripped
from spakky.agent.loop.outcomes import Stopped, StopReason
from spakky.agent.loop.progress import CancelOrder

ORDER = CancelOrder("s1")


def cancellations() -> int:
    """Give how many cancellations of the current task nobody has taken back."""
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def hang(entered: asyncio.Event | None = None) -> None:
    if entered is not None:
        entered.set()
    await asyncio.Event().wait()


async def give[T](value: T) -> T:
    await asyncio.sleep(0)
    return value


async def settle_task(task: asyncio.Task[object]) -> None:
    async with asyncio.timeout(5):
        await asyncio.wait([task])


async def test_what_is_awaited_comes_through() -> None:
    gate = Gate()
    assert await gate.wait(give(7)) == 7
    assert await gate.wait(asyncio.ensure_future(give(8))) == 8
    with pytest.raises(ValueError, match="own"):
        await gate.wait(fail("own"))
    assert gate.stopped is None


async def fail(message: str) -> None:
    await asyncio.sleep(0)
    raise ValueError(message)


@pytest.mark.requirement("CANCEL-2", "LOOP-25")
async def test_a_trip_while_waiting_stops_what_is_awaited_and_leaves_the_task_alone() -> None:
    gate, entered, closed = Gate(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await hang(entered)
        finally:
            closed.set()

    async def run() -> int:
        with pytest.raises(Tripped):
            await gate.wait(work())
        await asyncio.sleep(0)
        return cancellations()

    task = asyncio.create_task(run())
    await entered.wait()
    gate.trip(StopReason.CANCEL, ORDER)
    async with asyncio.timeout(5):
        assert await task == 0
    assert closed.is_set()
    assert gate.stopped == Stopped(StopReason.CANCEL, ORDER)


async def test_a_trip_between_waits_is_seen_by_the_next_one_which_awaits_nothing() -> None:
    gate = Gate()
    await gate.wait(give(1))
    gate.trip(StopReason.DEADLINE)
    assert cancellations() == 0
    with pytest.raises(Tripped):
        await gate.wait(hang())
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.raises(Tripped):
        await gate.wait(future)
    assert cancellations() == 0


async def test_a_trip_that_comes_with_the_result_still_stops() -> None:
    gate = Gate()

    async def trip_and_give() -> int:
        await asyncio.sleep(0)
        gate.stopped = Stopped(StopReason.DEADLINE)
        return 7

    with pytest.raises(Tripped):
        await gate.wait(trip_and_give())


async def swallow_and_return(entered: asyncio.Event) -> None:
    try:
        await hang(entered)
    except asyncio.CancelledError:
        return


async def swallow_and_fail(entered: asyncio.Event) -> None:
    try:
        await hang(entered)
    except asyncio.CancelledError:
        message = "connection closed"
        raise RuntimeError(message) from None


async def swallow_in_a_stream(entered: asyncio.Event) -> AsyncGenerator[int]:
    try:
        await hang(entered)
    except asyncio.CancelledError:
        return
    yield 1


async def next_of_a_stream(entered: asyncio.Event) -> None:
    async with aclosing(swallow_in_a_stream(entered)) as stream:
        await anext(stream)


SWALLOWERS: list[Callable[[asyncio.Event], Awaitable[None]]] = [
    swallow_and_return,
    swallow_and_fail,
    next_of_a_stream,
]


@pytest.mark.parametrize("gate_first", [True, False])
@pytest.mark.parametrize("answer", range(4))
async def test_an_outside_cancellation_is_never_swallowed(gate_first: bool, answer: int) -> None:
    gate, entered = Gate(), asyncio.Event()
    awaited = [hang, *SWALLOWERS][answer]
    task: asyncio.Task[object] = asyncio.create_task(gate.wait(awaited(entered)))
    await entered.wait()
    if gate_first:
        gate.trip(StopReason.CANCEL)
        task.cancel()
    else:
        task.cancel()
        gate.trip(StopReason.CANCEL)
    await settle_task(task)
    assert task.cancelled()


async def test_an_outside_cancellation_alone_passes_through() -> None:
    gate, entered = Gate(), asyncio.Event()
    task: asyncio.Task[object] = asyncio.create_task(gate.wait(hang(entered)))
    await entered.wait()
    task.cancel()
    await settle_task(task)
    assert task.cancelled()
    assert gate.stopped is None


@pytest.mark.parametrize("awaited", SWALLOWERS)
async def test_a_cancellation_that_is_answered_in_another_way_still_trips_and_leaves_no_trace(
    awaited: Callable[[asyncio.Event], Awaitable[None]],
) -> None:
    gate, entered = Gate(), asyncio.Event()

    async def run() -> int:
        with pytest.raises(Tripped):
            await gate.wait(awaited(entered))
        return cancellations()

    task = asyncio.create_task(run())
    await entered.wait()
    gate.trip(StopReason.CANCEL)
    async with asyncio.timeout(5):
        assert await task == 0


async def test_an_enclosing_timeout_still_works_after_a_trip() -> None:
    gate, entered = Gate(), asyncio.Event()

    async def run() -> None:
        async with asyncio.timeout(5) as timer:
            with pytest.raises(Tripped):
                await gate.wait(swallow_and_fail(entered))
            timer.reschedule(asyncio.get_running_loop().time())
            await hang()

    task = asyncio.create_task(run())
    await entered.wait()
    gate.trip(StopReason.CANCEL)
    await settle_task(task)
    assert isinstance(task.exception(), TimeoutError)


async def test_the_first_reason_stands_unless_the_lease_was_lost() -> None:
    gate = Gate()
    gate.trip(StopReason.CANCEL, ORDER)
    gate.trip(StopReason.DEADLINE)
    assert gate.stopped == Stopped(StopReason.CANCEL, ORDER)
    gate.trip(StopReason.LEASE_LOST)
    assert gate.stopped == Stopped(StopReason.LEASE_LOST)


async def test_two_trips_cancel_the_waiting_task_once() -> None:
    gate, entered = Gate(), asyncio.Event()

    async def run() -> int:
        with pytest.raises(Tripped):
            await gate.wait(hang(entered))
        return cancellations()

    task = asyncio.create_task(run())
    await entered.wait()
    gate.trip(StopReason.DEADLINE)
    gate.trip(StopReason.LEASE_LOST)
    async with asyncio.timeout(5):
        assert await task == 0


@pytest.mark.requirement("LOOP-25")
async def test_the_deadline_trips_what_waits() -> None:
    gate = Gate()
    gate.start_deadline(0.001)
    async with asyncio.timeout(5):
        with pytest.raises(Tripped):
            await gate.wait(hang())
    assert gate.stopped == Stopped(StopReason.DEADLINE)


async def test_a_closed_gate_has_no_deadline_any_more() -> None:
    gate = Gate()
    gate.start_deadline(0.0)
    gate.close()
    gate.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert gate.stopped is None
    gate.start_deadline(None)
    assert await gate.wait(give(1)) == 1


async def test_outside_any_task_there_is_nothing_to_cancel() -> None:
    gate = Gate()
    results: list[object] = []

    async def give_at_once() -> int:
        return 7

    def step_by_hand() -> None:
        try:
            gate.wait(give_at_once()).send(None)
        except StopIteration as done:
            results.append(done.value)

    asyncio.get_running_loop().call_soon(step_by_hand)
    await asyncio.sleep(0)
    assert results == [7]
