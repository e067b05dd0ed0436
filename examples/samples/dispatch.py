"""Running a model's tool call by hand: look-up, binding and the call in one step."""

from samples.file_agent import FileAgent
from spakky.agent import Agent, AgentToolDispatcher, ModelToolCall


async def dispatch(assistant: FileAgent, model_tool_call: ModelToolCall) -> object:
    """Run a call on an agent that stands outside its loop."""
    dispatcher = AgentToolDispatcher(
        target=assistant,
        catalog=Agent.get(FileAgent).tool_catalog,
    )
    return await dispatcher.dispatch(model_tool_call)
