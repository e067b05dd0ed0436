"""An agent that runs on the adapter, against a local server."""

import json
from typing import Any

import pytest
from vllm_server import ModelServer, Reply
from vllm_wire import DONE, call, call_part, finish, text

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentYieldKind,
    IAgentModel,
    RunAgentInput,
    agent_tool,
)
from spakky.plugins.vllm import VllmAgentModel

RAN: list[str] = []


@Agent(spec=AgentExecutionSpec(name="vllm_file_agent", instructions="Read files."))
class FileAgent:
    """Reads files."""

    def __init__(self, model: IAgentModel) -> None:
        self.model = model

    @agent_tool(schema_name="file.read")
    async def read(self, path: str) -> str:
        """Read a file."""
        RAN.append(path)
        return f"text of {path}"


# What is yielded depends on the run; these tests look at the items by name.
async def run(model: VllmAgentModel) -> list[Any]:
    RAN.clear()
    # @Agent adds execute() when the class is defined, which a type checker cannot see.
    agent: Any = FileAgent(model)
    run_input = RunAgentInput(state_id="run-1", instruction="Read README.md.")
    return [item async for item in agent.execute(run_input)]


@pytest.mark.requirement("VLLM-1", "VLLM-4", "PKG-2")
async def test_an_agent_calls_its_tool_and_answers_with_what_the_tool_gave(
    server: ModelServer, model: VllmAgentModel
) -> None:
    """OP-A03, OP-A12: the reason "stop" after a call, and a dotted tool name."""
    part = call_part(0, id="c1", name="file_read", arguments='{"path":"README.md"}')
    server.reply(
        Reply([call(part), finish("stop"), DONE]),
        Reply([text("It is "), text("short."), finish("stop"), DONE]),
    )

    items = await run(model)

    assert RAN == ["README.md"]
    assert len(server.requests) == 2
    told = [item.payload.text for item in items if item.kind is AgentYieldKind.TOKEN]
    assert "".join(told) == "It is short."
    assert items[-1].kind is AgentYieldKind.FINAL
    first, second = (item.json for item in server.requests)
    assert json.dumps(first["tools"]).count('"file_read"') == 1
    history: Any = second["messages"]
    assert [message["role"] for message in history[-3:]] == ["user", "assistant", "tool"]
    assert history[-1]["tool_call_id"] == history[-2]["tool_calls"][0]["id"]
    assert "text of README.md" in history[-1]["content"]


@pytest.mark.requirement("VLLM-6", "LOOP-26")
@pytest.mark.parametrize(
    "reply",
    [
        Reply([call(call_part(0, id="c", name="file_read", arguments='{"path":"a'))], cut=True),
        Reply(
            [
                call(call_part(0, id="c", name="file_read", arguments='{"path":"a"}')),
                finish("length"),
            ]
        ),
        Reply([b'{"error":{"message":"wrong key"}}'], status=401),
    ],
    ids=["broken", "cut", "refused"],
)
async def test_a_failed_answer_runs_no_tool_and_gives_no_final_item(
    server: ModelServer, model: VllmAgentModel, reply: Reply
) -> None:
    """OP-A08, OP-A10, OP-A11."""
    server.reply(reply)

    items = await run(model)

    assert RAN == []
    kinds = [item.kind for item in items]
    assert AgentYieldKind.ERROR in kinds
    assert AgentYieldKind.FINAL not in kinds
