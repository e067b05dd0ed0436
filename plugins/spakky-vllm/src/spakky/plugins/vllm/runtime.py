"""What the adapter takes from its surroundings, so that a test can give it something else."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from spakky.plugins.vllm.client import TransportFactory


def utc_now() -> datetime:
    """Give the present time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class VllmRuntime:
    """The adapter's surroundings.

    Attributes:
        sleep: Waits so many seconds, before a request is sent again.
        chance: Gives a random number from 0 to 1, for the length of such a wait.
        now: Gives the present time, to measure a date in a header against.
        transport: Makes the HTTP transport of each event loop; None takes the one of httpx.
    """

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    now: Callable[[], datetime] = utc_now
    transport: TransportFactory | None = None
