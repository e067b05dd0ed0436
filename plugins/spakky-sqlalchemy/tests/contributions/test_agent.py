"""The contribution in an application with both packages."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext

from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.ports.repositories import (
    IAgentEvidenceRepository,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
)
from spakky.agent.ports.task_store import ITaskStore
from spakky.plugins.sqlalchemy import main
from spakky.plugins.sqlalchemy.contributions import agent

PORTS: dict[str, type] = {
    "states": IAgentStateRepository,
    "signals": IAgentSignalRepository,
    "evidence": IAgentEvidenceRepository,
    "transcripts": IAgentTranscriptRepository,
    "unit_of_work": IAgentUnitOfWork,
    "task_store": ITaskStore,
}


@pytest.mark.requirement("PKG-6", "SQL-1", "STORE-9")
async def test_the_container_resolves_every_port_by_its_type_and_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPAKKY_SQLALCHEMY__URL", f"sqlite:///{tmp_path / 'agent.db'}")
    app = SpakkyApplication(ApplicationContext())
    main.initialize(app)
    agent.initialize(app)
    app.start()
    for name, port in PORTS.items():
        found: object = app.container.get(port)
        assert isinstance(found, port)
        assert app.container.get(port, f"spakky.sqlalchemy.agent.{name}") is found
    # Embedded, the tables are made at the first use.
    states = app.container.get(IAgentStateRepository)
    saved = await states.save(AgentState("run", "tests.Agent", AgentStatus.ACTIVE))
    assert await states.get("run") == saved
    app.stop()


@pytest.mark.requirement("PKG-6")
def test_the_package_offers_the_contribution_in_the_group_of_the_feature() -> None:
    [found] = [
        point
        for point in entry_points(group="spakky.contributions.spakky.agent")
        if point.name == "spakky-sqlalchemy"
    ]
    assert found.load() is agent.initialize
    [base] = [
        point for point in entry_points(group="spakky.plugins") if point.name == "spakky-sqlalchemy"
    ]
    assert base.load() is main.initialize
