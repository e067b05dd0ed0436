"""Runs that keep nothing: streams, paced streams, tool turns, parallel tools, and the way to the first delta."""

import asyncio
import statistics
from contextlib import AsyncExitStack
from functools import partial

from agents import TRANSPORTS, PlainAgent, first_of_run, make_model, run_events, run_yields
from by_hand import first_by_hand, make_client, run_by_hand
from measure import Cost, Row, Work, least_costs, print_table
from model_server import running_server
from scenarios import DELTAS, PACED_DELTAS, PARALLEL_CALLS, TURN_DELTAS, TURNS, Scenario

from spakky.agent import AgentRunner

TOOL_DELTAS = (TURNS + 1) * TURN_DELTAS
FIRST_ROUNDS = 100


async def measure_runs(
    server: str, scenario: Scenario, rounds: int, expected: int
) -> dict[str, Cost]:
    """Give the costs of one run: by hand, and with both streams of a runner over each transport that is installed."""
    async with make_client() as client, AsyncExitStack() as models:
        works: dict[str, Work] = {"hand": lambda: run_by_hand(client, server, scenario)}
        for transport in TRANSPORTS:
            model = make_model(server, scenario, transport)
            models.push_async_callback(model.aclose)
            runner = AgentRunner.for_agent_instance(PlainAgent(model))
            works[f"run(), {transport}"] = partial(run_yields, runner)
            works[f"run_events(), {transport}"] = partial(run_events, runner)
        return await least_costs(works, rounds=rounds, expected=expected)


def rows_of(
    what: str, costs: dict[str, Cost], *, unit: str, count: int, target: float
) -> list[Row]:
    """Give the lines of a scenario, per delta, turn or call."""
    scale = {"us": 1e6, "ms": 1e3}[unit] / count
    base = costs["hand"].cpu_seconds * scale
    return [
        Row(f"{what}, {name}", base, cost.cpu_seconds * scale, unit, target)
        for name, cost in costs.items()
        if name != "hand"
    ]


async def measure_first(server: str) -> list[Row]:
    """Give the time on the wall from asking to the first delta, over a connection that is open already."""
    model = make_model(server, Scenario.FIRST)
    runner = AgentRunner.for_agent_instance(PlainAgent(model))
    hand: list[float] = []
    ours: list[float] = []
    async with make_client() as client:
        for _ in range(FIRST_ROUNDS):
            hand.append(await first_by_hand(client, server))
            ours.append(await first_of_run(runner))
    await model.aclose()
    return [
        Row(f"first delta, {name} (wall)", 1e3 * pick(hand), 1e3 * pick(ours), "ms")
        for name, pick in (("least", min), ("median", statistics.median))
    ]


async def measure_all(server: str) -> list[Row]:
    """Give all lines."""
    stream = await measure_runs(server, Scenario.STREAM, 7, DELTAS)
    paced = await measure_runs(server, Scenario.PACED, 5, PACED_DELTAS)
    tools = await measure_runs(server, Scenario.TOOLS, 9, TOOL_DELTAS)
    parallel = await measure_runs(server, Scenario.PARALLEL, 30, 2)
    return [
        *rows_of(f"{DELTAS} deltas, each", stream, unit="us", count=DELTAS, target=1.3),
        *rows_of(
            f"{PACED_DELTAS} deltas 1 ms apart, each",
            paced,
            unit="us",
            count=PACED_DELTAS,
            target=1.2,
        ),
        *rows_of(
            f"{TURNS} tool turns of {TURN_DELTAS} deltas",
            tools,
            unit="ms",
            count=1,
            target=1.6,
        ),
        *rows_of(f"{PARALLEL_CALLS} parallel calls", parallel, unit="ms", count=1, target=2.0),
        *await measure_first(server),
    ]


def main() -> None:
    """Measure and print."""
    with running_server() as server:
        print_table(
            "Runs that keep nothing: CPU time of the client", asyncio.run(measure_all(server))
        )


if __name__ == "__main__":
    main()
