"""The stored control part of a run: out and back, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.approval import (
    AgentApprovalBoundaryKind,
    AgentApprovalRequest,
    ApprovalDecision,
)
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.state import AgentState, AgentStateReason, AgentStatus
from spakky.agent.contracts.tool_metadata import Idempotency, ToolRisk, ToolRiskAxis
from spakky.agent.error import AgentCheckpointError
from spakky.agent.json_value import FrozenObject, JsonObject, digest_value
from spakky.agent.loop.checkpoint import (
    SCHEMA_VERSION,
    dump_checkpoint,
    load_checkpoint,
    open_approval_requests,
    seed_count,
)
from spakky.agent.loop.progress import (
    Abandoned,
    CallStage,
    CallState,
    Cancelled,
    CancelOrder,
    Completed,
    Failed,
    FinalAnswer,
    Paused,
    Phase,
    Progress,
)
from spakky.agent.rules.lifecycle import Trigger, decide_move
from spakky.agent.rules.limits import NOTHING_SPENT, Spent

RUNNING = decide_move(AgentStatus.CREATED, Trigger.START)
SAMPLES = Path(__file__).parent / "checkpoints"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
objects = st.dictionaries(st.text(max_size=3), json_values, max_size=2)
names = st.text("abcdef", min_size=1, max_size=6)
counts = st.integers(0, 9)
tokens = st.none() | counts
costs = st.none() | st.integers(0, 9).map(float)
usages = st.builds(ModelUsage, tokens, tokens, tokens, tokens, tokens, costs)
spendings = st.builds(Spent, counts, counts, counts, st.integers(0, 9).map(float))
answers = st.builds(FinalAnswer, st.text(max_size=4), names, json_values, objects)
orders = st.builds(CancelOrder, names, st.none() | names, st.none() | names)


@st.composite
def calls(draw: st.DrawFn, number: int) -> tuple[ModelToolCall, CallState]:
    """Give a call as the model proposed it, and its state."""
    proposed = ModelToolCall("bank.pay", draw(objects), f"c{number}")
    action_id = f"r/call/1.{number}"
    request = AgentApprovalRequest(
        f"{action_id}/approval",
        "r",
        draw(st.sampled_from(AgentApprovalBoundaryKind)),
        "Pay?",
        ToolRisk(tuple(draw(st.lists(st.sampled_from(ToolRiskAxis), unique=True)))),
        action_id,
        tuple(draw(st.lists(st.sampled_from(ApprovalDecision), min_size=1, unique=True))),
        draw(objects),
        f"c{number}",
    )
    state = CallState(
        action_id,
        proposed,
        digest_value(proposed.arguments),
        draw(st.sampled_from(CallStage)),
        draw(st.sampled_from(Idempotency)),
        concurrent=draw(st.booleans()),
        request=request if draw(st.booleans()) else None,
        storable=draw(st.booleans()),
        uncertain=draw(st.booleans()),
        delegate=draw(st.none() | names),
        note=draw(st.none() | names),
    )
    if state.storable and draw(st.booleans()):
        modified = replace(proposed, arguments=FrozenObject(draw(objects)))
        state = replace(state, call=modified)
    return proposed, state


@st.composite
def stored_runs(draw: st.DrawFn) -> Progress:
    """Give a progress as it may be stored at a boundary."""
    pairs = [draw(calls(number)) for number in range(draw(st.integers(0, 3)))]
    transcript: tuple[ModelMessage, ...] = (ModelMessage(ModelMessageRole.USER, "go"),)
    if pairs:
        asked = tuple(proposed for proposed, _ in pairs)
        transcript = (
            *transcript,
            ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=asked),
        )
    answer, cancel = draw(st.none() | answers), draw(st.none() | orders)
    endings: list[Any] = [
        None,
        Failed(draw(st.sampled_from(Trigger)), draw(names), draw(names), draw(st.booleans())),
    ]
    if answer is not None:
        endings.append(Completed(answer))
    if cancel is not None:
        endings.append(Cancelled(cancel, draw(st.none() | names)))
    return Progress(
        "r",
        Phase.POLLING,
        RUNNING,
        transcript=transcript,
        step=draw(counts),
        asking=draw(st.booleans()),
        calls=tuple(state for _, state in pairs),
        tool_calls=draw(counts),
        usage=draw(usages),
        last_usage=draw(usages),
        delegated=draw(spendings),
        repairs=draw(counts),
        answer=answer,
        cancel=cancel,
        ending=draw(st.sampled_from(endings)),
        resumed=True,
        evidence_count=draw(counts),
    )


def reload(progress: Progress) -> Progress:
    stored = json.loads(json.dumps(dump_checkpoint(progress), allow_nan=False))
    return load_checkpoint(progress.run_id, stored, progress.standing, progress.transcript)


@given(stored_runs())
@pytest.mark.requirement("RECOV-7", "RECOV-8", "HITL-13")
def test_a_stored_run_comes_back_equal(progress: Progress) -> None:
    assert reload(progress) == progress


@given(stored_runs())
def test_what_comes_back_is_stored_as_the_same(progress: Progress) -> None:
    assert dump_checkpoint(reload(progress)) == dump_checkpoint(progress)


def test_pauses_and_abandoned_stretches_are_not_stored() -> None:
    paused = Paused(Trigger.ASK_APPROVAL, AgentStateReason.APPROVAL_REQUIRED, "Pay?")
    for ending in (paused, Abandoned("x", "gone")):
        assert reload(Progress("r", ending=ending)).ending is None


def one_call(**parts: Any) -> Progress:
    proposed = ModelToolCall("bank.pay", {"amount": 1}, "c1")
    asked = ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=(proposed,))
    state = CallState(
        "r/call/1.1",
        proposed,
        digest_value(proposed.arguments),
        CallStage.READY,
        Idempotency.UNKNOWN,
        **parts,
    )
    return Progress("r", standing=RUNNING, transcript=(asked,), calls=(state,))


@pytest.mark.requirement("HITL-14")
def test_arguments_are_stored_only_where_a_person_changed_them() -> None:
    progress = one_call()
    assert "amount" not in json.dumps(dump_checkpoint(progress))
    changed = replace(progress.calls[0].call, arguments=FrozenObject({"amount": 2}))
    modified = replace(progress, calls=(replace(progress.calls[0], call=changed),))
    assert reload(modified).calls[0].call.arguments == {"amount": 2}


@pytest.mark.requirement("SAFE-1")
def test_a_raw_secret_is_never_stored() -> None:
    progress = one_call(storable=False)
    raw = replace(progress.calls[0].call, arguments=FrozenObject({"amount": 1, "pin": "s3cret"}))
    held = replace(progress, calls=(replace(progress.calls[0], call=raw),))
    assert "s3cret" not in json.dumps(dump_checkpoint(held))
    assert reload(held).calls[0].call.arguments == {"amount": 1}


def test_the_control_part_does_not_grow_with_the_transcript() -> None:
    short = Progress("r", transcript=(ModelMessage(ModelMessageRole.USER, "x"),))
    long = replace(short, transcript=short.transcript * 1000)
    assert dump_checkpoint(short) == dump_checkpoint(long)


def test_the_count_of_earlier_messages_is_kept() -> None:
    seeds = (ModelMessage(ModelMessageRole.USER, "x"),) * 3
    assert seed_count(dump_checkpoint(Progress("r", seeds=seeds))) == 3
    assert seed_count({}) == 0


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, None, "1", 0, -1])
def test_another_schema_is_refused_with_what_to_do(version: Any) -> None:
    stored = {**dump_checkpoint(Progress("r")), "schema": version}
    with pytest.raises(AgentCheckpointError, match="with checkpoint schema"):
        load_checkpoint("r", stored, RUNNING, ())


STORED = json.loads(json.dumps(dump_checkpoint(one_call())))


@pytest.mark.parametrize("key", sorted(set(STORED) - {"schema", "seed_count"}))
def test_a_part_of_another_form_is_refused_by_name(key: str) -> None:
    damaged = {**STORED, key: 1.5}
    with pytest.raises(AgentCheckpointError, match=f"checkpoint of run r is damaged.*{key}"):
        load_checkpoint("r", damaged, RUNNING, one_call().transcript)


REQUIRED = ["step", "asking", "calls", "tool_calls", "repairs", "evidence_count"]


@pytest.mark.parametrize("key", REQUIRED)
def test_a_missing_part_is_refused_by_name(key: str) -> None:
    damaged = {name: value for name, value in STORED.items() if name != key}
    with pytest.raises(AgentCheckpointError, match=key):
        load_checkpoint("r", damaged, RUNNING, one_call().transcript)


DAMAGE: list[JsonObject] = [
    {"calls": [7]},
    {"calls": "text"},
    {"calls": [{**STORED["calls"][0], "call_id": "unknown"}]},
    {"calls": [{**STORED["calls"][0], "stage": "flying"}]},
    {"calls": [{**STORED["calls"][0], "request": {"id": "a"}}]},
    {"step": True},
    {"asking": 1},
    {"usage": {"input_tokens": "many"}},
    {"usage": {"input_tokens": -1}},
    {"answer": {"text": "x"}},
    {"cancel": {"signal_id": 5}},
    {"ending": {"kind": "vanished"}},
    {"ending": {"kind": "completed"}},
    {"ending": {"kind": "cancelled"}},
    {"ending": {"kind": "failed", "trigger": "jump", "code": "x", "message": "y"}},
    {"ending": {}},
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_refused_typed(damage: JsonObject) -> None:
    with pytest.raises(AgentCheckpointError, match="run r is damaged"):
        load_checkpoint("r", {**STORED, **damage}, RUNNING, one_call().transcript)


# ---------------------------------------------------------------- what older versions wrote


@pytest.mark.requirement("RECOV-8")
def test_every_version_has_a_sample_that_still_loads() -> None:
    for version in range(1, SCHEMA_VERSION + 1):
        sample = json.loads((SAMPLES / f"schema_{version}.json").read_text(encoding="utf-8"))
        assert sample["checkpoint"]["schema"] == version


@pytest.mark.requirement("RECOV-8")
def test_a_checkpoint_of_schema_1_still_loads() -> None:
    sample = json.loads((SAMPLES / "schema_1.json").read_text(encoding="utf-8"))
    asked = tuple(ModelToolCall(**item) for item in sample["tool_calls"])
    transcript = (
        ModelMessage(ModelMessageRole.USER, "go"),
        ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=asked),
    )
    progress = load_checkpoint("run-1", sample["checkpoint"], RUNNING, transcript)
    waiting, ready, done = progress.calls
    assert [item.stage.value for item in progress.calls] == ["waiting", "ready", "done"]
    assert waiting.request is not None
    assert waiting.request.id == "run-1/call/2.1/approval"
    assert waiting.request.allowed_decisions == tuple(ApprovalDecision)
    assert (waiting.uncertain, waiting.note) == (True, "It did not bind.")
    assert ready.call.arguments == {"amount": 20}
    assert (done.storable, done.delegate, done.concurrent) == (False, "helper", True)
    assert (progress.step, progress.asking, progress.tool_calls) == (2, True, 4)
    assert progress.usage == ModelUsage(120, 30, 150, 60, 10)
    assert progress.last_usage == ModelUsage(70)
    assert (progress.repairs, progress.evidence_count) == (1, 9)
    assert progress.delegated == NOTHING_SPENT
    assert progress.answer == FinalAnswer("done", "run-1/message/2", {"ok": True}, {"n": 1})
    assert progress.cancel == CancelOrder("s1", "enough", "ann")
    assert progress.ending == Cancelled(CancelOrder("s1", "enough", "ann"), "model_stream m")
    assert seed_count(sample["checkpoint"]) == 2


# ---------------------------------------------------------------- what operators read of it


def test_the_open_requests_of_a_stored_run_are_read_in_the_models_order() -> None:
    state = AgentState("r", "desk", AgentStatus.INTERRUPTED)
    assert open_approval_requests(state) == ()
    request = AgentApprovalRequest(
        "a1", "r", AgentApprovalBoundaryKind.TOOL_INVOCATION, "Pay?", ToolRisk(), "r/call/1.1"
    )
    stored: dict[str, Any] = json.loads(json.dumps(dump_checkpoint(one_call(request=request))))
    waiting = dict(stored["calls"][0], stage="waiting")
    done, bare = dict(waiting, stage="done"), dict(waiting, request=None)
    state = replace(state, checkpoint=FrozenObject({"calls": [done, waiting, bare]}))
    assert open_approval_requests(state) == (request,)


@pytest.mark.parametrize("calls", [7, [7], [{"stage": "waiting", "request": {"id": "a"}}]])
def test_open_requests_of_a_damaged_run_are_refused_typed(calls: Any) -> None:
    state = AgentState(
        "r", "desk", AgentStatus.INTERRUPTED, checkpoint=FrozenObject({"calls": calls})
    )
    with pytest.raises(AgentCheckpointError, match="run r is damaged"):
        open_approval_requests(state)
