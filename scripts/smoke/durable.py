"""Run in an environment that has the wheels of all packages: every module, then one durable run on SQLite.

The agent asks before it writes. A first application pauses at the approval and ends; a second one, over the same file,
finds the decision and finishes the run. The write happens once, and the model is not asked again for it.
"""

import asyncio
import importlib
import os
import pkgutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import override

from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.application.plugin import Plugin
from spakky.core.pod.annotations.pod import Pod

import spakky.plugins
from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentSignal,
    AgentSignalKind,
    AgentYield,
    AgentYieldKind,
    Approval,
    IAgentModel,
    IAgentRunnerFactory,
    IAgentSignalRepository,
    Idempotency,
    ModelCapability,
    ModelMessageRole,
    ModelRequest,
    ModelResponse,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelToolCall,
    RecoveryStrategy,
    RunAgentInput,
    ToolEffects,
    agent_tool,
)

PLUGINS = {Plugin(name="spakky-agent"), Plugin(name="spakky-sqlalchemy")}
RUN_ID = "smoke-001"

writes: list[str] = []
requests: list[ModelRequest] = []


class WritingModel(IAgentModel):
    """A model that asks for one write and then says what came of it."""

    @property
    @override
    def capability(self) -> ModelCapability:
        return ModelCapability()

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.messages[-1].content)

    @override
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelStreamEvent]:
        requests.append(request)
        last = request.messages[-1]
        if last.role is ModelMessageRole.TOOL:
            yield ModelStreamEvent(ModelStreamEventKind.TOKEN_DELTA, token_delta=last.content)
        else:
            call = ModelToolCall("note.write", {"text": last.content}, call_id="0")
            yield ModelStreamEvent(ModelStreamEventKind.TOOL_CALL_CANDIDATE, tool_call=call)
        yield ModelStreamEvent(ModelStreamEventKind.DONE)


@Pod(name="smoke.model")
def writing_model() -> IAgentModel:
    """Give the model to whoever asks for one."""
    return WritingModel()


@Agent(spec=AgentExecutionSpec(name="note_agent", recovery=RecoveryStrategy.ACTION_BOUNDARY))
class NoteAgent:
    """A durable agent; its repositories come from the contribution of spakky-sqlalchemy."""

    def __init__(self, model: IAgentModel) -> None:
        self._model = model

    @agent_tool(
        schema_name="note.write",
        effects=ToolEffects.external_side_effect(),
        idempotency=Idempotency.NON_IDEMPOTENT,
    )
    async def write(self, text: str) -> str:
        """Write a note."""
        writes.append(text)
        return f"wrote {text}"


def import_everything() -> int:
    """Import every module of every plugin; gives how many there are."""
    # Alembic runs the migration environment itself, and the second transport belongs to an extra.
    modules = [
        module.name
        for module in pkgutil.walk_packages(spakky.plugins.__path__, "spakky.plugins.")
        if ".migrations" not in module.name and not module.name.endswith(".aiohttp_transport")
    ]
    for name in modules:
        importlib.import_module(name)
    return len(modules)


def start() -> SpakkyApplication:
    """Start an application with the agent and the durable store."""
    app = SpakkyApplication(ApplicationContext()).load_plugins(include=PLUGINS)
    app.add(writing_model)
    app.add(NoteAgent)
    return app.start()


async def run(app: SpakkyApplication, run_input: RunAgentInput) -> AgentYield[object]:
    """Run the agent to the end of its stream; gives the last item."""
    factory = app.container.get(IAgentRunnerFactory)
    async with factory.open_runner(app.container.get(NoteAgent), run_input) as runner:
        items = [item async for item in runner.run(run_input)]
    return items[-1]


async def begin(app: SpakkyApplication) -> None:
    """Run until the agent asks, and leave the decision in the store."""
    last = await run(app, RunAgentInput(RUN_ID, "remember the milk"))
    if last.kind is not AgentYieldKind.APPROVAL or not isinstance(last.payload, Approval):
        sys.exit(f"The run should wait for approval, but ended with {last!r}.")
    payload = {"request_id": last.payload.id, "decision": "approve"}
    signal = AgentSignal("decision-1", RUN_ID, AgentSignalKind.APPROVAL_DECISION, payload)
    await app.container.get(IAgentSignalRepository).append(signal)


async def finish(app: SpakkyApplication) -> None:
    """Resume the run with nothing but its id."""
    last = await run(app, RunAgentInput(RUN_ID, "", resume=True))
    if last.kind is not AgentYieldKind.FINAL:
        sys.exit(f"The run should be finished, but ended with {last!r}.")


def main() -> None:
    """Run every check; the first that fails ends the program."""
    modules = import_everything()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPAKKY_SQLALCHEMY__URL"] = f"sqlite:///{Path(folder) / 'runs.db'}"
        for part in (begin, finish):
            app = start()
            asyncio.run(part(app))
            app.stop()
    if writes != ["remember the milk"] or len(requests) != 2:
        sys.exit(f"Expected one write and two model calls, saw {writes} and {len(requests)}.")
    print(f"all wheels: {modules} modules, one durable run in two applications")


if __name__ == "__main__":
    main()
