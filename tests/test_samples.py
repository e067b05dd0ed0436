"""The samples of the documents, run as they stand."""

import asyncio
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import alembic.command
import pytest
from alembic.config import Config
from repository import ROOT
from sqlalchemy import create_engine

from spakky.agent import AgentRunner, AgentYield, AgentYieldKind, Approval, RunAgentInput
from spakky.agent_testkit.http_answers import ChatCall, chat
from spakky.agent_testkit.http_model import HttpModelServer
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say
from spakky.plugins.sqlalchemy import SqlalchemySettings, Transactions
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

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


@pytest.mark.requirement("DX-3")
async def test_orders_are_kept_in_the_transaction_of_the_caller(tmp_path: Path) -> None:
    sample = load("orders")
    engines = DatabaseEngines(SqlalchemySettings(url=f"sqlite:///{tmp_path / 'orders.db'}"))
    async with engines.engine.begin() as connection:
        await connection.run_sync(sample.Base.metadata.create_all)
    transactions = Transactions(engines)
    await sample.place(sample.Orders(transactions), transactions, sample.Order(id=7))
    async with transactions.begin() as session:
        assert await session.get(sample.Order, 7) is not None
    await engines.dispose()


@pytest.mark.requirement("DX-3")
def test_the_agent_tables_are_made_in_the_database_of_the_environment(tmp_path: Path) -> None:
    database = tmp_path / "agents.db"
    subprocess.run(
        [sys.executable, str(SAMPLES / "agent_tables.py")],
        env={**os.environ, "SPAKKY_SQLALCHEMY__URL": f"sqlite:///{database}"},
        check=True,
        timeout=60,
    )
    assert "spakky_agent_state" in " ".join(tables_of(database))


@pytest.mark.requirement("DX-3")
def test_an_application_migrates_its_tables_and_those_of_its_agents_together(
    tmp_path: Path,
) -> None:
    (tmp_path / "versions").mkdir()
    shutil.copy(SAMPLES / "alembic_env.py", tmp_path / "env.py")
    (tmp_path / "versions" / "first.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n\n"
        "revision = 'app_0001'\ndown_revision = None\nbranch_labels = ('app',)\n\n\n"
        "def upgrade():\n    op.create_table('orders', sa.Column('id', sa.Integer, primary_key=True))\n",
        encoding="utf-8",
    )
    config = Config()
    config.set_main_option("script_location", str(tmp_path))
    config.set_main_option("path_separator", "newline")
    locations = f"{tmp_path / 'versions'}\nspakky.plugins.sqlalchemy.agent:migrations/versions"
    config.set_main_option("version_locations", locations)
    database = tmp_path / "app.db"
    engine = create_engine(f"sqlite:///{database}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "heads")
    engine.dispose()
    found = tables_of(database)
    assert "orders" in found
    assert "spakky_agent_state" in " ".join(found)


def tables_of(database: Path) -> list[str]:
    """Give the names of a database's tables."""
    with closing(sqlite3.connect(database)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]


async def last_item(stream: AsyncGenerator[AgentYield[object], None]) -> AgentYield[object]:
    """Take a stream to its end."""
    async with asyncio.timeout(5), aclosing(stream):
        return [item async for item in stream][-1]


def test_every_sample_is_run_by_a_test_of_this_module() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert all(path.stem in text for path in SAMPLES.glob("*.py"))
