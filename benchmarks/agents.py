"""The agents that are measured, and how one run of them is consumed."""

import itertools
import time
from contextlib import aclosing
from importlib.util import find_spec

from by_hand import look_up
from scenarios import PROMPT, TOOL, Scenario

from spakky.agent import (
    Agent,
    AgentEventKind,
    AgentExecutionSpec,
    AgentRunner,
    AgentYieldKind,
    IAgentModel,
    Idempotency,
    RecoveryStrategy,
    RunAgentInput,
    agent_tool,
)
from spakky.plugins.vllm import HttpTransport, VllmAgentModel

_numbers = itertools.count()
TRANSPORTS = tuple(
    kind for kind in HttpTransport if kind is HttpTransport.HTTPX or find_spec("aiohttp")
)


class CityTools:
    """The tool of all scenarios."""

    @agent_tool(schema_name=TOOL, idempotency=Idempotency.IDEMPOTENT)
    async def look_up(self, city: str) -> str:
        """Look a city up."""
        return await look_up(city)


@Agent(spec=AgentExecutionSpec(name="benchmark"))
class PlainAgent(CityTools):
    """Keeps nothing."""

    def __init__(self, model: IAgentModel) -> None:
        self.model = model


@Agent(spec=AgentExecutionSpec(name="durable-benchmark", recovery=RecoveryStrategy.ACTION_BOUNDARY))
class DurableAgent(CityTools):
    """Keeps its runs in a store."""

    def __init__(self, model: IAgentModel) -> None:
        self.model = model


def make_model(
    server: str, scenario: Scenario, transport: HttpTransport = HttpTransport.HTTPX
) -> VllmAgentModel:
    """Give the model of a scenario; it has one pool of connections."""
    return VllmAgentModel(base_url=f"{server}/{scenario}/v1", model="m", transport=transport)


def next_input() -> RunAgentInput:
    """Give the input of a new run."""
    return RunAgentInput(f"run-{next(_numbers)}", PROMPT)


async def run_yields(runner: AgentRunner) -> int:
    """Consume ``run()``; gives how many deltas of text came."""
    seen = 0
    last = None
    async with aclosing(runner.run(next_input())) as items:
        async for item in items:
            last = item.kind
            if last is AgentYieldKind.TOKEN:
                seen += 1
    assert last is AgentYieldKind.FINAL, f"the run ended with {last}"
    return seen


async def run_events(runner: AgentRunner) -> int:
    """Consume ``run_events()``; gives how many deltas of text came."""
    seen = 0
    last = None
    async with aclosing(runner.run_events(next_input())) as events:
        async for event in events:
            last = event.kind
            if last is AgentEventKind.MESSAGE_DELTA:
                seen += 1
    assert last is AgentEventKind.RUN_FINISHED, f"the run ended with {last}"
    return seen


async def first_of_run(runner: AgentRunner) -> float:
    """Give the seconds from starting a run to its first delta; the run goes on to its end."""
    began = time.perf_counter()
    first = 0.0
    async with aclosing(runner.run(next_input())) as items:
        async for item in items:
            if not first and item.kind is AgentYieldKind.TOKEN:
                first = time.perf_counter() - began
    return first
