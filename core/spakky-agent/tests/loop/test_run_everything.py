"""One durable run that uses everything at once, and the same run killed at each of its commits.

Two calls beside each other, a gated call that a person modifies, a steering message, a teammate that pauses by itself,
compaction, a secret of a result that the model repeats over many pieces of its stream, and a crash.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from spakky.agent import (
    Agent,
    AgentCompactionPolicy,
    AgentExecutionSpec,
    AgentRunner,
    AgentSignal,
    AgentSignalKind,
    AgentStatus,
    AgentTeammate,
    EvidenceCapture,
    IAgentModel,
    Idempotency,
    IStreamingPatternProvider,
    KeepRecentMessagesCompactionStrategy,
    ModelMessage,
    ModelMessageRole,
    ModelRequest,
    RecoveryStrategy,
    RunAgentInput,
    StreamingSensitivePattern,
    ToolEffects,
    TrimToolResultsCompactionStrategy,
    agent_tool,
)
from spakky.agent_testkit.desk import DeskTools, drain
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.memory.store import CommitInfo
from spakky.agent_testkit.scripted_model import ScriptedModel, Turn, TurnSource, call, say

KEY = "sk-ABCDEFGH12345678"
RUN = "boss-1"
SUPPLIED: dict[str, dict[str, Any]] = {
    "bank.pay": {"result": {"paid": 0}},
    "diary.add": {"result": "added"},
    # The clerk's payment is in doubt, and its request came up through the boss.
    "teammate.clerk.delegate": {"result": {"paid": 0}},
}
"""What a person says became of a call in doubt, so that nothing is run again."""


class Died(BaseException):
    """The process is gone."""


class Patterns(IStreamingPatternProvider):
    def patterns(self) -> Sequence[StreamingSensitivePattern]:
        return (StreamingSensitivePattern("key", "sk-[A-Za-z0-9]{16}"),)


class BossTools(DeskTools):
    """The desk, and a tool whose result holds a key."""

    @agent_tool(
        schema_name="key.read",
        effects=ToolEffects.read_only(),
        idempotency=Idempotency.IDEMPOTENT,
        evidence=EvidenceCapture.RAW,
    )
    async def key(self) -> str:
        """Read the key."""
        await self._did("key")
        return f"the key is {KEY} and the rest of this long page is of no use to anybody"


def last_tool_text(request: ModelRequest) -> str:
    return next(m.content for m in reversed(request.messages) if m.role is ModelMessageRole.TOOL)


def repeat_key(request: ModelRequest) -> Turn:
    """Say again what the key's tool said, a few characters at a time, and pay."""
    heard = next(m.content for m in request.messages if m.content.startswith("the key is"))
    return [*say(heard, chunk=3), *call("bank.pay", {"amount": 5})]


BOSS: list[TurnSource] = [
    [*say("two at once"), *call("file.read", {"path": "a"}), *call("key.read")],
    repeat_key,
    [*call("teammate.clerk.delegate", {"instruction": "settle the bill"})],
    [*call("diary.add", {"text": "settled"})],
    [*say("all is settled")],
]
CLERK = [[*call("bank.pay", {"amount": 7})], [*say("the bill is settled")]]


@dataclass
class Office:
    """A boss and a clerk of one process over one store."""

    ports: MemoryPorts
    boss: Any
    clerk: Any
    shown: list[Any]


def keep_ports(agent: Any, ports: MemoryPorts) -> None:
    agent.a, agent.b, agent.c = ports.states, ports.signals, ports.evidence
    agent.d, agent.e = ports.transcripts, ports.unit_of_work


@Agent(spec=AgentExecutionSpec(name="clerk", recovery=RecoveryStrategy.ACTION_BOUNDARY))
class Clerk(DeskTools):
    def __init__(self, model: IAgentModel, ports: MemoryPorts) -> None:
        super().__init__()
        self.model = model
        keep_ports(self, ports)


