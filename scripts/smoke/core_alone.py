"""Run in an environment that has spakky-agent and nothing that it does not require: every public name, one run.

It imports each name and each module, runs a stateless agent with a model that is written here, and shows that an agent
which needs a store does not start without one.
"""

import asyncio
import importlib
import re
from collections.abc import AsyncIterator
from importlib.metadata import distributions
from pathlib import Path
from typing import override

from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.pod.annotations.pod import Pod

import spakky.agent
from spakky.agent import (
    PLUGIN_NAME,
    Agent,
    AgentExecutionSpec,
    AgentPersistenceConfigurationError,
    AgentRunResult,
    AgentSignalKind,
    AgentYieldKind,
    Final,
    IAgentModel,
    ModelCapability,
    ModelMessageRole,
    ModelRequest,
    ModelResponse,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelToolCall,
    RunAgentInput,
    agent_tool,
)


class EchoModel(IAgentModel):
    """A model that reads one file and then repeats what the tool said."""

    @property
    @override
    def capability(self) -> ModelCapability:
        return ModelCapability()

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.messages[-1].content)

    @override
    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelStreamEvent]:
        last = request.messages[-1]
        if last.role is ModelMessageRole.TOOL:
            yield ModelStreamEvent(ModelStreamEventKind.TOKEN_DELTA, token_delta=last.content)
        else:
            call = ModelToolCall("file.read", {"path": last.content}, call_id="0")
            yield ModelStreamEvent(ModelStreamEventKind.TOOL_CALL_CANDIDATE, tool_call=call)
        yield ModelStreamEvent(ModelStreamEventKind.DONE)


@Pod(name="smoke.model")
def echo_model() -> IAgentModel:
    """Give the model to whoever asks for one."""
    return EchoModel()


@Agent(spec=AgentExecutionSpec(name="file_agent", instructions="Read the file that is named."))
class FileAgent:
    """A stateless agent: it runs with a model and nothing else."""

    def __init__(self, model: IAgentModel) -> None:
        self._model = model

    @agent_tool(schema_name="file.read")
    async def read(self, path: str) -> str:
        """Read a file."""
        return f"content of {path}"


@Agent(spec=AgentExecutionSpec(name="waiting", accepted_signals=(AgentSignalKind.CANCEL,)))
class WaitingAgent:
    """A durable agent: it must not start without repositories."""

    def __init__(self, model: IAgentModel) -> None:
        self._model = model


def import_everything() -> int:
    """Import every public name and every module; gives how many modules there are."""
    for name in spakky.agent.__all__:
        # The names are what is tested, so they are looked up by name.
        getattr(spakky.agent, name)
    [folder] = [Path(path) for path in spakky.agent.__path__]
    modules = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")]
    for module in modules:
        importlib.import_module(".".join(("spakky.agent", *module.parts)).removesuffix(".__init__"))
    return len(modules)


def foreign_distributions() -> set[str]:
    """Give the installed distributions that neither the core nor the container asks for."""
    installed = {_normal(found.name): found.requires or [] for found in distributions()}
    wanted: set[str] = set()
    waiting = ["spakky-agent"]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [_normal(line) for line in installed[name] if "extra ==" not in line]
    return set(installed) - wanted - {"pip", "setuptools"}


def _normal(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    return name.lower().replace("_", "-")


async def run_stateless(agent: FileAgent) -> str:
    """Run the agent as an application would; gives the text of its answer."""
    # The standard loop is bound by the decorator, which a type checker does not see.
    execute = getattr(agent, "execute")  # noqa: B009
    items = [item async for item in execute(RunAgentInput("run-001", "notes.txt"))]
    final = items[-1]
    if final.kind is not AgentYieldKind.FINAL or not isinstance(final.payload, Final):
        message = f"The run ended with {final!r}."
        raise SystemExit(message)
    result = final.payload.output
    if not isinstance(result, AgentRunResult):
        message = f"The run gave {result!r}."
        raise SystemExit(message)
    return result.output_text


def main() -> None:
    """Run every check; the first that fails ends the program."""
    foreign = foreign_distributions()
    if foreign:
        message = f"Not alone: {', '.join(sorted(foreign))} are installed too."
        raise SystemExit(message)
    run_checks()


def run_checks() -> None:
    """Run the checks that do not look at what is installed."""
    modules = import_everything()
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    app.add(echo_model)
    app.add(FileAgent)
    app.start()
    text = asyncio.run(run_stateless(app.container.get(FileAgent)))
    app.stop()
    if text != "content of notes.txt":
        message = f"The agent answered {text!r}."
        raise SystemExit(message)
    refuse_without_store()
    print(f"core alone: {len(spakky.agent.__all__)} names, {modules} modules, one run")


def refuse_without_store() -> None:
    """Show that a durable agent fails the start and says what to install."""
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    app.add(echo_model)
    app.add(WaitingAgent)
    try:
        app.start()
    except AgentPersistenceConfigurationError as error:
        if "spakky-sqlalchemy[agent]" in str(error):
            return
        raise
    message = "A durable agent started without repositories."
    raise SystemExit(message)


if __name__ == "__main__":
    main()
