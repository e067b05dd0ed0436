"""A small agent with tools of every sort, and a bench to run it on: for tests of loops, stores and front ends."""

# Keywords of these helpers go into frozen values that check them, and payloads are whatever the test expects.
# ruff: noqa: ANN401

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentRunner,
    AgentSignal,
    AgentSignalKind,
    AgentToolError,
    AgentToolRuntimeContext,
    AgentYield,
    EvidenceCapture,
    IAgentModel,
    Idempotency,
    RecoveryStrategy,
    RunAgentInput,
    ToolEffects,
    agent_tool,
)
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, TurnSource


class DeskTools:
    """Tools that write what they did into a ledger.

    Attributes:
        ledger: What was done, in order.
        keys: The idempotency keys that payments were given.
        gates: The events that ``wait.until`` waits for, by name.
        entered: Set when ``wait.until`` has begun.
        cleaned: How often ``wait.until`` has ended, in whatever way.
        after_effect: Awaited after each line of the ledger, inside the tool: where a test lets the process die.
    """

    def __init__(self) -> None:
        self.ledger: list[str] = []
        self.keys: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.entered = asyncio.Event()
        self.cleaned = 0
        self.after_effect: Callable[[str], Awaitable[None]] | None = None

    async def _did(self, line: str) -> None:
        self.ledger.append(line)
        if self.after_effect is not None:
            await self.after_effect(line)

    @agent_tool(
        schema_name="file.read", effects=ToolEffects.read_only(), idempotency=Idempotency.IDEMPOTENT
    )
    async def read(self, path: str) -> str:
        """Read a file."""
        await self._did(f"read {path}")
        return f"content of {path}"

    @agent_tool(
        schema_name="bank.pay",
        effects=ToolEffects.external_side_effect(),
        idempotency=Idempotency.NON_IDEMPOTENT,
        evidence=EvidenceCapture.SUMMARY,
    )
    async def pay(self, amount: int, context: AgentToolRuntimeContext) -> dict[str, int]:
        """Pay an amount; asks for approval."""
        await self._did(f"pay {amount}")
        self.keys.append(context.idempotency_key)
        return {"paid": amount}

    @agent_tool(schema_name="diary.add", idempotency=Idempotency.NON_IDEMPOTENT)
    async def add(self, text: str) -> str:
        """Add a line to a diary; needs no approval, but must not be repeated."""
        await self._did(f"add {text}")
        return "added"

    @agent_tool(
        schema_name="wait.until",
        effects=ToolEffects.read_only(),
        idempotency=Idempotency.IDEMPOTENT,
    )
    async def wait(self, name: str) -> str:
        """Wait until a gate opens."""
        self.entered.set()
        try:
            await self.gates.setdefault(name, asyncio.Event()).wait()
        finally:
            self.cleaned += 1
        await self._did(f"wait {name}")
        return name

    @agent_tool(schema_name="fault.known")
    async def fail_known(self) -> str:
        """Fail in a way that the model should read."""
        message = "the printer is out of paper"
        raise AgentToolError(message)

    @agent_tool(schema_name="fault.unknown")
    async def fail_unknown(self) -> str:
        """Fail as a broken tool does."""
        message = "wires crossed"
        raise RuntimeError(message)


@dataclass
class Bench:
    """One agent over one store, and everything that can be asked of it."""

    ports: MemoryPorts
    model: ScriptedModel
    agent: Any
    run_id: str = "run-1"
    items: list[AgentYield[Any]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)

    @property
    def tools(self) -> DeskTools:
        """The agent, as the tools that it inherits."""
        tools: DeskTools = self.agent
        return tools

    def runner(self) -> AgentRunner:
        """Give the agent a runner."""
        return AgentRunner.for_agent_instance(self.agent)

    def input(
        self, instruction: str = "do it", *, resume: bool = False, **more: Any
    ) -> RunAgentInput:
        """Build the input of the run."""
        return RunAgentInput(self.run_id, instruction, resume=resume, **more)

    async def run(self, instruction: str = "do it", **more: Any) -> list[AgentYield[Any]]:
        """Run to the end of the stream and keep its items."""
        self.items = await drain(self.runner().run(self.input(instruction, **more)))
        return self.items

    async def resume(self, **more: Any) -> list[AgentYield[Any]]:
        """Resume to the end of the stream and keep its items."""
        return await self.run("", resume=True, **more)

    async def run_events(self, instruction: str = "do it", **more: Any) -> list[Any]:
        """Run to the end of the event stream and keep its events."""
        self.events = await drain(self.runner().run_events(self.input(instruction, **more)))
        return self.events

    async def signal(
        self, kind: AgentSignalKind, signal_id: str = "signal-1", **payload: Any
    ) -> None:
        """Append a signal."""
        await self.ports.signals.append(AgentSignal(signal_id, self.run_id, kind, payload))

    async def decide(
        self, decision: str, request_id: str, signal_id: str = "decision-1", **payload: Any
    ) -> None:
        """Append a decision on an approval request."""
        await self.signal(
            AgentSignalKind.APPROVAL_DECISION,
            signal_id,
            request_id=request_id,
            decision=decision,
            **payload,
        )


async def drain[T](stream: AsyncGenerator[T, None]) -> list[T]:
    """Read a stream to its end, within five seconds, and close it."""
    async with asyncio.timeout(5), aclosing(stream):
        return [item async for item in stream]


def make_agent(base: type, spec: AgentExecutionSpec) -> Any:
    """Make an agent class out of a class with tools."""

    class Desk(base):  # type: ignore[misc]  # the base is chosen by the test
        def __init__(self, model: IAgentModel, ports: MemoryPorts | None) -> None:
            super().__init__()
            self.model = model
            if ports is not None:
                self.a, self.b, self.c = ports.states, ports.signals, ports.evidence
                self.d, self.e, self.f = ports.transcripts, ports.unit_of_work, ports.task_store

    return Agent(spec=spec)(Desk)


def make_bench(
    ports: MemoryPorts,
    script: Sequence[TurnSource],
    *,
    durable: bool = True,
    base: type = DeskTools,
    **spec: Any,
) -> Bench:
    """Build a bench.

    Args:
        ports: The store.
        script: What the model answers.
        durable: Whether the agent recovers at action boundaries and gets the ports.
        base: The class with the agent's tools and hooks.
        spec: Further fields of the spec.
    """
    if durable:
        spec.setdefault("recovery", RecoveryStrategy.ACTION_BOUNDARY)
    model = ScriptedModel(script)
    desk = make_agent(base, AgentExecutionSpec(name="desk", instructions="Be exact.", **spec))
    return Bench(ports, model, desk(model, ports if durable else None))
