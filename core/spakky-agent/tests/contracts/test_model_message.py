"""Messages and tool calls refuse what cannot be, and guard what must not be shown."""

from typing import Any

import pytest

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.sensitive import PII, SecretField, SensitiveField, SensitiveFieldDescriptor

MAIL = SensitiveFieldDescriptor(("email",), SensitiveField(PII.EMAIL))
KEY = SensitiveFieldDescriptor(("auth", "key"), SecretField())
WHOLE = SensitiveFieldDescriptor((), SecretField())
CALL = ModelToolCall("ping", {"a": 1}, "c1")


@pytest.mark.requirement("MODEL-7")
def test_a_message_needs_a_role_and_a_text_only() -> None:
    message = ModelMessage(ModelMessageRole.USER, "hello")
    assert (message.tool_calls, message.tool_call_id, message.metadata) == ((), None, {})


def test_a_message_keeps_what_its_role_may_have() -> None:
    assistant = ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=(CALL,), message_id="m1")
    tool = ModelMessage(ModelMessageRole.TOOL, "1", tool_call_id="c1", tool_name="ping")
    assert assistant.tool_calls == (CALL,)
    assert (tool.tool_call_id, tool.tool_name) == ("c1", "ping")


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"role": "user"}, "ModelMessage.role"),
        ({"content": None}, "ModelMessage.content must be text, not NoneType"),
        ({"tool_calls": (CALL,)}, "tool_calls belongs to ASSISTANT messages only; .* is USER"),
        ({"tool_call_id": "c1"}, "tool_call_id belongs to TOOL messages only"),
        ({"tool_name": "ping"}, "tool_name belongs to TOOL messages only"),
        ({"message_id": " "}, "ModelMessage.message_id must not be blank"),
        ({"metadata": [1]}, "ModelMessage.metadata must be a mapping"),
    ],
)
def test_a_message_refuses_what_does_not_fit_its_role(wrong: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {"role": ModelMessageRole.USER, "content": "x", **wrong}
    with pytest.raises(AgentValueError, match=part):
        ModelMessage(**given)


def test_a_call_keeps_even_the_empty_name_that_a_model_wrote() -> None:
    assert ModelToolCall("", {}).name == ""


@pytest.mark.parametrize(
    ("name", "arguments", "problem", "part"),
    [
        (None, {}, None, "ModelToolCall.name must be text, not NoneType"),
        ("ping", "{}", None, "ModelToolCall.arguments must be a mapping"),
        ("ping", {"a": 1}, "no JSON", "'ping' has arguments and arguments_error"),
    ],
)
def test_a_call_refuses_parts_that_contradict(
    name: Any, arguments: Any, problem: str | None, part: str
) -> None:
    with pytest.raises(AgentValueError, match=part):
        ModelToolCall(name, arguments, arguments_error=problem)


@pytest.mark.requirement("SAFE-5", "SAFE-6")
def test_a_guarded_call_shows_no_marked_argument_in_any_of_its_parts() -> None:
    call = ModelToolCall(
        "send",
        {"email": "a@example.org", "auth": {"key": "k-123"}, "note": "to a@example.org", "n": [1]},
        "c1",
        {"raw": {"parts": ["use k-123", "plain"]}},
    )
    guarded = call.guarded((MAIL, KEY))
    assert "a@example.org" not in repr(guarded)
    assert "k-123" not in repr(guarded)
    assert (guarded.name, guarded.call_id, guarded.arguments["n"]) == ("send", "c1", [1])
    assert guarded.metadata["raw"] == {"parts": ["use [REDACTED]", "plain"]}


@pytest.mark.requirement("SAFE-5")
def test_a_call_without_anything_to_hide_is_given_as_it_is() -> None:
    call = ModelToolCall("send", {"n": [1, {"a": ("b",)}]}, metadata={"m": ["x"]})
    assert call.guarded((MAIL, KEY)) is call
    assert call.guarded(()) is call


def test_a_policy_that_allows_personal_data_still_hides_secrets() -> None:
    call = ModelToolCall("send", {"email": "a@example.org", "auth": {"key": "k-123"}})
    guarded = call.guarded((MAIL, KEY), EvidenceExposurePolicy(include_pii_values=True))
    assert guarded.arguments["email"] == "a@example.org"
    assert "k-123" not in repr(guarded)


def test_arguments_that_are_secret_as_a_whole_become_empty() -> None:
    assert ModelToolCall("send", {"a": "b"}).guarded((WHOLE,)).arguments == {}


def test_the_text_of_an_argument_error_is_kept() -> None:
    call = ModelToolCall("send", {}, arguments_error="not an object")
    assert call.guarded((MAIL,)) is call
