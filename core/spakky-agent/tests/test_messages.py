"""Errors tell what was wrong, where, and what to do next: one message of each class that the core raises."""

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import override

import pytest

import spakky.agent
from spakky.agent import (
    AbstractSpakkyAgentError,
    Agent,
    AgentApprovalDecisionError,
    AgentBootstrapError,
    AgentCheckpointError,
    AgentDefinitionError,
    AgentExecutionSpec,
    AgentLifecycleError,
    AgentModelConfigurationError,
    AgentOutputGuardError,
    AgentPersistenceConfigurationError,
    AgentRunEndedError,
    AgentRunner,
    AgentRunRefusedError,
    AgentRunUnfinishedError,
    AgentSignal,
    AgentSignalKind,
    AgentState,
    AgentStatus,
    AgentToolBindingError,
    AgentToolDispatchError,
    AgentValueError,
    RecoveryStrategy,
    RunAgentInput,
    StreamingRedactionPolicy,
    StreamingRedactionSession,
    StreamingSensitivePattern,
    agent_tool,
    discover_agent_tools,
    error,
)
from spakky.agent.guards.stream_redactor import OutputPiece
from spakky.agent.loop.checkpoint import SCHEMA_VERSION, load_checkpoint
from spakky.agent.rules.approval import parse_agent_approval_decision_signal
from spakky.agent.rules.lifecycle import CREATED, Trigger, apply_move, decide_move
from spakky.agent_testkit.desk import Bench, DeskTools, drain, make_bench
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say

SOURCES = sorted(file for folder in spakky.agent.__path__ for file in Path(folder).rglob("*.py"))
CATALOG = discover_agent_tools(DeskTools)


class Leaky(StreamingRedactionSession):
    """A session whose redaction lets everything through."""

    @override
    def _redact(self, chunk: str) -> list[OutputPiece]:
        return [OutputPiece(chunk, 0, is_replacement=False)]

    @override
    def _redact_rest(self) -> list[OutputPiece]:
        return []


def leak() -> None:
    pattern = StreamingSensitivePattern("api key", "sk-[a-z]{4}")
    session = Leaky(StreamingRedactionPolicy((pattern,)))
    session.push("it is sk-abcd.")
    session.finish()


def refuse_decision() -> None:
    payload = {"request_id": "a1", "decision": "perhaps"}
    signal = AgentSignal("s1", "r1", AgentSignalKind.APPROVAL_DECISION, payload)
    parse_agent_approval_decision_signal(signal)


def declare_without_hint() -> None:
    class Loose:
        @agent_tool()
        async def look(self, path) -> str:  # type: ignore[no-untyped-def]  # what is refused  # noqa: ANN001
            """Look."""
            return str(path)

    discover_agent_tools(Loose)


def make_loner(recovery: RecoveryStrategy, *, with_model: bool) -> object:
    @Agent(spec=AgentExecutionSpec(name="loner", recovery=recovery))
    class Loner:
        def __init__(self) -> None:
            if with_model:
                self.model = ScriptedModel([])

    return Loner()


async def bench_after(*turns: object, instruction: str = "go") -> Bench:
    bench = make_bench(MemoryPorts(), list(turns))  # type: ignore[arg-type]  # turns of a script
    if instruction:
        await bench.run(instruction)
    return bench


async def start_without_repositories() -> None:
    loner = make_loner(RecoveryStrategy.ACTION_BOUNDARY, with_model=True)
    await drain(AgentRunner.for_agent_instance(loner).run(RunAgentInput("r1", "go")))


async def resume_the_unknown() -> None:
    await (await bench_after(instruction="")).resume()


async def start_the_waiting_again() -> None:
    await (await bench_after([*call("bank.pay", {"amount": 1})])).run("again")


async def start_the_ended_again() -> None:
    await (await bench_after([*say("done")])).run("again")


