"""Many runs at a time in one process: CPU time, memory and connections. Each way is measured in a process of its own."""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from measure import Row, print_table
from model_server import running_server
from scenarios import CROWD, CROWD_DELTAS, Scenario

ROUNDS = 5
IDLE_RUNNERS = 2000
type Run = Callable[[], Awaitable[int]]


def resident_mib() -> float:
    """Give the memory that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def run_crowd(run: Run) -> dict[str, float]:
    """Have a crowd of runs stream at once, some times; gives the least CPU time and the greatest memory."""
    before = resident_mib()
    least = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        seen = await asyncio.gather(*(run() for _ in range(CROWD)))
        least = min(least, time.process_time() - began)
        assert sum(seen) == CROWD * CROWD_DELTAS
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": least, "peak": peak, "growth": peak - before}


async def measure_hand(server: str) -> dict[str, float]:
    """Measure the loop written by hand."""
    # Imported here, since the other way's process must not hold it.
    from by_hand import make_client, run_by_hand

    async with make_client() as client:
        return await run_crowd(lambda: run_by_hand(client, server, Scenario.CROWD))


async def measure_ours(server: str) -> dict[str, float]:
    """Measure runs of one agent; its runner serves all of them."""
    from agents import PlainAgent, make_model, run_yields

    from spakky.agent import AgentRunner

    model = make_model(server, Scenario.CROWD)
    before = resident_mib()
    idle = [AgentRunner.for_agent_instance(PlainAgent(model)) for _ in range(IDLE_RUNNERS)]
    each_idle = (resident_mib() - before) / len(idle)
    result = await run_crowd(lambda: run_yields(idle[0]))
    await model.aclose()
    return {**result, "idle": each_idle}


def measure_apart(way: str, server: str) -> dict[str, float]:
    """Measure one way in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), way, server]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, float] = json.loads(output)
    return result


def count_connections(server: str) -> int:
    """Ask the server how many connections were opened so far, this one included."""
    # Imported here, since only the process that compares needs it.
    import httpx

    return int(httpx.get(f"{server}/connections", trust_env=False).text)


def compare() -> None:
    """Measure both ways and print."""
    with running_server() as server:
        hand = measure_apart("hand", server)
        before = count_connections(server)
        ours = measure_apart("ours", server)
        opened = count_connections(server) - before - 1
    rows = [
        Row(f"{CROWD} runs at once, CPU", hand["cpu"] * 1e3, ours["cpu"] * 1e3, "ms", 1.8),
        Row("greatest memory of the process", None, ours["peak"], "MiB", 90.0),
        Row("greatest memory, both", hand["peak"], ours["peak"], "MiB"),
        Row(
            "memory of an active run",
            hand["growth"] / CROWD * 1024,
            ours["growth"] / CROWD * 1024,
            "KiB",
        ),
        Row("memory of an idle agent with its runner", None, ours["idle"] * 1024, "KiB"),
        Row(f"connections opened per run, {ROUNDS} rounds", None, opened / CROWD / ROUNDS, "", 1.0),
    ]
    print_table(f"{CROWD} runs of {CROWD_DELTAS} deltas at once", rows)


def main() -> None:
    """Compare, or measure the one way that is named."""
    match sys.argv[1:]:
        case []:
            compare()
        case ["hand", server]:
            print(json.dumps(asyncio.run(measure_hand(server))))
        case ["ours", server]:
            print(json.dumps(asyncio.run(measure_ours(server))))
        case _:
            sys.exit("usage: bench_concurrency.py")


if __name__ == "__main__":
    main()
