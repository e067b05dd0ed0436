"""The deadlines of one request."""

import asyncio

import pytest

from spakky.plugins.vllm.deadline import Deadline, DeadlinePassedError, DeadlinePhase

FAR = 60.0
NEAR = 0.02


async def never() -> None:
    await asyncio.Event().wait()


async def at_once() -> int:
    return 7


async def test_a_wait_within_the_deadlines_gives_its_result() -> None:
    deadline = Deadline(FAR)
    deadline.expect(DeadlinePhase.IDLE, FAR)

    assert await deadline.wait(at_once()) == 7
    assert 0 < deadline.remaining() <= FAR
    deadline.close()


@pytest.mark.parametrize(
    ("total", "phase", "struck"),
    [
        (NEAR, None, DeadlinePhase.TOTAL),
        (FAR, NEAR, DeadlinePhase.IDLE),
        (None, NEAR, DeadlinePhase.IDLE),
    ],
)
async def test_the_nearer_deadline_strikes(
    total: float | None, phase: float | None, struck: DeadlinePhase
) -> None:
    deadline = Deadline(total)
    deadline.expect(DeadlinePhase.IDLE, phase)

    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassedError, match=r"Waited 0\.02 s") as raised:
            await deadline.wait(never())

    assert raised.value.phase is struck
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    deadline.close()


async def test_a_deadline_that_moved_meanwhile_does_not_strike_early() -> None:
    deadline = Deadline(None)
    loop = asyncio.get_running_loop()
    deadline.expect(DeadlinePhase.FIRST_DELTA, NEAR)
    handle = deadline._handle
    deadline.expect(DeadlinePhase.IDLE, 3 * NEAR)
    assert deadline._handle is handle
    began = loop.time()

    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassedError):
            await deadline.wait(never())

    assert loop.time() - began >= 2.5 * NEAR
    deadline.close()


async def test_a_nearer_phase_moves_the_timer_forward() -> None:
    deadline = Deadline(FAR)
    deadline.expect(DeadlinePhase.IDLE, FAR)
    deadline.expect(DeadlinePhase.USAGE, NEAR)

    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassedError):
            await deadline.wait(never())
    deadline.close()


async def test_between_two_waits_nothing_strikes_and_the_next_wait_is_bounded_again() -> None:
    deadline = Deadline(NEAR)
    deadline.expect(DeadlinePhase.IDLE, None)
    passed = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(2 * NEAR, passed.set_result, None)
    await passed

    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassedError):
            await deadline.wait(never())
    deadline.close()


async def test_a_cancellation_from_outside_stays_one() -> None:
    deadline = Deadline(NEAR)
    waiting = asyncio.Event()

    async def work() -> None:
        try:
            await deadline.wait(never_but(waiting))
        finally:
            deadline.close()

    async def never_but(event: asyncio.Event) -> None:
        event.set()
        try:
            await never()
        except asyncio.CancelledError:
            # While the deadline's own cancellation is on its way out, another one comes.
            task.cancel()
            await never()

    task = asyncio.create_task(work())
    async with asyncio.timeout(5):
        await waiting.wait()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert task.cancelled()


async def test_a_result_that_comes_in_the_last_moment_is_kept() -> None:
    deadline = Deadline(NEAR)

    async def stubborn() -> str:
        try:
            await never()
        except asyncio.CancelledError:
            return "kept"
        return "never"

    task = asyncio.current_task()
    assert task is not None
    async with asyncio.timeout(5):
        assert await deadline.wait(stubborn()) == "kept"
    assert task.cancelling() == 0
    deadline.close()


async def test_other_exceptions_pass_through() -> None:
    deadline = Deadline(FAR)

    async def fail() -> None:
        message = "own"
        raise KeyError(message)

    with pytest.raises(KeyError, match="own"):
        await deadline.wait(fail())
    deadline.close()
    deadline.close()


async def test_a_closed_deadline_does_not_strike_and_one_without_bounds_has_no_timer() -> None:
    deadline = Deadline(NEAR)
    deadline.close()
    free = Deadline(None)
    free.expect(DeadlinePhase.IDLE, None)

    assert await deadline.wait(at_once()) == 7
    assert await free.wait(at_once()) == 7
    assert free._handle is None


def test_waiting_without_a_task_is_refused() -> None:
    loop = asyncio.new_event_loop()
    failures: list[BaseException] = []

    async def make() -> Deadline:
        return Deadline(None)

    deadline = loop.run_until_complete(make())

    def step() -> None:
        waiting = deadline.wait(loop.create_future())
        try:
            waiting.send(None)
        except RuntimeError as error:
            failures.append(error)
        finally:
            loop.stop()

    loop.call_soon(step)
    loop.run_forever()
    loop.close()
    assert "from a task" in str(failures[0])
