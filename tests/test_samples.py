"""The samples of the documents, run as they stand."""

import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from repository import ROOT

from spakky.agent import AgentRunner, AgentYield, AgentYieldKind, Approval, RunAgentInput
from spakky.agent_testkit.http_answers import ChatCall, chat
from spakky.agent_testkit.http_model import HttpModelServer
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say

SAMPLES = ROOT / "docs" / "samples"


def load(name: str) -> ModuleType:
    """Run a sample as a module of its own, which is how the container will look its names up."""
    spec = importlib.util.spec_from_file_location(f"docs_samples_{name}", SAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.requirement("DX-3", "VLLM-1")
async def test_the_first_agent_reads_a_file_and_answers_over_http(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("The key is under the mat.", encoding="utf-8")
    answers = [
        chat(ChatCall("file_read", json.dumps({"path": str(note)}))),
        chat("Under the mat."),
    ]
    async with HttpModelServer(answers) as server, asyncio.timeout(60):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(SAMPLES / "first_agent.py"),
            "Where is the key?",
            env={
                **os.environ,
                "SPAKKY_VLLM__BASE_URL": server.base_url,
                "SPAKKY_VLLM__MODEL": "scripted-model",
                "SPAKKY_SQLALCHEMY__URL": f"sqlite:///{tmp_path / 'unused.db'}",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    lines = output.decode().splitlines()
    assert lines[-1].startswith("final:")
    assert "Under the mat." in lines[-1]
    assert "The key is under the mat." in str(server.requests[-1].json)


@pytest.mark.requirement("DX-3")
async def test_the_durable_agent_asks_and_goes_on_with_the_answer() -> None:
    sample = load("durable_agent")
    ports = MemoryPorts()
    model = ScriptedModel([call("bill.pay", {"amount": 40}), say("All paid.")])
    agent = sample.BillingAgent(model)
    runner = replace(
        AgentRunner.for_agent_instance(agent),
        states=ports.states,
        signals=ports.signals,
        evidence=ports.evidence,
        transcripts=ports.transcripts,
        unit_of_work=ports.unit_of_work,
    )
    asked = await last_item(runner.run(RunAgentInput("run-1", "Pay the rent.")))
    assert isinstance(asked.payload, Approval)
    assert agent.paid == {}
    await sample.approve(ports.signals, "run-1", asked.payload.id)
    ended = await last_item(runner.run(RunAgentInput("run-1", "", resume=True)))
    assert ended.kind is AgentYieldKind.FINAL
    assert list(agent.paid.values()) == [40]


async def last_item(stream: AsyncGenerator[AgentYield[object], None]) -> AgentYield[object]:
    """Take a stream to its end."""
    async with asyncio.timeout(5), aclosing(stream):
        return [item async for item in stream][-1]


def test_every_sample_is_run_by_a_test_of_this_module() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(path.stem in text for path in SAMPLES.glob("*.py"))
