"""Gives the agent feature its repositories; spakky calls it when both packages are loaded."""

from spakky.core.application.application import SpakkyApplication
from spakky.core.pod.annotations.pod import Pod

from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.ports.task_store import ITaskStore
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.evidence import SqlAgentEvidenceRepository
from spakky.plugins.sqlalchemy.agent.signals import SqlAgentSignalRepository
from spakky.plugins.sqlalchemy.agent.states import SqlAgentStateRepository
from spakky.plugins.sqlalchemy.agent.task_store import SqlTaskStore
from spakky.plugins.sqlalchemy.agent.transcripts import SqlAgentTranscriptRepository
from spakky.plugins.sqlalchemy.agent.unit_of_work import SqlAgentUnitOfWork
from spakky.plugins.sqlalchemy.agent.write_sink import ImmediateSink
from spakky.plugins.sqlalchemy.engine import DatabaseEngines


@Pod(name="spakky.sqlalchemy.agent.database")
def agent_database(engines: DatabaseEngines) -> AgentDatabase:
    """Give the access to the agent tables that the repositories share."""
    return AgentDatabase(engines)


@Pod(name="spakky.sqlalchemy.agent.states")
def agent_states(database: AgentDatabase) -> IAgentStateRepository:
    """Give the states and leases of runs."""
    return SqlAgentStateRepository(database, ImmediateSink(database))


@Pod(name="spakky.sqlalchemy.agent.signals")
def agent_signals(database: AgentDatabase) -> IAgentSignalRepository:
    """Give the signal queues of runs."""
    return SqlAgentSignalRepository(database, ImmediateSink(database))


@Pod(name="spakky.sqlalchemy.agent.evidence")
def agent_evidence(database: AgentDatabase) -> IAgentEvidenceRepository:
    """Give the evidence of runs."""
    return SqlAgentEvidenceRepository(database, ImmediateSink(database))


@Pod(name="spakky.sqlalchemy.agent.transcripts")
def agent_transcripts(database: AgentDatabase) -> IAgentTranscriptRepository:
    """Give the transcripts of runs."""
    return SqlAgentTranscriptRepository(database, ImmediateSink(database))


@Pod(name="spakky.sqlalchemy.agent.unit_of_work")
def agent_unit_of_work(database: AgentDatabase) -> IAgentUnitOfWork:
    """Give the units of work over the four."""
    return SqlAgentUnitOfWork(database)


@Pod(name="spakky.sqlalchemy.agent.task_store")
def task_store(database: AgentDatabase) -> ITaskStore:
    """Give the turns of conversations."""
    return SqlTaskStore(database)


def initialize(app: SpakkyApplication) -> None:
    """Register the Pods of the contribution."""
    app.add(agent_database)
    app.add(agent_states)
    app.add(agent_signals)
    app.add(agent_evidence)
    app.add(agent_transcripts)
    app.add(agent_unit_of_work)
    app.add(task_store)
