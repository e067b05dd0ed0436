"""Planning the tool calls of one answer."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from spakky.agent.contracts.model_message import ModelMessageRole, ModelToolCall
from spakky.agent.contracts.tool_metadata import (
    Idempotency,
    ToolApprovalRequirement,
    ToolEffects,
)
from spakky.agent.declare.catalog import discover_agent_tools
from spakky.agent.declare.tool import agent_tool
from spakky.agent.guards.sensitive import PII, SecretField, SensitiveField
from spakky.agent.json_value import digest_value
from spakky.agent.loop.plan_calls import (
    CallNamer,
    CallPlanner,
    PlannedCalls,
    may_be_stored,
    shown_arguments,
    without_secrets,
)
from spakky.agent.loop.progress import CallStage


@dataclass
class Login:
    user: Annotated[str, SensitiveField(PII.EMAIL)]
    password: Annotated[str, SecretField()]


class Tools:
    @agent_tool(effects=ToolEffects.read_only(), idempotency=Idempotency.IDEMPOTENT)
    async def read(self, path: str) -> str:
        """Read."""
        return path

    @agent_tool(effects=ToolEffects.external_side_effect())
    async def send(self, to: Annotated[str, SensitiveField(PII.EMAIL)]) -> None:
        """Send."""

    @agent_tool()
    async def sign_in(self, login: Login) -> None:
        """Sign in."""

    @agent_tool(approval=ToolApprovalRequirement.REQUIRED)
    async def sign_in_for(self, login: Login) -> None:
        """Sign in for somebody."""

    @agent_tool()
    async def scale(self, factor: float) -> None:
        """Scale."""


CATALOG = discover_agent_tools(Tools)
LOGIN = {"login": {"user": "ann@example.org", "password": "s3cret"}}


def plan(*calls: ModelToolCall, durable: bool = True, step: int = 3) -> PlannedCalls:
    return CallPlanner(CATALOG, {"read": "helper"}, "r", durable).plan(calls, step)


def call(name: str, arguments: Any = None, **parts: Any) -> ModelToolCall:
    return ModelToolCall(name, arguments or {}, **({"call_id": "c1"} | parts))


def test_a_call_that_binds_is_ready_under_an_id_made_of_run_step_and_position() -> None:
    planned = plan(call("read", {"path": "a"}), call("read", {"path": "b"}, call_id="c2"))
    one, two = planned.calls
    assert (one.action_id, two.action_id) == ("r/call/3.1", "r/call/3.2")
    assert (one.call_id, two.call_id) == ("c1", "c2")
    assert one.stage is CallStage.READY
    assert (one.idempotency, one.concurrent) == (Idempotency.IDEMPOTENT, True)
    assert (one.storable, one.delegate) == (True, "helper")
    assert one.digest == digest_value({"path": "a"})
    assert planned.stored == (one.call, two.call)
    assert planned.mistakes == ()


@pytest.mark.requirement("HITL-4", "HITL-17")
def test_a_risky_call_is_gated() -> None:
    (state,) = plan(call("send", {"to": "ann@example.org"})).calls
    assert (state.stage, state.delegate) == (CallStage.GATED, None)


MISTAKES = [
    (call("raed", {"path": "a"}), "read"),
    (call(""), "No tool"),
    (call("read"), "path"),
    (call("read", {"path": 1}), "path"),
    (call("read", {"path": "a", "mode": "r"}), "mode"),
    (call("read", arguments_error="It ends too early."), "It ends too early."),
    (call("scale", {"factor": float("nan")}), "factor"),
    (call("\ud800"), "No tool"),
]


@pytest.mark.parametrize(("asked", "named"), MISTAKES)
@pytest.mark.requirement("LOOP-26")
def test_a_mistake_is_answered_and_never_runs(asked: ModelToolCall, named: str) -> None:
    planned = plan(asked)
    (state,), (mistake,) = planned.calls, planned.mistakes
    assert state.stage is CallStage.DONE
    assert named in mistake.message.content
    assert mistake.message.role is ModelMessageRole.TOOL
    assert mistake.message.tool_call_id == "c1"
    assert mistake.message.metadata == {"is_error": True, "not_run": True}
    assert (mistake.shown.is_error, mistake.shown.result) == (True, mistake.message.content)
    assert mistake.call == state


@pytest.mark.requirement("HITL-16")
def test_a_stateless_run_refuses_a_risky_call() -> None:
    planned = plan(call("send", {"to": "ann@example.org"}), durable=False)
    assert planned.calls[0].stage is CallStage.DONE
    assert "approval" in planned.mistakes[0].message.content


@pytest.mark.requirement("SAFE-1")
def test_a_raw_secret_runs_but_is_not_stored() -> None:
    planned = plan(call("sign_in", LOGIN))
    (state,) = planned.calls
    assert state.stage is CallStage.READY
    assert state.call.arguments == LOGIN
    assert not state.storable
    assert "s3cret" not in str(planned.stored)
    assert state.digest == digest_value(planned.stored[0].arguments)
    assert "ann@example.org" in str(planned.stored)


@pytest.mark.requirement("SAFE-1", "HITL-13")
def test_a_raw_secret_cannot_wait_for_approval() -> None:
    planned = plan(call("sign_in_for", LOGIN))
    (state,), (mistake,) = planned.calls, planned.mistakes
    assert state.stage is CallStage.DONE
    assert "secret" in mistake.message.content
    everything = str((planned.stored, state, mistake))
    assert "s3cret" not in everything


@pytest.mark.requirement("SAFE-1")
def test_what_is_shown_of_a_call_holds_no_sensitive_value() -> None:
    tool = CATALOG.by_schema_name("sign_in")
    shown = str(shown_arguments(tool, LOGIN))
    assert "s3cret" not in shown
    assert "ann@example.org" not in shown
    planner = CallPlanner(CATALOG, {}, "r", durable=True)
    assert planner.is_storable(tool, without_secrets(tool, LOGIN))
    assert not planner.is_storable(tool, LOGIN)
    read = CATALOG.by_schema_name("read")
    assert shown_arguments(read, {"path": "a"}) == {"path": "a"}
    assert without_secrets(read, {"path": "a"}) == {"path": "a"}


def test_personal_data_may_be_stored_and_secrets_may_not() -> None:
    assert may_be_stored(SensitiveField(PII.EMAIL))
    assert not may_be_stored(SecretField())


def test_what_no_store_keeps_is_replaced_before_anything_is_planned() -> None:
    planned = plan(call("read", {"path": "a\x00b"}))
    assert planned.calls[0].call.arguments == {"path": "a\ufffdb"}
    assert planned.stored[0].arguments == {"path": "a\ufffdb"}


@pytest.mark.requirement("EVENT-14")
def test_ids_are_the_providers_where_they_are_new() -> None:
    namer = CallNamer({"old"}, 4)
    given = [namer.next_id(item) for item in ("a", "old", None, "", "a", "b")]
    assert given == ["a", "call_4_2", "call_4_3", "call_4_4", "call_4_5", "b"]
