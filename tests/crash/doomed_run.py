"""A durable run that is killed at each of its points, as a program.

    python doomed_run.py matrix DATABASE_URL FOLDER

Each life is a process of its own, forked from this one before it has an event loop or a thread, so that the imports are
paid once. The first life starts the run and dies at a point by SIGKILL. The second is what an operator does after that:
the dead process's lease runs out, the run is resumed, and whatever it asks is answered (a call in doubt gets its result
supplied), until it has ended; it leaves what is stored as JSON. One line of JSON is printed for each point, and a last
one for the life that was not killed. ``{number}`` in the URL is the number of the point.

The agent reads twice in parallel, adds to a diary (which must not be repeated), pays (which a person must approve), and
answers. Each effect is one line in the ledger, with a point before it and a point after it.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, override
from uuid import uuid4

from sqlalchemy import update

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentRunner,
    AgentSignal,
    AgentSignalKind,
    AgentYield,
    AgentYieldKind,
    IAgentModel,
    RecoveryStrategy,
    RunAgentInput,
)
from spakky.agent_testkit.crash import KillingModel, KillingUnitOfWork, KillPoints, Ledger
from spakky.agent_testkit.desk import DeskTools
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.evidence import SqlAgentEvidenceRepository
from spakky.plugins.sqlalchemy.agent.signals import SqlAgentSignalRepository
from spakky.plugins.sqlalchemy.agent.states import SqlAgentStateRepository
from spakky.plugins.sqlalchemy.agent.tables import runs
from spakky.plugins.sqlalchemy.agent.task_store import SqlTaskStore
from spakky.plugins.sqlalchemy.agent.transcripts import SqlAgentTranscriptRepository
from spakky.plugins.sqlalchemy.agent.unit_of_work import SqlAgentUnitOfWork
from spakky.plugins.sqlalchemy.agent.write_sink import ImmediateSink
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

SCRIPT = [
    [*say("reading"), *call("file.read", {"path": "a"}), *call("file.read", {"path": "b"})],
    [*call("diary.add", {"text": "1"}), *call("bank.pay", {"amount": 5})],
    [*say("done")],
]


@Agent(
    spec=AgentExecutionSpec(
        name="desk", instructions="Be exact.", recovery=RecoveryStrategy.ACTION_BOUNDARY
    )
)
class LedgerDesk(DeskTools):
    """The desk whose effects are lines in a file."""

    def __init__(self, model: IAgentModel, ledger: Ledger, points: KillPoints) -> None:
        super().__init__()
        self.model = model
        self._file = ledger
        self._points = points

    @override
    async def _did(self, line: str) -> None:
        self._points.reach_now(f"before {line}")
        self._file.append(line)
        self._points.reach_now(f"after {line}")


def build_runner(engines: DatabaseEngines, ledger: Ledger, points: KillPoints) -> AgentRunner:
    """Give the runner of one life; the model answers by how far the conversation has come."""
    database = AgentDatabase(engines)
    sink = ImmediateSink(database)
    model = KillingModel(ScriptedModel(SCRIPT, by_progress=True), points)
    return AgentRunner(
        agent=Agent.get(LedgerDesk),
        target=LedgerDesk(model, ledger, points),
        model=model,
        states=SqlAgentStateRepository(database, sink),
        signals=SqlAgentSignalRepository(database, sink),
        evidence=SqlAgentEvidenceRepository(database, sink),
        transcripts=SqlAgentTranscriptRepository(database, sink),
        unit_of_work=KillingUnitOfWork(SqlAgentUnitOfWork(database), points),
        task_store=SqlTaskStore(database),
    )


async def live(runner: AgentRunner, run_id: str) -> None:
    """Start the run, and take whatever comes."""
    async for _ in runner.run(RunAgentInput(run_id, "do it")):
        pass


async def survive(runner: AgentRunner, engines: DatabaseEngines, run_id: str) -> dict[str, Any]:
    """Resume until the run has ended, and tell what is stored of it."""
    assert runner.states is not None
    assert runner.transcripts is not None
    async with engines.engine.begin() as connection:
        await connection.execute(update(runs).values(expires_at=LONG_AGO))
    questions: list[str] = []
    last: AgentYield[Any] | None = None
    for _ in range(6):
        state = await runner.states.get_or_none(run_id)
        run_input = RunAgentInput(run_id, "do it", resume=state is not None)
        items: list[AgentYield[Any]] = [item async for item in runner.run(run_input)]
        last = items[-1]
        if last.kind is not AgentYieldKind.APPROVAL:
            break
        questions.append(last.payload.id)
        await answer(runner, run_id, last.payload.id)
    stored = await runner.transcripts.load(run_id)
    state = await runner.states.get(run_id)
    return {
        "last": None if last is None else last.kind.value,
        "status": state.status.value,
        "questions": questions,
        "transcript": [
            [m.role.value, m.content, m.tool_call_id, [c.call_id for c in m.tool_calls]]
            for m in stored
        ],
    }


async def answer(runner: AgentRunner, run_id: str, request_id: str) -> None:
    """Approve a request; a call in doubt is not run again but gets its result."""
    assert runner.signals is not None
    payload: dict[str, Any] = {"request_id": request_id, "decision": "approve"}
    if request_id.endswith("/recovery"):
        payload["result"] = "supplied"
    signal = AgentSignal(uuid4().hex, run_id, AgentSignalKind.APPROVAL_DECISION, payload)
    await runner.signals.append(signal)


async def start_life(mode: str, url: str, ledger: Path, run_id: str, points: KillPoints) -> None:
    """Live once, or survive."""
    engines = DatabaseEngines(SqlalchemySettings(url=url))
    runner = build_runner(engines, Ledger(ledger), points)
    if mode == "live":
        await live(runner, run_id)
    else:
        left = await survive(runner, engines, run_id)
        ledger.with_suffix(".json").write_text(json.dumps(left), encoding="utf-8")
    await engines.dispose()


def fork_life(mode: str, url: str, ledger: Path, run_id: str, kill_at: int | None) -> int:
    """Run one life in a process of its own, and give how it ended: 0, or minus the signal's number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            points = KillPoints(kill_at, ledger.with_suffix(".points"))
            asyncio.run(start_life(mode, url, ledger, run_id, points))
            code = 0
        except BaseException:  # noqa: BLE001 - the process ends here, and says why
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_matrix(url: str, folder: Path) -> None:
    """Kill a life at each point in turn, until one is not killed."""
    number, ended = 0, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        number += 1
        ledger = folder / f"ledger-{number}"
        here = url.replace("{number}", str(number))
        ended = fork_life("live", here, ledger, f"run-{number}", number)
        reached = ledger.with_suffix(".points").read_text(encoding="utf-8").splitlines()
        survived = fork_life("survive", here, ledger, f"run-{number}", None)
        if ended not in {0, -signal.SIGKILL} or survived != 0:
            sys.exit(f"point {number}: lives ended with {ended} and {survived}")
        left = json.loads(ledger.with_suffix(".json").read_text(encoding="utf-8"))
        line = {
            "killed": ended != 0,
            "point": reached[-1],
            "ledger": Ledger(ledger).lines(),
            **left,
        }
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    run_matrix(sys.argv[2], Path(sys.argv[3]))
