"""An agent that reads files: a class, a spec and one tool; the loop comes from the framework."""

import asyncio
import sys
from pathlib import Path

from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    IAgentModel,
    IAgentRunnerFactory,
    Idempotency,
    RunAgentInput,
    ToolEffects,
    agent_tool,
)


@Agent(
    spec=AgentExecutionSpec(
        name="file_agent", instructions="Read the files you are asked about, then answer."
    )
)
class FileAgent:
    """Answers questions about files."""

    def __init__(self, model: IAgentModel) -> None:
        self._model = model

    @agent_tool(
        schema_name="file.read", effects=ToolEffects.read_only(), idempotency=Idempotency.IDEMPOTENT
    )
    def read(self, path: str) -> str:
        """Read a text file."""
        return Path(path).read_text(encoding="utf-8")


async def main(instruction: str) -> None:
    """Run the agent once and print what it does."""
    app = SpakkyApplication(ApplicationContext()).load_plugins()
    app.add(FileAgent)
    app.start()
    run_input = RunAgentInput(state_id="run-001", instruction=instruction)
    factory = app.container.get(IAgentRunnerFactory)
    async with factory.open_runner(app.container.get(FileAgent), run_input) as runner:
        async for item in runner.run(run_input):
            sys.stdout.write(f"{item.kind.value}: {item.payload}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
