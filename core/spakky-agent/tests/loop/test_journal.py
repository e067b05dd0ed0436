"""The persistence boundary: what a commit writes, when it writes nothing, and the lease."""

from dataclasses import replace
from typing import Any

import pytest

from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.error import (
    AgentLeaseLostError,
    AgentPersistenceError,
    AgentRunInProgressError,
    AgentRunRefusedError,
    AgentSignalConsumedError,
    AgentStateConflictError,
)
from spakky.agent.loop.checkpoint import dump_checkpoint, load_checkpoint
from spakky.agent.loop.facts import Facts
from spakky.agent.loop.journal import DurableJournal, DurablePorts, NullJournal
from spakky.agent.loop.progress import CallStage, CallState, Phase, Progress
from spakky.agent.rules.lifecycle import Trigger, decide_move, standing_of
from spakky.agent_testkit.memory import CommitInfo, MemoryPorts

RUNNING = decide_move(AgentStatus.CREATED, Trigger.START)
USER = ModelMessage(ModelMessageRole.USER, "go")
RUN = Progress("r", Phase.POLLING, RUNNING, transcript=(USER,))
NOTE = AgentEvidenceCandidate(AgentEvidenceKind.CONTEXT, {"note": 1})


def journal_of(ports: MemoryPorts, owner: str = "me", **parts: Any) -> DurableJournal:
    durable = DurablePorts(
        ports.states, ports.signals, ports.evidence, ports.transcripts, ports.unit_of_work
    )
    return DurableJournal(
        durable, "r", parts.get("agent_type", "desk"), owner, parts.get("lease_seconds", 30.0)
    )


@pytest.fixture
async def journal(ports: MemoryPorts) -> DurableJournal:
    opened = journal_of(ports)
    assert await opened.open() is None
    return opened


# ---------------------------------------------------------------- stateless


@pytest.mark.requirement("SPEC-20")
async def test_a_stateless_journal_keeps_nothing() -> None:
    nothing = NullJournal()
    assert await nothing.open() is None
    nothing.describe({"a": 1})
    nothing.note(Facts((NOTE,), ("s1",)))
    assert await nothing.commit(RUN) == (RUN, ())
    assert await nothing.read_pending() == ()
    await nothing.send(AgentSignal("s1", "r", AgentSignalKind.CANCEL))
    await nothing.renew()
    await nothing.release()
    assert (nothing.state, nothing.lease) == (None, None)


# ---------------------------------------------------------------- commits