@Agent(
    spec=AgentExecutionSpec(
        name="boss",
        instructions="Be exact.",
        recovery=RecoveryStrategy.ACTION_BOUNDARY,
        accepted_signals=(AgentSignalKind.STEERING_INSTRUCTION,),
        teammates=(AgentTeammate("clerk", pod=Clerk),),
        compaction=AgentCompactionPolicy(
            (TrimToolResultsCompactionStrategy(34), KeepRecentMessagesCompactionStrategy(9)), 20
        ),
    )
)
class Boss(BossTools):
    def __init__(self, model: IAgentModel, clerk: Clerk, ports: MemoryPorts) -> None:
        super().__init__()
        self.model, self.clerk, self.patterns = model, clerk, Patterns()
        self.task_store = ports.task_store
        keep_ports(self, ports)


def open_office(ports: MemoryPorts, old: Office | None = None) -> Office:
    """Open a new process; what the tools of an old one did stays done."""
    clerk = Clerk(ScriptedModel(CLERK, by_progress=True), ports)
    boss = Boss(ScriptedModel(BOSS, by_progress=True), clerk, ports)
    if old is not None:
        boss.ledger, boss.keys = old.boss.ledger, old.boss.keys
        clerk.ledger, clerk.keys = old.clerk.ledger, old.clerk.keys
    return Office(ports, boss, clerk, [])


def kill_at(ports: MemoryPorts, number: int, *, before: bool) -> None:
    """Let the process die at its n-th commit; whatever it tries afterwards dies too."""
    first = ports.store.commits
    dead: list[int] = []

    async def strike(info: CommitInfo) -> None:
        if dead or info.number - first >= number:
            dead.append(info.number)
            raise Died

    async def dead_already(_info: CommitInfo) -> None:
        if dead:
            raise Died

    ports.store.before_commit = strike if before else dead_already
    ports.store.after_commit = None if before else strike


async def live(office: Office, stream: str) -> bool:
    """Run one life of the process; False when it died."""
    ports = office.ports
    known = await ports.states.get_or_none(RUN) is not None
    given = RunAgentInput(RUN, "" if known else "close the month", "talk", resume=known)
    try:
        runner = AgentRunner.for_agent_instance(office.boss)
        office.shown = list(await drain(getattr(runner, stream)(given)))
    except Died:
        await ports.advance(3600)
        return False
    finally:
        ports.store.before_commit = ports.store.after_commit = None
    return True


async def decide_what_waits(ports: MemoryPorts, life: int) -> None:
    """Modify the boss's payment, approve the clerk's, and supply the result of a call in doubt."""
    state = await ports.states.get(RUN)
    calls: Sequence[Any] = state.checkpoint["calls"]  # type: ignore[assignment]  # written by the loop
    for entry in calls:
        if entry["stage"] != "waiting":
            continue
        request_id = entry["request"]["id"]
        payload: dict[str, Any] = {"request_id": request_id, "decision": "approve"}
        if request_id.endswith("/recovery"):
            payload |= SUPPLIED[entry["name"]]
        elif entry["name"] == "bank.pay":
            payload |= {"decision": "modify", "modified_payload": {"amount": 3}}
        decision = AgentSignal(
            f"{request_id}/{life}", RUN, AgentSignalKind.APPROVAL_DECISION, payload
        )
        await ports.signals.append(decision)


async def steer(ports: MemoryPorts) -> None:
    payload = {"instruction": "mind the date"}
    kind = AgentSignalKind.STEERING_INSTRUCTION
    await ports.signals.append(AgentSignal("steer", RUN, kind, payload))


async def survive(office: Office, stream: str = "run") -> Office:
    """Live in new processes until the run has ended, deciding whatever asks."""
    for life in range(1, 12):
        state = await office.ports.states.get_or_none(RUN)
        if state is not None and state.status is AgentStatus.COMPLETED:
            return office
        if state is not None:
            await decide_what_waits(office.ports, life)
        office = open_office(office.ports, office)
        assert await live(office, stream)
    message = "the run never ended"
    raise AssertionError(message)


def well_formed(messages: Sequence[ModelMessage]) -> bool:
    open_calls: list[str | None] = []
    for message in messages:
        if message.role is ModelMessageRole.TOOL:
            if message.tool_call_id not in open_calls:
                return False
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            return False
        open_calls.extend(c.call_id for c in message.tool_calls)
    return not open_calls


