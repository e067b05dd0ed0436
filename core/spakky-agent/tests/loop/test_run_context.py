"""Context packs of a run: where they come from, what reaches the model, and what is put on record about them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spakky.agent import (
    AgentEvidence,
    AgentEvidenceKind,
    AgentYieldKind,
    ContextHealthSignal,
    ContextManifest,
    ContextOptimizationAction,
    ContextOptimizationActionKind,
    ContextPack,
    ContextPackRole,
    ContextSensitivity,
    ContextTokenBudget,
    CustomEvent,
    IAgentContextHandler,
    IAgentContextProvider,
    ModelMessageRole,
    ModelRequest,
    RunAgentInput,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import Turn, call, say

type Build = Callable[..., Bench]

DROP = ContextOptimizationActionKind.CONTEXT_SLICE_DROP
COMPRESS = ContextOptimizationActionKind.COMPRESSION


def pack(pack_id: str, content: str, *, most: int | None = None, **more: Any) -> ContextPack:
    budget = ContextTokenBudget(max_tokens=most)
    return ContextPack(
        pack_id, content, "docs", ContextPackRole.EVIDENCE, token_budget=budget, **more
    )


LONG = pack("long", "x" * 400, most=10)


class Provider(IAgentContextProvider):
    """Gives one pack, and remembers for which runs."""

    def __init__(self, *packs: ContextPack) -> None:
        self.packs = packs
        self.asked: list[str] = []

    async def provide_context(self, run_input: RunAgentInput) -> Sequence[ContextPack]:
        self.asked.append(run_input.state_id)
        return self.packs


class Handler(IAgentContextHandler):
    """Answers health signals with one action, and remembers what it was asked."""

    def __init__(self, kind: ContextOptimizationActionKind = DROP) -> None:
        self.kind = kind
        self.asked: list[tuple[Sequence[ContextHealthSignal], ContextManifest]] = []

    async def select_optimization_actions(
        self, signals: Sequence[ContextHealthSignal], manifest: ContextManifest
    ) -> Sequence[ContextOptimizationAction]:
        self.asked.append((signals, manifest))
        targets = [signal.pack_id for signal in signals if signal.pack_id is not None]
        refs = [signal.id for signal in signals]
        return (ContextOptimizationAction("a-1", self.kind, refs, targets, manifest.id),)


class Broken(IAgentContextHandler):
    async def select_optimization_actions(
        self, signals: Sequence[ContextHealthSignal], manifest: ContextManifest
    ) -> Sequence[ContextOptimizationAction]:
        msg = "index"
        raise LookupError(msg)


async def optimisations(bench: Bench) -> list[AgentEvidence]:
    evidence = await bench.ports.evidence.list_by_state(bench.run_id)
    return [e for e in evidence if e.kind is AgentEvidenceKind.CONTEXT_OPTIMIZATION]


@pytest.mark.requirement("CTX-1", "CTX-3", "CTX-5")
async def test_packs_of_the_input_and_of_the_provider_reach_every_request_with_their_manifest(
    build: Build,
) -> None:
    bench = build([[*call("file.read", {"path": "a"})], [*say("ok")]])
    bench.agent.provider = provider = Provider(pack("policy", "be kind"))
    await bench.run(context=(pack("ticket", "it is broken"),))
    for request in bench.model.requests:
        assert [p.id for p in request.context] == ["ticket", "policy"]
        assert request.context_manifest is not None
        assert [e.pack_id for e in request.context_manifest.entries] == ["ticket", "policy"]
        assembled = request.assemble_messages()
        assert [m.content for m in assembled[-2:]] == ["it is broken", "be kind"]
        assert {m.role for m in assembled[-2:]} == {ModelMessageRole.EVIDENCE}
    first, second = (r.context_manifest for r in bench.model.requests)
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert provider.asked == ["run-1", "run-1"]


@pytest.mark.requirement("CTX-10", "CTX-11")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_an_optimisation_is_on_record_before_and_after_it_and_before_the_model_is_asked(
    build: Build, stream: str
) -> None:
    rows_when_asked: list[int] = []

    def answer(_request: ModelRequest) -> Turn:
        stored = bench.ports.store.tables.evidence.values()
        rows_when_asked.append(sum("context_optimization" in row.text for row in stored))
        return say("ok")

    bench = build([answer])

    bench.agent.handler = handler = Handler()
    shown = await getattr(bench, stream)(context=(LONG, pack("short", "fine", most=10)))
    (signals, manifest) = handler.asked[0]
    assert [(s.symptom, s.pack_id, s.manifest_ref) for s in signals] == [
        ("over_budget", "long", manifest.id)
    ]
    assert [p.id for p in bench.model.requests[0].context] == ["short"]
    stages = [e.payload["stage"] for e in await optimisations(bench)]
    assert stages == ["before", "after"]
    assert rows_when_asked == [2]
    if stream == "run":
        items = [i.payload.evidence for i in shown if i.kind is AgentYieldKind.EVIDENCE]
        assert [e.payload["stage"] for e in items] == ["before", "after"]
    else:
        events = [e for e in shown if isinstance(e, CustomEvent) and e.name == "evidence"]
        assert len(events) == 2


async def test_a_handler_is_not_asked_about_a_healthy_context(build: Build) -> None:
    bench = build([[*say("ok")]])
    bench.agent.handler = handler = Handler()
    await bench.run(context=(pack("short", "fine", most=10), pack("free", "y" * 400)))
    assert handler.asked == []
    assert await optimisations(bench) == []


@pytest.mark.requirement("CTX-12", "EVID-6", "CTX-4")
async def test_a_compression_is_recorded_and_changes_no_earlier_record(build: Build) -> None:
    bench = build([[*say("first")], [*say("second")]])
    await bench.run()
    tables = bench.ports.store.tables
    before = {key: row.text for key, row in tables.evidence.items()}
    bench.run_id = "run-2"
    bench.agent.handler = Handler(COMPRESS)
    await bench.run(context=(LONG,))
    assert {key: tables.evidence[key].text for key in before} == before
    actions: list[Any] = [e.payload["action"] for e in await optimisations(bench)]
    kinds = [action["kind"] for action in actions]
    assert kinds == ["compression", "compression"]
    assert [p.content for p in bench.model.requests[1].context] == [LONG.content]


@pytest.mark.requirement("CTX-6")
async def test_a_redacted_pack_reaches_no_message_and_no_record(build: Build) -> None:
    secret = "sk-very-secret-value"
    bench = build([[*say("ok")]])
    hidden = pack("key", f"the key is {secret}", sensitivity=ContextSensitivity.REDACTED)
    await bench.run(context=(hidden,))
    request = bench.model.requests[0]
    assert secret not in "".join(m.content for m in request.assemble_messages())
    tables = bench.ports.store.tables
    assert not any(secret in row.text for row in tables.evidence.values())
    assert secret not in repr(request)


@pytest.mark.requirement("LOOP-26", "ERR-2")
async def test_a_handler_that_raises_ends_the_run_typed_and_is_not_taken_for_the_model(
    build: Build,
) -> None:
    bench = build([[*say("never")]])
    bench.agent.handler = Broken()
    items = await bench.run(context=(LONG,))
    assert items[-1].kind is AgentYieldKind.ERROR
    assert items[-1].payload.code == "agent.request.failed"
    assert "LookupError" in items[-1].payload.message
    assert "adapter" not in items[-1].payload.message
    assert bench.model.requests == []
