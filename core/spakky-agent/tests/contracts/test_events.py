"""The neutral events: one class for each kind, attributed to a run, checked where it pays."""

from typing import Any, get_args

import pytest

from spakky.agent.contracts import events
from spakky.agent.contracts.events import (
    AgentEvent,
    AgentEventAttribution,
    AgentEventKind,
    ArtifactEvent,
    CustomEvent,
    MessageDeltaEvent,
    ReasoningDeltaEvent,
    RunFinishedEvent,
    RunPausedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    ToolCallArgsDeltaEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.error import AgentValueError

RUN = AgentEventAttribution("writer", "r1", "c1", "r0")

# Any: the tests put values of wrong types in.
WRONG: Any = "wrong"

ALL: tuple[AgentEvent, ...] = (
    MessageDeltaEvent(RUN, "m1", "a"),
    ReasoningDeltaEvent(RUN, "g1", "a"),
    ToolCallStartEvent(RUN, "t1", "crm.find", "m1"),
    ToolCallArgsDeltaEvent(RUN, "t1", "{"),
    ToolCallEndEvent(RUN, "t1"),
    ToolCallResultEvent(RUN, "t1", "crm.find", "m2", {"rows": 7}),
    RunStartedEvent(RUN),
    RunPausedEvent(RUN, AgentStateReason.AUTH_REQUIRED, "Sign in.", "r1"),
    RunFinishedEvent(RUN),
    StepStartedEvent(RUN, "model 1"),
    StepFinishedEvent(RUN, "model 1"),
    StateSnapshotEvent(RUN, {"a": 1}),
    StateDeltaEvent(RUN, [{"op": "remove", "path": "/a"}]),
    ArtifactEvent(RUN, "f1", "text", "report"),
    CustomEvent(RUN, "progress", {"message": "halfway"}),
)


@pytest.mark.requirement("EVENT-1", "EVENT-2")
def test_each_kind_has_one_class_and_each_class_one_kind() -> None:
    classes = get_args(AgentEvent)
    assert {type(event) for event in ALL} == set(classes)
    assert sorted(event.kind for event in ALL) == sorted(AgentEventKind)
    for event in ALL:
        name = type(event).__name__.removesuffix("Event")
        spelled = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")
        assert spelled == event.kind.value


@pytest.mark.requirement("EVENT-1")
def test_nothing_is_named_after_one_protocol() -> None:
    names = " ".join([*AgentEventKind, *dir(events)]).lower()
    assert not [word for word in ("agui", "ag_ui", "a2a", "mcp", "openai") if word in names]


@pytest.mark.requirement("EVENT-3", "EVENT-4")
def test_every_event_says_whose_it_is() -> None:
    for event in ALL:
        assert event.attribution is RUN
    assert (RUN.agent_id, RUN.run_id, RUN.conversation_id, RUN.parent_run_id) == (
        "writer",
        "r1",
        "c1",
        "r0",
    )
    assert AgentEventAttribution("writer", "r1", "c1").parent_run_id is None


def test_an_event_is_recognised_and_compared_by_its_content() -> None:
    assert isinstance(ALL[0], AgentEvent)
    assert ALL[0] == MessageDeltaEvent(RUN, "m1", "a")
    assert ALL[0] != MessageDeltaEvent(RUN, "m1", "b")
    assert "delta='a'" in repr(ALL[0])


@pytest.mark.requirement("EVENT-9", "EVENT-10")
def test_a_pause_carries_all_that_a_person_needs() -> None:
    # A list is accepted at run time beyond what the annotation promises.
    decisions: Any = ["approve", "reject"]
    event = RunPausedEvent(
        RUN, AgentStateReason.APPROVAL_REQUIRED, "May I?", "r1", "a1", "t1", decisions
    )
    assert (event.prompt, event.approval_id, event.tool_call_id, event.allowed_decisions) == (
        "May I?",
        "a1",
        "t1",
        ("approve", "reject"),
    )


@pytest.mark.requirement("EVENT-11", "EVENT-12")
def test_a_call_names_the_messages_around_it() -> None:
    assert ToolCallStartEvent(RUN, "t1", "crm.find").parent_message_id is None
    assert ToolCallStartEvent(RUN, "t1", "crm.find", "m1").parent_message_id == "m1"
    assert ToolCallResultEvent(RUN, "t1", "crm.find", "m2").message_id == "m2"
    with pytest.raises(AgentValueError, match=r"ToolCallResultEvent\.message_id"):
        ToolCallResultEvent(RUN, "t1", "crm.find", "")


def test_a_run_that_ended_well_has_no_error() -> None:
    event = RunFinishedEvent(RUN, result={"a": 1})
    assert (event.status, event.error, event.result) == (AgentStatus.COMPLETED, None, {"a": 1})


def test_a_run_with_an_error_has_failed_unless_it_was_cancelled() -> None:
    error = {"code": "agent.limit", "message": "too many steps"}
    failed = RunFinishedEvent(RUN, error=error)
    error["code"] = "changed"
    assert failed.status is AgentStatus.FAILED
    assert failed.error == {"code": "agent.limit", "message": "too many steps"}
    cancelled = RunFinishedEvent(RUN, error={"code": "x"}, status=AgentStatus.CANCELLED)
    assert cancelled.status is AgentStatus.CANCELLED


@pytest.mark.parametrize("status", [AgentStatus.INTERRUPTED, AgentStatus.ACTIVE])
def test_a_run_that_waits_is_never_told_as_finished(status: AgentStatus) -> None:
    with pytest.raises(AgentValueError, match="run 'r1' must be COMPLETED, FAILED or CANCELLED"):
        RunFinishedEvent(RUN, status=status)


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: AgentEventAttribution("", "r", "c"), "AgentEventAttribution.agent_id"),
        (lambda: AgentEventAttribution("a", " ", "c"), "AgentEventAttribution.run_id"),
        (lambda: AgentEventAttribution("a", "r", ""), "AgentEventAttribution.conversation_id"),
        (lambda: AgentEventAttribution("a", "r", "c", ""), "AgentEventAttribution.parent_run_id"),
        (lambda: ToolCallStartEvent(RUN, "", "t"), "ToolCallStartEvent.call_id"),
        (lambda: ToolCallStartEvent(RUN, "t1", "t", ""), "parent_message_id"),
        (lambda: ToolCallEndEvent(RUN, ""), "ToolCallEndEvent.call_id"),
        (lambda: ToolCallResultEvent(RUN, "", "t", "m"), "ToolCallResultEvent.call_id"),
        (lambda: RunStartedEvent(RUN, WRONG), "RunStartedEvent.metadata"),
        (lambda: RunPausedEvent(RUN, WRONG, "p", "r1"), "RunPausedEvent.reason"),
        (
            lambda: RunPausedEvent(RUN, AgentStateReason.TIMEOUT, "p", ""),
            "RunPausedEvent.state_id",
        ),
        (
            lambda: RunPausedEvent(RUN, AgentStateReason.TIMEOUT, "p", "r1", ""),
            "RunPausedEvent.approval_id",
        ),
        (lambda: RunFinishedEvent(RUN, error={"code": "x"}, result=1), "give only one"),
        (lambda: StepStartedEvent(RUN, ""), "StepStartedEvent.step_name"),
        (lambda: StepFinishedEvent(RUN, ""), "StepFinishedEvent.step_name"),
        (lambda: ArtifactEvent(RUN, "", 1), "ArtifactEvent.artifact_id"),
        (lambda: CustomEvent(RUN, ""), "CustomEvent.name"),
    ],
)
def test_an_event_that_no_client_could_use_is_refused(build: Any, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        build()