async def check_end(office: Office) -> None:
    """Check what must hold however often the run died."""
    ports = office.ports
    assert len(ports.store.tables.states) == 2
    for run_id in ports.store.tables.states:
        assert (await ports.states.get(run_id)).status is AgentStatus.COMPLETED
        assert well_formed(await ports.transcripts.load(run_id))
    boss, clerk = office.boss.ledger, office.clerk.ledger
    assert boss.count("pay 3") <= 1
    assert boss.count("pay 5") == 0
    assert clerk.count("pay 7") <= 1
    assert boss.count("add settled") <= 1
    transcript = await ports.transcripts.load(RUN)
    said = [m.content for m in transcript if m.role is ModelMessageRole.ASSISTANT]
    assert said[0] == "two at once"
    assert said[-1] == "all is settled"
    assert len(said) == 5
    assert sum("mind the date" in m.content for m in transcript) == 1
    turns = await ports.task_store.load_history("talk")
    assert [t.content for t in turns] == ["close the month", "all is settled"]
    shown = repr((office.shown, ports.store.tables.evidence, ports.store.tables.states))
    assert KEY not in shown
    assert KEY not in "".join(said)
    assert await ports.signals.list_pending(RUN) == ()


@pytest.mark.requirement(
    "LOOP-8", "LOOP-10", "HITL-14", "DELEG-17", "COMPACT-9", "STREAM-10", "EVID-8", "HOOK-8"
)
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_everything_works_together(ports: MemoryPorts, stream: str) -> None:
    office = open_office(ports)
    await steer(ports)
    assert await live(office, stream)
    assert {"read a", "key"} == set(office.boss.ledger)
    assert KEY not in repr(office.shown)
    first = office.boss.model.requests
    assert first[0].messages[-1].content == "mind the date"
    # What the chain left of the results: the key in it is whole, the page around it is not.
    assert last_tool_text(first[1]) == f"the key is {KEY} and"
    assert (await ports.states.get(RUN)).reason == "approval_required"
    office = await survive(office, stream)
    assert office.boss.ledger == ["read a", "key", "pay 3", "add settled"]
    assert office.clerk.ledger == ["pay 7"]
    await check_end(office)


async def count_commits() -> int:
    ports = MemoryPorts()
    office = open_office(ports)
    await steer(ports)
    await live(office, "run")
    await survive(office)
    return ports.store.commits


@pytest.mark.requirement("RECOV-3", "RECOV-5", "RECOV-7", "RECOV-8", "STATE-7", "DELEG-17")
@pytest.mark.parametrize("before", [True, False])
async def test_killed_at_any_commit_it_ends_and_repeats_nothing_that_must_not_be(
    before: bool,
) -> None:
    commits = await count_commits()
    assert commits >= 20
    for number in range(1, commits + 1):
        await die_at(number, before=before)


async def die_at(number: int, *, before: bool) -> None:
    """Play the whole story with one death, at the n-th commit of all its lives."""
    ports = MemoryPorts()
    office = open_office(ports)
    await steer(ports)
    left = number
    died = False
    for life in range(1, 15):
        state = await ports.states.get_or_none(RUN)
        if state is not None and state.status is AgentStatus.COMPLETED:
            break
        if state is not None:
            await decide_what_waits(ports, life)
            office = open_office(ports, office)
        start = ports.store.commits
        if not died:
            kill_at(ports, left, before=before)
        died = not await live(office, "run") or died
        left -= ports.store.commits - start
    await check_end(office)


@pytest.mark.requirement("DELEG-19", "CANCEL-9")
@pytest.mark.parametrize("stretches", [1, 2])
async def test_a_cancel_at_a_pause_ends_boss_and_clerk(ports: MemoryPorts, stretches: int) -> None:
    office = open_office(ports)
    for life in range(1, stretches + 1):
        await live(office, "run")
        if life < stretches:
            await decide_what_waits(ports, life)
            office = open_office(ports, office)
    cancel: Callable[[str], AgentSignal] = lambda run_id: AgentSignal(  # noqa: E731 - said once
        "stop", run_id, AgentSignalKind.CANCEL
    )
    await ports.signals.append(cancel(RUN))
    office = open_office(ports, office)
    async with asyncio.timeout(5):
        await live(office, "run")
    assert (await ports.states.get(RUN)).status is AgentStatus.CANCELLED
    for run_id in ports.store.tables.states:
        assert (await ports.states.get(run_id)).status is AgentStatus.CANCELLED
    assert office.clerk.ledger == []
