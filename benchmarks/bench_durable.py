"""Durable runs: ten tool turns with a commit at every boundary, and what a streamed delta costs the store."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import override

from agents import TRANSPORTS, DurableAgent, make_model, run_yields
from by_hand import Store, make_client, run_by_hand
from by_hand_stores import postgresql_store, sqlite_store
from measure import Row, Work, least_costs, print_table
from model_server import running_server
from scenarios import DELTAS, TURN_DELTAS, TURNS, Scenario
from sqlalchemy.ext.asyncio import AsyncConnection

from spakky.agent import Agent, AgentRunner
from spakky.agent.loop.watcher import WatchTimes
from spakky.agent.ports.model import IAgentModel
from spakky.agent_testkit.postgres import URL_VARIABLE, PostgresqlServer, run_embedded_server
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.evidence import SqlAgentEvidenceRepository
from spakky.plugins.sqlalchemy.agent.migrate import upgrade_now
from spakky.plugins.sqlalchemy.agent.signals import SqlAgentSignalRepository
from spakky.plugins.sqlalchemy.agent.states import SqlAgentStateRepository
from spakky.plugins.sqlalchemy.agent.transcripts import SqlAgentTranscriptRepository
from spakky.plugins.sqlalchemy.agent.unit_of_work import SqlAgentUnitOfWork
from spakky.plugins.sqlalchemy.agent.write_sink import ImmediateSink
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

ROUNDS = 12
TOOL_DELTAS = (TURNS + 1) * TURN_DELTAS
type OpenStore = Callable[[], AbstractAsyncContextManager[Store]]


class CountingDatabase(AgentDatabase):
    """Counts the queries that the ports make."""

    reads = 0

    @override
    async def read[T](self, action: str, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        self.reads += 1
        return await super().read(action, work)


def make_runner(
    database: AgentDatabase, model: IAgentModel, times: WatchTimes | None = None
) -> AgentRunner:
    """Give the runner of a durable agent."""
    sink = ImmediateSink(database)
    return AgentRunner(
        agent=Agent.get(DurableAgent),
        target=DurableAgent(model),
        model=model,
        states=SqlAgentStateRepository(database, sink),
        signals=SqlAgentSignalRepository(database, sink),
        evidence=SqlAgentEvidenceRepository(database, sink),
        transcripts=SqlAgentTranscriptRepository(database, sink),
        unit_of_work=SqlAgentUnitOfWork(database),
        times=times or WatchTimes(),
    )


async def measure_turns(server: str, url: str, name: str, open_store: OpenStore) -> list[Row]:
    """Give the lines of one database."""
    async with make_client() as client, open_store() as store, AsyncExitStack() as models:
        works: dict[str, Work] = {
            "hand": lambda: run_by_hand(client, server, Scenario.TOOLS, store)
        }
        for transport in TRANSPORTS:
            model = make_model(server, Scenario.TOOLS, transport)
            models.push_async_callback(model.aclose)
            engines = DatabaseEngines(SqlalchemySettings(url=url))
            models.push_async_callback(engines.dispose)
            works[transport] = partial(run_yields, make_runner(AgentDatabase(engines), model))
        costs = await least_costs(works, rounds=ROUNDS, expected=TOOL_DELTAS)
    hand = costs["hand"].cpu_seconds * 1e3
    return [
        Row(
            f"{TURNS} tool turns on {name}, {transport}",
            hand,
            costs[transport].cpu_seconds * 1e3,
            "ms",
            2.0,
        )
        for transport in TRANSPORTS
    ]


async def count_reads(server: str, url: str) -> Row:
    """Give how many more queries a run makes for two thousand deltas than for one, without the inbox's timer."""
    database = CountingDatabase(DatabaseEngines(SqlalchemySettings(url=url)))
    rarely = WatchTimes(poll_seconds=3600.0, lease_seconds=7200.0)
    counts: list[int] = []
    for scenario in (Scenario.FIRST, Scenario.STREAM):
        model = make_model(server, scenario)
        database.reads = 0
        await run_yields(make_runner(database, model, rarely))
        counts.append(database.reads)
        await model.aclose()
    few, many = counts
    return Row("queries per delta", None, (many - few) / (DELTAS - 1), "", 0.0)


async def measure_all(server: str, postgresql: PostgresqlServer, folder: Path) -> list[Row]:
    """Give all lines."""
    file_url = f"sqlite:///{folder / 'ours.sqlite3'}"
    server_url = postgresql.create_database(f"benchmark_{os.getpid()}")
    await asyncio.to_thread(upgrade_now, SqlalchemySettings(url=server_url))
    try:
        return [
            *await measure_turns(
                server, file_url, "SQLite", lambda: sqlite_store(folder / "hand.sqlite3")
            ),
            *await measure_turns(
                server, server_url, "PostgreSQL", lambda: postgresql_store(server_url)
            ),
            await count_reads(server, file_url),
        ]
    finally:
        postgresql.drop_database(f"benchmark_{os.getpid()}")


@contextmanager
def running_postgresql(folder: Path) -> Iterator[PostgresqlServer]:
    """Give the server that the environment names, or one of our own that writes to disk as usual."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield PostgresqlServer(given)
        return
    folder.mkdir()
    with run_embedded_server(folder, {"shared_buffers": "32MB"}) as server:
        yield server


def main() -> None:
    """Measure and print."""
    with (
        tempfile.TemporaryDirectory(prefix="spakky-benchmark-") as name,
        running_server() as server,
    ):
        folder = Path(name)
        # The database server may run as another user, who has to get into the folder.
        folder.chmod(0o755)
        with running_postgresql(folder / "postgresql") as postgresql:
            rows = asyncio.run(measure_all(server, postgresql, folder))
    print_table("Durable runs: CPU time of the client", rows)


if __name__ == "__main__":
    main()