@pytest.mark.requirement("STATE-1", "STATE-7", "RECOV-9")
async def test_a_commit_writes_state_transcript_evidence_and_consumption_together(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    await ports.signals.append(AgentSignal("s1", "r", AgentSignalKind.USER_MESSAGE))
    commits = ports.store.commits
    journal.describe({"conversation_id": "talk"})
    forwarded = AgentSignal("s2", "child", AgentSignalKind.CANCEL)
    journal.note(Facts((NOTE, NOTE), ("s1",), (forwarded,)))
    after, evidence = await journal.commit(RUN)
    assert ports.store.commits == commits + 1
    state = await ports.states.get("r")
    assert (state.version, state.status, state.agent_type) == (1, AgentStatus.ACTIVE, "desk")
    assert state.metadata == {"conversation_id": "talk"}
    assert state == journal.state
    assert await ports.transcripts.load("r") == (USER,)
    assert after.evidence_count == 2
    assert [piece.id for piece in evidence] == ["r/evidence/1", "r/evidence/2"]
    stored = await ports.evidence.list_by_state("r")
    assert [piece.id for piece in stored] == [piece.id for piece in evidence]
    assert await journal.read_pending() == ()
    assert [signal.id for signal in await ports.signals.list_pending("child")] == ["s2"]
    assert load_checkpoint("r", state.checkpoint, standing_of(state), (USER,)).evidence_count == 2


@pytest.mark.requirement("STATE-7")
async def test_a_commit_without_news_writes_nothing(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    after, _ = await journal.commit(RUN)
    commits = ports.store.commits
    assert await journal.commit(after) == (after, ())
    assert ports.store.commits == commits
    await journal.commit(replace(after, step=1))
    await journal.commit(
        replace(after, step=1, standing=decide_move(AgentStatus.ACTIVE, Trigger.INTERRUPT))
    )
    assert ports.store.commits == commits + 2
    journal.note(Facts((NOTE,)))
    await journal.commit(
        replace(after, step=1, standing=decide_move(AgentStatus.ACTIVE, Trigger.INTERRUPT))
    )
    assert ports.store.commits == commits + 3


async def test_only_new_messages_are_appended(ports: MemoryPorts, journal: DurableJournal) -> None:
    sizes: list[tuple[str, ...]] = []

    async def look(info: CommitInfo) -> None:
        sizes.append(tuple(write for write in info.writes if "messages" in write))

    ports.store.before_commit = look
    progress = RUN
    for _ in range(3):
        progress, _evidence = await journal.commit(progress)
        progress = replace(progress, transcript=(*progress.transcript, USER, USER))
    assert sizes == [("1 messages",), ("2 messages",), ("2 messages",)]
    assert len(await ports.transcripts.load("r")) == 5


@pytest.mark.requirement("STATE-7", "RECOV-9")
async def test_a_commit_that_fails_writes_nothing_and_keeps_what_it_had_gathered(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    await ports.signals.append(AgentSignal("s1", "r", AgentSignalKind.USER_MESSAGE))

    async def refuse(_info: CommitInfo) -> None:
        message = "disk full"
        raise AgentPersistenceError(message)

    journal.note(Facts((NOTE,), ("s1",)))
    ports.store.before_commit = refuse
    with pytest.raises(AgentPersistenceError, match="disk full"):
        await journal.commit(RUN)
    assert await ports.states.get_or_none("r") is None
    assert await ports.transcripts.load("r") == ()
    assert len(await ports.signals.list_pending("r")) == 1
    assert journal.state is None
    ports.store.before_commit = None
    after, evidence = await journal.commit(RUN)
    assert [piece.id for piece in evidence] == ["r/evidence/1"]
    assert after.evidence_count == 1
    assert await ports.signals.list_pending("r") == ()
    assert await ports.transcripts.load("r") == (USER,)


@pytest.mark.requirement("SIG-9")
async def test_a_signal_that_was_consumed_elsewhere_takes_the_whole_commit_with_it(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    await ports.signals.append(AgentSignal("s1", "r", AgentSignalKind.USER_MESSAGE))
    journal.note(Facts((NOTE,), ("s1",)))
    await ports.signals.mark_consumed("s1")
    with pytest.raises(AgentSignalConsumedError):
        await journal.commit(RUN)
    assert await ports.states.get_or_none("r") is None
    assert await ports.evidence.list_by_state("r") == ()


async def test_a_state_that_somebody_else_saved_is_not_overwritten(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    after, _ = await journal.commit(RUN)
    stored = await ports.states.get("r")
    await ports.states.save(replace(stored, current_activity="theirs"))
    with pytest.raises(AgentStateConflictError):
        await journal.commit(replace(after, step=1))
    assert (await ports.states.get("r")).current_activity == "theirs"


@pytest.mark.parametrize(
    ("parts", "activity"),
    [
        ({}, None),
        ({"step": 2, "asking": True}, "model-2"),
        ({"step": 2, "calls": True}, "bank.pay"),
    ],
)
async def test_the_state_tells_operators_what_goes_on(
    ports: MemoryPorts, journal: DurableJournal, parts: dict[str, Any], activity: str | None
) -> None:
    if "calls" in parts:
        calls = tuple(
            CallState(
                f"r/call/2.{number}",
                ModelToolCall("bank.pay", {}, f"c{number}"),
                "sha256:0",
                CallStage.STARTED,
                Idempotency.UNKNOWN,
            )
            for number in (1, 2)
        )
        parts = {**parts, "calls": calls}
    await journal.commit(replace(RUN, **parts))
    state = await ports.states.get("r")
    assert state.current_activity == activity
    assert state.recovery_marker == ("r/model/2" if parts else None)


# ---------------------------------------------------------------- opening


@pytest.mark.requirement("RECOV-8")
async def test_a_stored_run_is_opened_with_its_transcript_and_goes_on_behind_it(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    journal.note(Facts((NOTE,)))
    after, _ = await journal.commit(RUN)
    await journal.release()
    second = journal_of(ports, "other")
    stored = await second.open()
    assert stored is not None
    assert stored.transcript == (USER,)
    assert stored.state.checkpoint == dump_checkpoint(after)
    second.note(Facts((NOTE,)))
    _, evidence = await second.commit(replace(after, transcript=(USER, USER)))
    assert [piece.id for piece in evidence] == ["r/evidence/2"]
    assert await ports.transcripts.load("r") == (USER, USER)
    assert (await ports.states.get("r")).version == 2


async def test_metadata_that_nobody_describes_stay(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    journal.describe({"tenant": "t"})
    after, _ = await journal.commit(RUN)
    await journal.release()
    second = journal_of(ports)
    await second.open()
    await second.commit(replace(after, step=1))
    assert (await ports.states.get("r")).metadata == {"tenant": "t"}


async def test_a_run_of_another_agent_is_refused(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    await journal.commit(RUN)
    await journal.release()
    stranger = journal_of(ports, agent_type="clerk")
    with pytest.raises(AgentRunRefusedError, match="belongs to agent desk, not to clerk"):
        await stranger.open()


# ---------------------------------------------------------------- the lease


async def test_a_run_that_somebody_holds_is_refused(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    assert journal.lease is not None
    with pytest.raises(AgentRunInProgressError):
        await journal_of(ports, "other").open()
    await journal.release()
    await journal.release()
    assert journal.lease is None
    assert await journal_of(ports, "other").open() is None


async def test_a_renewed_lease_lasts_on(ports: MemoryPorts, journal: DurableJournal) -> None:
    await ports.advance(20)
    await journal.renew()
    await ports.advance(20)
    with pytest.raises(AgentRunInProgressError):
        await journal_of(ports, "other").open()
    await journal.commit(RUN)


async def test_a_lease_that_ran_out_and_was_taken_ends_all_writing(
    ports: MemoryPorts, journal: DurableJournal
) -> None:
    await ports.advance(31)
    other = journal_of(ports, "other")
    await other.open()
    with pytest.raises(AgentLeaseLostError):
        await journal.renew()
    with pytest.raises(AgentLeaseLostError):
        await journal.commit(RUN)
    assert await ports.states.get_or_none("r") is None
    await journal.release()
    await other.commit(RUN)


async def test_without_a_lease_there_is_nothing_to_renew(ports: MemoryPorts) -> None:
    calls = ports.store.lease_calls
    await journal_of(ports).renew()
    assert ports.store.lease_calls == calls


async def test_signals_are_read_and_sent(ports: MemoryPorts, journal: DurableJournal) -> None:
    for number, run in enumerate(("r", "other", "r"), 1):
        await journal.send(AgentSignal(f"s{number}", run, AgentSignalKind.CANCEL))
    assert [signal.id for signal in await journal.read_pending()] == ["s1", "s3"]
