"""A declarative agent: a spec and one tool; the framework gives the loop."""

# ruff: noqa: ASYNC230, D101, D102, PTH123 - the class stands as the document has it

from collections.abc import AsyncGenerator
from typing import Protocol

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentYield,
    IAgentModel,
    RunAgentInput,
    agent_tool,
)


@Agent(
    spec=AgentExecutionSpec(
        name="file_agent",
        instructions="Use the declared tools to read and summarize files.",
    )
)
class FileAgent:
    def __init__(self, model: IAgentModel) -> None:
        self.model = model

    @agent_tool(schema_name="file.read")
    async def read_file(self, path: str) -> str:
        with open(path) as f:
            return f.read()


class Executable(Protocol):
    """What ``@Agent`` makes of a class: the loop becomes its ``execute``, which runs the agent."""

    def execute(self, run_input: RunAgentInput) -> AsyncGenerator[AgentYield[object], None]: ...


async def call(agent_instance: Executable) -> None:
    """Run an agent and print what it shows."""
    run_input = RunAgentInput(state_id="run-001", instruction="Read README.md and summarize.")
    async for item in agent_instance.execute(run_input):
        print(item)
