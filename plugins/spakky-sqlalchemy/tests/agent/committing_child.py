"""Commits unit of work after unit of work, and says on standard output when each one is committed.

Run with the URL of a database and the id of a run; it goes on until it is killed.
"""

import asyncio
import os
import sys

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.states import SqlAgentStateRepository
from spakky.plugins.sqlalchemy.agent.unit_of_work import SqlAgentUnitOfWork
from spakky.plugins.sqlalchemy.agent.write_sink import ImmediateSink
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines


async def commit_for_ever(url: str, run: str) -> None:
    """Write the number of each commit into all tables of the run."""
    database = AgentDatabase(DatabaseEngines(SqlalchemySettings(url=url)))
    states = SqlAgentStateRepository(database, ImmediateSink(database))
    work = SqlAgentUnitOfWork(database)
    lease = await states.claim(run, "child", 600)
    state = AgentState(run, "tests.Agent", AgentStatus.ACTIVE)
    number = 0
    while True:
        number += 1
        name = f"{run}-{number}"
        async with work.begin(lease) as scope:
            if number > 1:
                await scope.signals.mark_consumed(f"{run}-{number - 1}")
            await scope.signals.append(AgentSignal(name, run, AgentSignalKind.USER_MESSAGE))
            await scope.evidence.append(AgentEvidence(name, run, AgentEvidenceKind.TOOL))
            message = ModelMessage(ModelMessageRole.USER, name)
            await scope.transcripts.append(run, [message, message])
            state = await scope.states.save(state)
        # Unbuffered: what was said is out when the process dies.
        os.write(sys.stdout.fileno(), f"{number}\n".encode())


if __name__ == "__main__":
    asyncio.run(commit_for_ever(sys.argv[1], sys.argv[2]))
