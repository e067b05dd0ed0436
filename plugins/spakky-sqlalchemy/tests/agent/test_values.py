"""Values that one of the databases would damage: the same comes back from both."""

import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.json_value import JsonObject, JsonValue, digest_value
from spakky.agent.ports.task_store import ConversationTurn
from spakky.agent_testkit.contracts import PortsUnderTest

type RunSql = Callable[..., Awaitable[list[tuple[object, ...]]]]

MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def seoul(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.requirement("SQL-2")
@pytest.mark.usefixtures("seoul")
async def test_times_come_back_aware_and_equal_in_a_process_of_another_zone(
    ports: PortsUnderTest, run_sql: RunSql
) -> None:
    at = datetime(2026, 1, 1, 21, 0, tzinfo=timezone(timedelta(hours=9)))
    before = datetime.now(UTC)
    saved = await ports.states.save(AgentState("run", "tests.Agent", AgentStatus.ACTIVE))
    given = await ports.signals.append(
        AgentSignal("given", "run", AgentSignalKind.CANCEL, created_at=at)
    )
    filled = await ports.signals.append(AgentSignal("filled", "run", AgentSignalKind.CANCEL))
    assert given.created_at == at == datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
    assert list(await ports.signals.list_pending("run")) == [given, filled]
    lease = await ports.states.claim("run", "me", 60)
    for stored in (saved.created_at, saved.updated_at, filled.created_at):
        assert stored is not None
        assert before <= stored <= datetime.now(UTC)
    assert before < lease.expires_at < datetime.now(UTC) + timedelta(seconds=61)
    await ports.signals.mark_consumed("given")
    [(consumed,)] = await run_sql("SELECT consumed_at FROM spakky_agent_signals WHERE id = 'given'")
    if isinstance(consumed, str):
        consumed = datetime.fromisoformat(consumed)
    assert isinstance(consumed, datetime)
    # SQLite's clock is read to the millisecond.
    assert before - timedelta(milliseconds=1) <= consumed <= datetime.now(UTC)


@pytest.mark.requirement("SQL-2")
@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
async def test_characters_that_cannot_be_stored_are_replaced_everywhere(
    ports: PortsUnderTest, run_sql: RunSql, bad: str
) -> None:
    text, clean = f"a{bad}b", f"a{MARK}b"
    data: JsonObject = {text: [text, {"k": text}]}
    clean_data: JsonObject = {clean: [clean, {"k": clean}]}
    saved = await ports.states.save(
        AgentState(
            text,
            text,
            AgentStatus.ACTIVE,
            current_activity=text,
            input_ref=text,
            metadata=data,
            checkpoint=data,
        )
    )
    assert (saved.id, saved.metadata, saved.checkpoint) == (clean, clean_data, clean_data)
    assert await ports.states.get(text) == await ports.states.get(clean) == saved
    again = await ports.states.save(saved)
    assert (again.version, again.created_at) == (2, saved.created_at)

    signal = await ports.signals.append(AgentSignal(text, text, AgentSignalKind.CANCEL, data))
    assert list(await ports.signals.list_pending(text)) == [signal]
    assert await ports.signals.mark_consumed(text) == signal
    evidence = AgentEvidence(
        text, text, AgentEvidenceKind.TOOL, data, summary=text, manifest_ref=text
    )
    kept = await ports.evidence.append(evidence)
    assert (kept.payload, kept.summary) == (clean_data, clean)
    assert list(await ports.evidence.list_by_manifest_ref(text)) == [kept]

    call = ModelToolCall("tool", data)
    message = ModelMessage(ModelMessageRole.ASSISTANT, text, tool_calls=(call,))
    await ports.transcripts.append(text, [message])
    [loaded] = await ports.transcripts.load(text)
    assert (loaded.content, loaded.tool_calls[0].arguments) == (clean, clean_data)
    await ports.task_store.append_turns(text, [ConversationTurn(ModelMessageRole.USER, text)])
    [turn] = await ports.task_store.load_history(text)
    assert turn.content == clean

    # And the databases can look into what they have.
    [(found,)] = await run_sql("SELECT payload ->> :key FROM spakky_agent_evidence", key=clean)
    assert found is not None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (1e16, 1e16),
        (1e23, 1e23),
        (1e308, 1e308),
        (5e-324, 5e-324),
        (-0.0, 0.0),
        (2**63, 2**63),
        (10**40, 10**40),
        (0.1, 0.1),
    ],
)
async def test_numbers_come_back_equal_or_as_their_names(
    ports: PortsUnderTest, value: JsonValue, stored: JsonValue
) -> None:
    data: JsonObject = {"n": [value]}
    signal = await ports.signals.append(AgentSignal("one", "run", AgentSignalKind.CANCEL, data))
    assert signal.payload == {"n": [stored]}
    [pending] = await ports.signals.list_pending("run")
    assert pending == signal
    assert digest_value(pending.payload) == digest_value(signal.payload)


@pytest.mark.requirement("SIG-7", "SQL-4")
async def test_equal_times_and_random_ids_do_not_change_the_order(ports: PortsUnderTest) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    names = [f"{number * 7919 % 101:03}" for number in range(50)]
    for start in range(0, 48, 3):
        async with ports.unit_of_work.begin() as scope:
            for name in names[start : start + 3]:
                signal = AgentSignal(name, "run", AgentSignalKind.CANCEL, created_at=at)
                await scope.signals.append(signal)
                evidence = AgentEvidence(
                    name, "run", AgentEvidenceKind.TOOL, manifest_ref="m", created_at=at
                )
                await scope.evidence.append(evidence)
    assert [signal.id for signal in await ports.signals.list_pending("run")] == names[:48]
    assert [item.id for item in await ports.evidence.list_by_state("run")] == names[:48]
    assert [item.id for item in await ports.evidence.list_by_manifest_ref("m")] == names[:48]
