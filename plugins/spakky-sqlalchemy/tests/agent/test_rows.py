"""Values that a row cannot take, and rows that hold no value."""

from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentPersistenceError
from spakky.agent.json_value import JsonObject, JsonValue
from spakky.agent.ports.task_store import ConversationTurn
from spakky.agent_testkit.contracts import PortsUnderTest

type RunSql = Callable[..., Awaitable[list[tuple[object, ...]]]]

RUN = AgentState("run", "tests.Agent", AgentStatus.ACTIVE)


def _circle() -> JsonValue:
    circle: list[JsonValue] = []
    circle.append(circle)
    return circle


# Not JSON, which the type checker would not let through otherwise.
@pytest.mark.parametrize("value", [cast(JsonValue, object()), cast(JsonValue, {1j}), _circle()])
async def test_what_is_no_json_is_refused_by_name_and_writes_nothing(
    ports: PortsUnderTest, value: JsonValue
) -> None:
    data: JsonObject = {"deep": [value]}
    signal = AgentSignal("signal", "run", AgentSignalKind.CANCEL, data)
    evidence = AgentEvidence("one", "run", AgentEvidenceKind.TOOL, data)
    message = ModelMessage(ModelMessageRole.USER, "", data)
    turn = ConversationTurn(ModelMessageRole.USER, "", data)
    calls: dict[str, Awaitable[object]] = {
        "metadata of state 'run'": ports.states.save(
            AgentState("run", "tests.Agent", AgentStatus.ACTIVE, metadata=data)
        ),
        "checkpoint of state 'run'": ports.states.save(
            AgentState("run", "tests.Agent", AgentStatus.ACTIVE, checkpoint=data)
        ),
        "payload of signal 'signal'": ports.signals.append(signal),
        "payload of evidence 'one'": ports.evidence.append(evidence),
        "message of run 'run'": ports.transcripts.append("run", [message]),
        "turn of conversation 'c'": ports.task_store.append_turns("c", [turn]),
    }
    for what, call in calls.items():
        with pytest.raises(AgentPersistenceError, match=f"{what} cannot be stored"):
            await call
    assert await ports.states.get_or_none("run") is None
    assert not await ports.signals.list_pending("run")


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE spakky_agent_states SET status = 'dreaming'", "state run"),
        ("UPDATE spakky_agent_states SET pending_signal_count = -1", "state run"),
        ("UPDATE spakky_agent_signals SET kind = 'knock'", "signal signal"),
        ("UPDATE spakky_agent_transcript SET message = '{}'", "message 'run' at position 0"),
        ("UPDATE spakky_agent_transcript SET message = '7'", "message 'run' at position 0"),
        ("UPDATE spakky_agent_conversation_turns SET role = 'tool'", "turn of conversation c"),
    ],
)
async def test_a_row_that_holds_no_value_is_named(
    ports: PortsUnderTest, run_sql: RunSql, damage: str, what: str
) -> None:
    await ports.states.save(RUN)
    await ports.signals.append(AgentSignal("signal", "run", AgentSignalKind.CANCEL))
    await ports.transcripts.append("run", [ModelMessage(ModelMessageRole.USER, "x")])
    await ports.task_store.append_turns("c", [ConversationTurn(ModelMessageRole.USER, "x")])
    await run_sql(damage)
    reads: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: ports.states.get("run"),
        lambda: ports.signals.list_pending("run"),
        lambda: ports.transcripts.load("run"),
        lambda: ports.task_store.load_history("c"),
    )
    outcomes = [outcome for outcome in await _outcomes(reads) if outcome is not None]
    assert len(outcomes) == 1
    assert isinstance(outcomes[0], AgentPersistenceError)
    assert f"The stored {what} cannot be read" in str(outcomes[0])


async def _outcomes(
    reads: tuple[Callable[[], Awaitable[object]], ...],
) -> list[Exception | None]:
    """Give the exception of each read, None for one that worked."""
    outcomes: list[Exception | None] = []
    for read in reads:
        try:
            await read()
        except AgentPersistenceError as error:
            outcomes.append(error)
        else:
            outcomes.append(None)
    return outcomes


async def test_the_arguments_of_a_call_come_back_in_the_order_of_the_model(
    ports: PortsUnderTest,
) -> None:
    arguments: JsonObject = {"zeta": 1, "alpha": {"y": 1.0, "x": 2}, "mid": []}
    call = ModelToolCall("tool", arguments, "", {"provider": "x"})
    broken = ModelToolCall("tool", {}, "0", arguments_error="no object")
    message = ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=(call, broken))
    answer = ModelMessage(
        ModelMessageRole.TOOL, "done", tool_call_id="", tool_name="tool", message_id="m"
    )
    await ports.transcripts.append("run", [message, answer])
    loaded = await ports.transcripts.load("run")
    assert loaded == (message, answer)
    assert repr(loaded[0].tool_calls[0].arguments) == repr(dict(arguments))
