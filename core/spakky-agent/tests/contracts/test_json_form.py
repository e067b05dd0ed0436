"""Every item of a stream becomes JSON; what cannot is refused with its place."""

import json
from collections import OrderedDict, UserDict
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.approval import ApprovalDecision
from spakky.agent.contracts.events import (
    AgentEventAttribution,
    AgentEventKind,
    MessageDeltaEvent,
    RunFinishedEvent,
    RunPausedEvent,
)
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.execution import AgentRunResult
from spakky.agent.contracts.json_form import to_json_value
from spakky.agent.contracts.state import AgentStateReason
from spakky.agent.contracts.yields import (
    AgentYield,
    AgentYieldKind,
    Approval,
    Cancel,
    Error,
    Evidence,
    Final,
    Progress,
    Token,
    Tool,
)
from spakky.agent.error import AgentValueError
from spakky.agent.guards.sensitive import PII, SensitiveField, SensitiveFieldDescriptor

RUN = AgentEventAttribution("writer", "r1", "c1")


class Level(IntEnum):
    HIGH = 3


class Pair(Enum):
    BOTH = (1, "a")


class Name(str):
    __slots__ = ()


class Count(int):
    pass


@dataclass
class Point:
    x: int
    y: list[Level]


def payloads() -> list[AgentYield[object]]:
    evidence = AgentEvidence(
        "e1",
        "r1",
        AgentEvidenceKind.TOOL,
        {"a": [1]},
        sensitive_fields=(SensitiveFieldDescriptor(("a",), SensitiveField(PII.EMAIL)),),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return [
        AgentYield(AgentYieldKind.TOKEN, Token("a", {"n": 1.5})),
        AgentYield(AgentYieldKind.PROGRESS, Progress("halfway", "step")),
        AgentYield(AgentYieldKind.TOOL, Tool("t", "c1", {"x": [1]}, {"y": None})),
        AgentYield(AgentYieldKind.EVIDENCE, Evidence(evidence)),
        AgentYield(AgentYieldKind.APPROVAL, Approval("a1", "May I?", tuple(ApprovalDecision))),
        AgentYield(AgentYieldKind.FINAL, Final(AgentRunResult("r1", "completed", ("t",), 2))),
        AgentYield(AgentYieldKind.ERROR, Error("code", "text")),
        AgentYield(AgentYieldKind.CANCEL, Cancel("enough")),
    ]


@pytest.mark.requirement("YIELD-5")
@pytest.mark.parametrize("item", payloads(), ids=lambda item: item.kind)
def test_every_item_of_a_stream_becomes_json_by_field_names(item: AgentYield[object]) -> None:
    converted: Any = to_json_value(item)
    assert json.loads(json.dumps(converted, allow_nan=False)) == converted
    assert converted["kind"] == item.kind.value
    # Each payload is a dataclass, which the payload's static type does not say.
    names = [field.name for field in fields(item.payload)]  # type: ignore[arg-type]
    assert list(converted["payload"]) == names


@pytest.mark.requirement("YIELD-5", "EVENT-1")
def test_an_event_is_written_with_its_kind_first() -> None:
    converted: Any = to_json_value(MessageDeltaEvent(RUN, "m1", "a"))
    assert list(converted) == ["kind", "attribution", "message_id", "delta", "metadata"]
    assert converted["kind"] == AgentEventKind.MESSAGE_DELTA.value
    assert type(converted["kind"]) is str
    assert converted["attribution"] == {
        "agent_id": "writer",
        "run_id": "r1",
        "conversation_id": "c1",
        "parent_run_id": None,
    }


def test_events_of_a_runs_life_are_written_in_full() -> None:
    paused: Any = to_json_value(
        RunPausedEvent(RUN, AgentStateReason.APPROVAL_REQUIRED, "May I?", "r1", "a1", "t1", ("x",))
    )
    finished: Any = to_json_value(RunFinishedEvent(RUN, error={"code": "x"}))
    assert (paused["reason"], paused["allowed_decisions"]) == ("approval_required", ["x"])
    assert (finished["status"], finished["error"]) == ("failed", {"code": "x"})


def test_values_of_all_sorts_become_the_plain_ones() -> None:
    seoul = timezone(timedelta(hours=9))
    given_value = {
        "point": Point(1, [Level.HIGH]),
        Pair.BOTH.name: Pair.BOTH,
        AgentEventKind.CUSTOM: MappingProxyType({"a": (1, 2)}),
        "ordered": OrderedDict(b=1, a=2),
        "user": UserDict({"k": "v"}),
        "when": datetime(2026, 1, 1, 12, tzinfo=seoul),
        "name": Name("n"),
        "count": Count(5),
        "plain": [None, True, 1, 1.5, "x", []],
        "range": range(2),
    }
    converted: Any = to_json_value(given_value)
    assert converted == {
        "point": {"x": 1, "y": [3]},
        "BOTH": [1, "a"],
        "custom": {"a": [1, 2]},
        "ordered": {"b": 1, "a": 2},
        "user": {"k": "v"},
        "when": "2026-01-01T03:00:00Z",
        "name": "n",
        "count": 5,
        "plain": [None, True, 1, 1.5, "x", []],
        "range": [0, 1],
    }
    assert type(converted["name"]) is str
    assert type(converted["count"]) is int


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (float("nan"), r"The number nan .*\(at the value itself\)"),
        ({"a": [1, float("inf")]}, r"The number inf .*\(at \['a'\]\[1\]\)"),
        ([{1, 2}], r"A set .*\(at \[0\]\)"),
        ({"a": frozenset()}, r"A frozenset .*\(at \['a'\]\)"),
        (Point(1, object()), r"An object of type builtins\.object .*\(at \.y\)"),  # type: ignore[arg-type]  # wrong on purpose
        ({1: "a"}, r"A key of type int .*\(at \[\?\]\)"),
        (b"bytes", "An object of type builtins.bytes"),
        (Point, "An object of type builtins.type"),
        # A naive time is what the check is about.
        (datetime(2026, 1, 1), "A datetime without a time zone"),  # noqa: DTZ001
    ],
)
def test_what_is_no_json_is_refused_with_its_place(wrong: object, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        to_json_value(wrong)


def test_a_refusal_names_the_type_and_never_the_value() -> None:
    class Password:
        def __repr__(self) -> str:
            return "hunter2"

    with pytest.raises(AgentValueError, match="Password") as caught:
        to_json_value(Final(Password()))
    assert "hunter2" not in str(caught.value)
    assert ".output" in str(caught.value)


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(AgentValueError, match="a value must not contain itself"):
        to_json_value(endless)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_a_json_value_stays_what_it_is(value: Any) -> None:
    assert to_json_value(value) == value
