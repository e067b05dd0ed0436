"""Operations whose caller is cancelled."""

import asyncio

import pytest

from spakky.plugins.sqlalchemy.settle import settle


async def test_the_result_of_the_operation_is_given() -> None:
    async def operation() -> int:
        return 7

    assert await settle(operation()) == 7


async def test_the_exception_of_the_operation_is_raised() -> None:
    async def operation() -> None:
        message = "broken"
        raise ValueError(message)

    with pytest.raises(ValueError, match="broken"):
        await settle(operation())


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_caller_ends_after_its_operation_has(*, fails: bool) -> None:
    started, may_end, events = asyncio.Event(), asyncio.Event(), list[str]()

    async def operation() -> None:
        started.set()
        await may_end.wait()
        events.append("operation ended")
        if fails:
            message = "nobody is left to hear this"
            raise ValueError(message)

    async def caller() -> None:
        try:
            await settle(operation(), grace_seconds=30)
        finally:
            events.append("caller ended")

    task = asyncio.create_task(caller())
    await started.wait()
    task.cancel()
    asyncio.get_running_loop().call_soon(task.cancel)
    asyncio.get_running_loop().call_soon(may_end.set)
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert events == ["operation ended", "caller ended"]


async def test_an_operation_that_does_not_end_is_cancelled_too() -> None:
    started, events = asyncio.Event(), list[str]()

    async def operation() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("operation cancelled")

    task = asyncio.create_task(settle(operation(), grace_seconds=0.01))
    await started.wait()
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert events == ["operation cancelled"]


async def test_a_cancelled_operation_cancels_its_caller() -> None:
    async def operation() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await settle(operation())