RAISED: dict[type[AbstractSpakkyAgentError], tuple[Callable[[], object], str]] = {
    AgentDefinitionError: (
        declare_without_hint,
        "parameter 'path' of declare_without_hint.<locals>.Loose.look: no type hint; annotate it.",
    ),
    AgentBootstrapError: (
        lambda: AgentRunner.for_agent_instance(object()),
        "object is no agent; decorate the class with @Agent.",
    ),
    AgentModelConfigurationError: (
        lambda: AgentRunner.for_agent_instance(make_loner(RecoveryStrategy.NONE, with_model=False)),
        "make_loner.<locals>.Loner has no IAgentModel; inject one, or install a model adapter such as spakky-vllm.",
    ),
    AgentPersistenceConfigurationError: (
        start_without_repositories,
        "Agent loner is durable, but not all of IAgentStateRepository, IAgentSignalRepository, IAgentEvidenceRepository, "
        "IAgentTranscriptRepository and IAgentUnitOfWork are there. Install spakky-sqlalchemy[agent], whose contribution "
        "to spakky.contributions.spakky.agent registers them, or register your own.",
    ),
    AgentValueError: (
        lambda: RunAgentInput(" ", "go"),
        "RunAgentInput.state_id must not be blank; give it a text with at least one visible character.",
    ),
    AgentToolBindingError: (
        lambda: CATALOG.by_schema_name("bank.pay").bind_invocation({"sum": 5}),
        "The arguments do not fit the tool 'bank.pay', which was not run. "
        'arguments: missing "amount"; unknown "sum" (allowed: "amount").',
    ),
    AgentToolDispatchError: (
        lambda: CATALOG.by_schema_name("bank.pya"),
        "No tool is named 'bank.pya'. Known tools: bank.pay, file.read, diary.add, wait.until, fault.known, fault.unknown.",
    ),
    AgentOutputGuardError: (
        leak,
        "1 sensitive match(es) of 'api key' got past the redaction of a stream; "
        "check the patterns and treat what was shown as disclosed.",
    ),
    AgentApprovalDecisionError: (
        refuse_decision,
        "Approval decision s1 has no usable decision; give one of approve, reject, modify, defer, cancel.",
    ),
    AgentLifecycleError: (
        lambda: apply_move(AgentState("r1", "desk", AgentStatus.COMPLETED), Trigger.GO_ON),
        "Run r1 is completed and cannot go on; it has ended, so start another one.",
    ),
    AgentCheckpointError: (
        lambda: load_checkpoint("r1", {"schema": 99}, CREATED, ()),
        f"Run r1 was stored with checkpoint schema 99, but this version reads up to {SCHEMA_VERSION}; "
        "resume it with the version that wrote it, or a newer one.",
    ),
    AgentRunRefusedError: (
        resume_the_unknown,
        "No run has the id run-1, and there is no instruction to start one with; "
        "give an instruction, or the state_id of a run to resume.",
    ),
    AgentRunUnfinishedError: (
        start_the_waiting_again,
        "Run run-1 is interrupted and has not ended; resume it, or start the new instruction under another state_id.",
    ),
    AgentRunEndedError: (
        start_the_ended_again,
        "Run run-1 is completed; start the new instruction under another state_id, or resume it to see its result again.",
    ),
}


def raised_in(tree: ast.AST) -> set[str]:
    """Give the names of the classes that a module raises."""
    raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise))
    calls = (exc.func for exc in raised if isinstance(exc, ast.Call))
    return {function.id for function in calls if isinstance(function, ast.Name)}


async def carry_out(break_it: Callable[[], object]) -> None:
    result = break_it()
    if inspect.isawaitable(result):
        await result


@pytest.mark.requirement("ERR-2")
@pytest.mark.parametrize("kind", list(RAISED), ids=lambda kind: kind.__name__)
async def test_a_message_tells_what_was_wrong_where_and_what_to_do_next(
    kind: type[AbstractSpakkyAgentError],
) -> None:
    break_it, told = RAISED[kind]
    with pytest.raises(kind) as caught:
        await carry_out(break_it)
    assert type(caught.value) is kind
    assert str(caught.value).replace(f"{__name__}.", "") == told


@pytest.mark.requirement("ERR-2")
def test_every_class_that_the_core_raises_has_its_message_here() -> None:
    public = {name for name, _ in inspect.getmembers(error, inspect.isclass)}
    found = {name for file in SOURCES for name in raised_in(ast.parse(file.read_text("utf-8")))}
    assert found & public == {kind.__name__ for kind in RAISED}


@pytest.mark.requirement("ERR-2")
@pytest.mark.parametrize("status", list(AgentStatus))
def test_a_move_that_the_table_lacks_names_those_that_it_has(status: AgentStatus) -> None:
    with pytest.raises(AgentLifecycleError) as caught:
        decide_move(status, Trigger.START if status != "created" else Trigger.GO_ON)
    told = str(caught.value)
    assert told.startswith(f"The run is {status.value} and cannot ")
    ended = status in {AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.CANCELLED}
    assert told.endswith("; it has ended, so start another one.") is ended
    assert ("; it can " in told) is not ended
