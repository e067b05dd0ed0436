"""Secrets, personal data and patterns in one run: each raw value is looked for in every place that a run writes to.

Where each may be: a value under SecretField nowhere; personal data in the transcript, in what the model is sent of it,
and in the inbox where a person put it; what a pattern matches in what the model itself said and was told, never in what
is shown or put on record.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from spakky.agent import (
    PII,
    AgentAuthRequiredError,
    AgentTeammate,
    AgentYield,
    AgentYieldKind,
    DelegationPacket,
    DelegationResult,
    DelegationToolResult,
    EvidenceCapture,
    IAgentDelegate,
    Idempotency,
    IStreamingPatternProvider,
    ModelMessageRole,
    SecretField,
    SensitiveField,
    StreamingSensitivePattern,
    ToolApprovalRequirement,
    ToolEffects,
    ToolErrorPolicy,
    agent_tool,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import call, say, think

type Build = Callable[..., Bench]

TOKEN = "hunter2-argument-secret"
API_KEY = "hunter3-result-secret"
MAIL = "kim@example.org"
OWNER = "Kim Personname"
KEY = "sk-ABCDEFGH12345678"

HARMLESS: dict[str, Any] = {
    "effects": ToolEffects.read_only(),
    "idempotency": Idempotency.IDEMPOTENT,
}


@dataclass
class Account:
    api_key: Annotated[str, SecretField(label="API key")]
    owner: Annotated[str, SensitiveField(PII.NAME)]
    note: str


class Vault:
    """Tools that are given, and give, what must not be told."""

    def __init__(self) -> None:
        self.ledger: list[tuple[str, ...]] = []

    @agent_tool(schema_name="vault.open", evidence=EvidenceCapture.RAW, **HARMLESS)
    async def open(
        self,
        token: Annotated[str, SecretField()],
        mail: Annotated[str, SensitiveField(PII.EMAIL)],
        note: str = "",
    ) -> Account:
        """Open an account."""
        self.ledger.append((token, mail, note))
        return Account(API_KEY, OWNER, KEY)

    @agent_tool(schema_name="vault.fail", **HARMLESS)
    async def fail(
        self,
        token: Annotated[str, SecretField()],
        mail: Annotated[str, SensitiveField(PII.EMAIL)],
    ) -> str:
        """Fail and tell everything."""
        message = f"no entry with {token!r} for {mail} at {KEY}"
        raise PermissionError(message)

    @agent_tool(schema_name="vault.sign", **HARMLESS)
    async def sign(self, token: Annotated[str, SecretField()]) -> str:
        """Ask for a sign-in and tell everything."""
        provider, prompt = "vault", f"sign in again, {token} is old"
        raise AgentAuthRequiredError(provider, prompt)

    @agent_tool(schema_name="vault.burn", approval=ToolApprovalRequirement.REQUIRED)
    async def burn(self, token: Annotated[str, SecretField()]) -> str:
        """Needs approval, and takes a raw secret."""
        self.ledger.append((token,))
        return "burnt"

    @agent_tool(schema_name="mail.send", effects=ToolEffects.external_side_effect())
    async def send(self, to: Annotated[str, SensitiveField(PII.EMAIL)], body: str) -> str:
        """Send a mail; needs approval."""
        self.ledger.append((to, body))
        return "sent"


class Patterns(IStreamingPatternProvider):
    def patterns(self) -> Sequence[StreamingSensitivePattern]:
        return (StreamingSensitivePattern("key", "sk-[A-Za-z0-9]{16}"),)


class Remote(IAgentDelegate):
    """Keeps the packets that it is given."""

    def __init__(self) -> None:
        self.packets: list[DelegationPacket] = []

    async def delegate(
        self, packet: DelegationPacket
    ) -> AsyncGenerator[AgentYield[DelegationResult], None]:
        self.packets.append(packet)
        result = DelegationResult("r", packet.id, packet.target, "settled")
        yield AgentYield(AgentYieldKind.PROGRESS, result)

    async def delegate_tool_result(self, packet: DelegationPacket) -> DelegationToolResult:
        raise NotImplementedError


OPEN = {"token": TOKEN, "mail": MAIL, "note": f"use {KEY}"}

SCRIPT = [
    [*think(f"I see {KEY}", chunk=3), *say(f"with {KEY}", chunk=3), *call("vault.open", OPEN)],
    [*call("vault.open", {"args": [TOKEN], "kwargs": {"mail": MAIL}})],
    [*call("vault.fail", {"token": TOKEN, "mail": MAIL})],
    [*call("vault.open", {"token": TOKEN, "maill": MAIL})],
    [*call("vault.burn", {"token": TOKEN})],
    [*call("mail.send", {"to": MAIL, "body": f"the key is {KEY}"})],
    [*call("teammate.clerk.delegate", {"instruction": "settle it"})],
    [*say(f"all done with {KEY}.", chunk=3)],
]


@dataclass
class Ran:
    """Everything that a run left behind, by sink."""

    bench: Bench
    remote: Remote
    shown: list[Any]
    rows: dict[str, str]


async def play(build: Build, stream: str) -> Ran:
    bench = build(
        SCRIPT,
        base=Vault,
        on_tool_error=ToolErrorPolicy.INFORM_MODEL,
        teammates=(AgentTeammate("clerk", card_url="https://clerk.example/card"),),
    )
    bench.agent.patterns, bench.agent.delegate = Patterns(), Remote()
    shown = list(await getattr(bench, stream)("begin", conversation_id="talk"))
    tables = bench.ports.store.tables
    waiting = ""
    # The mail and the delegation to a remote teammate both ask.
    for step in ("6.1", "7.1"):
        waiting += repr(tables.states)
        await bench.decide("approve", f"run-1/call/{step}/approval", f"decision-{step}")
        shown += await getattr(bench, stream)("", resume=True)
    rows = {
        "waiting state": waiting,
        "state": repr(tables.states),
        "evidence": repr(tables.evidence),
        "transcript": repr(tables.transcripts),
        "signals": repr(tables.signals),
        "turns": repr(tables.turns),
    }
    return Ran(bench, bench.agent.delegate, shown, rows)


def sinks(ran: Ran, caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    logged = [record.getMessage() + repr(record.__dict__) for record in caplog.records]
    return {
        **ran.rows,
        "stream": repr(ran.shown),
        "requests": repr(ran.bench.model.requests),
        "log": "".join(logged),
        "packets": repr(ran.remote.packets),
        "pending": repr(ran.bench.ports),
    }


@pytest.mark.requirement("EVID-8", "SAFE-6", "SAFE-9", "EVID-3", "STREAM-10")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_each_raw_value_is_found_only_where_it_may_be(
    build: Build, stream: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ran = await play(build, stream)
    ran.bench.model.require_played()
    tools: Any = ran.bench.tools
    assert tools.ledger == [
        (TOKEN, MAIL, f"use {KEY}"),
        (TOKEN, MAIL, ""),
        (MAIL, f"the key is {KEY}"),
    ]
    texts = sinks(ran, caplog)
    found = {
        name: {sink for sink, text in texts.items() if value in text}
        for name, value in {
            "token": TOKEN,
            "api key": API_KEY,
            "mail": MAIL,
            "owner": OWNER,
            "key": KEY,
        }.items()
    }
    assert found == {
        "token": set(),
        "api key": set(),
        "mail": {"transcript", "requests"},
        "owner": {"transcript", "requests"},
        "key": {"transcript", "requests"},
    }


@pytest.mark.requirement("EVID-8", "SAFE-8")
async def test_the_model_reads_results_without_secrets_and_with_what_it_needs(
    build: Build,
) -> None:
    ran = await play(build, "run")
    result = ran.bench.model.requests[1].messages[-1]
    assert result.role is ModelMessageRole.TOOL
    assert '"$ref": "API key"' in result.content
    assert OWNER in result.content
    asked = ran.bench.model.requests[1].messages[-2].tool_calls[0]
    assert asked.arguments["mail"] == MAIL
    assert asked.arguments["token"] != TOKEN


@pytest.mark.requirement("EVID-7", "EVID-8")
async def test_a_captured_result_is_kept_without_its_sensitive_values(build: Build) -> None:
    await play(build, "run")
    bench = build([])
    captured = [
        e.payload["result"]
        for e in await bench.ports.evidence.list_by_state("run-1")
        if e.payload.get("tool_schema_name") == "vault.open"
    ]
    assert len(captured) == 2
    assert captured[0]["result"]["note"] == "[REDACTED]"  # type: ignore[index, call-overload]  # RAW keeps the result


@pytest.mark.requirement("SAFE-9", "HITL-17")
async def test_a_call_with_a_raw_secret_cannot_wait_and_the_model_is_told_why(
    build: Build,
) -> None:
    """OP-21 (c)."""
    ran = await play(build, "run")
    told = ran.bench.model.requests[5].messages[-1]
    assert "raw secret" in told.content
    assert told.metadata["is_error"]


@pytest.mark.requirement("SAFE-9")
async def test_arguments_that_do_not_bind_are_hidden_since_nobody_knows_which_is_which(
    build: Build,
) -> None:
    ran = await play(build, "run")
    asked = ran.bench.model.requests[4].messages[-2].tool_calls[0]
    assert asked.arguments.keys() == {"token", "maill"}
    assert TOKEN not in repr(asked)
    assert MAIL not in repr(asked)
    assert "maill" in ran.bench.model.requests[4].messages[-1].content


@pytest.mark.requirement("SAFE-9", "EVENT-10", "ERR-2")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_a_fault_and_a_sign_in_tell_no_argument(build: Build, stream: str) -> None:
    bench = build([[*call("vault.fail", {"token": TOKEN, "mail": MAIL})]], base=Vault)
    failed = await getattr(bench, stream)()
    assert "PermissionError" in repr(failed[-1])
    bench = build([[*call("vault.sign", {"token": TOKEN})]], base=Vault)
    bench.run_id = "run-2"
    paused = await getattr(bench, stream)()
    assert "sign in again" in repr(paused[-1])
    for told in (repr(failed), repr(paused), repr(bench.ports.store.tables.states)):
        assert TOKEN not in told
        assert MAIL not in told


@pytest.mark.requirement("SAFE-9", "HITL-14")
async def test_personal_data_that_a_person_puts_into_a_call_survive_and_are_not_shown(
    build: Build,
) -> None:
    bench = build([[*call("mail.send", {"to": "a@b.org", "body": "x"})], [*say("ok")]], base=Vault)
    items = await bench.run()
    modified = {"to": MAIL, "body": "y"}
    await bench.decide("modify", items[-1].payload.id, modified_payload=modified)
    items = await bench.resume()
    tools: Any = bench.tools
    assert tools.ledger == [(MAIL, "y")]
    tables = bench.ports.store.tables
    assert MAIL not in repr((items, tables.evidence))
    assert MAIL in repr(tables.signals)


@pytest.mark.requirement("SAFE-9", "RECOV-5")
async def test_a_result_that_a_person_supplies_keeps_no_secret(build: Build) -> None:
    bench = build(
        [[*call("vault.keep", {"name": "a"})], [*say("ok")]],
        base=Careful,
    )
    bench.tools.ledger.clear()
    items = await bench.run()
    result = {"api_key": API_KEY, "owner": OWNER, "note": "n"}
    await bench.decide("approve", items[-1].payload.id, result=result)
    assert (await bench.resume())[-1].kind is AgentYieldKind.FINAL
    told = bench.model.requests[1].messages[-1].content
    assert OWNER in told
    tables = bench.ports.store.tables
    assert API_KEY not in repr((bench.model.requests, tables.transcripts, tables.evidence))
    assert bench.tools.ledger == []


class Careful(Vault):
    @agent_tool(schema_name="vault.keep", approval=ToolApprovalRequirement.REQUIRED)
    async def keep(self, name: str) -> Account:
        """Keep an account; needs approval."""
        self.ledger.append((name,))
        return Account(API_KEY, OWNER, name)
