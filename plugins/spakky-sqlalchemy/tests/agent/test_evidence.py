"""Evidence is never changed, not even by whoever can write SQL."""

from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy.exc import DBAPIError

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.error import AgentPersistenceError
from spakky.agent.ports.repositories import IAgentEvidenceRepository
from spakky.agent_testkit.contracts import PortsUnderTest

type RunSql = Callable[..., Awaitable[list[tuple[object, ...]]]]


@pytest.mark.requirement("EVID-6", "SQL-5")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spakky_agent_evidence SET payload = '{}'",
        "UPDATE spakky_agent_evidence SET summary = 'x' WHERE id = 'one'",
        "DELETE FROM spakky_agent_evidence",
        "DELETE FROM spakky_agent_evidence WHERE id = 'one'",
    ],
)
async def test_the_database_refuses_to_change_or_remove_evidence(
    ports: PortsUnderTest, run_sql: RunSql, statement: str
) -> None:
    kept = await ports.evidence.append(
        AgentEvidence("one", "run", AgentEvidenceKind.TOOL, {"n": 1}, "summary")
    )
    before = await run_sql("SELECT * FROM spakky_agent_evidence")
    with pytest.raises(DBAPIError, match="append-only"):
        await run_sql(statement)
    assert await run_sql("SELECT * FROM spakky_agent_evidence") == before
    assert await ports.evidence.get("one") == kept


@pytest.mark.requirement("EVID-6", "SQL-5")
@pytest.mark.parametrize("dialect", ["postgresql"])
@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE spakky_agent_evidence",
        "INSERT INTO spakky_agent_evidence SELECT * FROM spakky_agent_evidence "
        "ON CONFLICT (id) DO UPDATE SET summary = 'x'",
    ],
)
async def test_postgresql_has_no_way_around_it(
    ports: PortsUnderTest, run_sql: RunSql, statement: str
) -> None:
    await ports.evidence.append(AgentEvidence("one", "run", AgentEvidenceKind.TOOL))
    with pytest.raises(DBAPIError, match="append-only"):
        await run_sql(statement)


@pytest.mark.requirement("EVID-6", "SQL-5")
@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("columns", ["seq + 1, id", "seq, 'other'"])
async def test_sqlite_does_not_replace_evidence(
    ports: PortsUnderTest, run_sql: RunSql, columns: str
) -> None:
    kept = await ports.evidence.append(AgentEvidence("one", "run", AgentEvidenceKind.TOOL))
    rest = "state_id, kind, payload, sensitive_fields, created_at"
    with pytest.raises(DBAPIError):
        await run_sql(
            f"REPLACE INTO spakky_agent_evidence (seq, id, {rest}) "  # noqa: S608
            f"SELECT {columns}, {rest} FROM spakky_agent_evidence"
        )
    assert list(await ports.evidence.list_by_state("run")) == [kept]


async def test_a_used_id_is_told_as_such(ports: PortsUnderTest) -> None:
    evidence = AgentEvidence("one", "run", AgentEvidenceKind.TOOL)
    await ports.evidence.append(evidence)
    with pytest.raises(AgentPersistenceError, match="'one': evidence with that id exists"):
        await ports.evidence.append(evidence)


@pytest.mark.requirement("EVID-5", "STORE-2")
def test_the_port_offers_only_appending_and_reading() -> None:
    assert set(IAgentEvidenceRepository.__abstractmethods__) == {
        "append",
        "get",
        "list_by_state",
        "list_by_manifest_ref",
    }
