"""The samples of the documents, run as they are written."""

from pathlib import Path

import pytest
from samples import code_assistant_custom, file_agent, steering
from samples.customer_lookup import lookup_customer
from samples.dispatch import dispatch
from samples.run_shell import run_shell

from spakky.agent import (
    PII,
    Agent,
    AgentExecutionSpec,
    AgentRunner,
    AgentRunResult,
    AgentSignal,
    AgentSignalKind,
    AgentToolDispatchError,
    AgentYieldKind,
    Approval,
    ContextExposurePolicy,
    EvidenceCapture,
    Final,
    IAgentModel,
    Idempotency,
    ModelToolCall,
    Progress,
    RecoveryStrategy,
    RunAgentInput,
    SecretField,
    SensitiveField,
    Token,
    ToolApprovalRequirement,
    ToolResumeAction,
)
from spakky.agent.declare.catalog import describe_tool_function
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, call, say


@Agent(
    spec=AgentExecutionSpec(
        name="shell_agent", recovery=RecoveryStrategy.ACTION_BOUNDARY, tools=(run_shell,)
    )
)
class ShellAgent:
    def __init__(self, model: IAgentModel, ports: MemoryPorts) -> None:
        self.model = model
        self.states, self.signals, self.evidence = ports.states, ports.signals, ports.evidence
        self.transcripts, self.unit_of_work = ports.transcripts, ports.unit_of_work


@pytest.mark.requirement("DEMO-1", "DEMO-2")
async def test_the_file_agent_reads_the_file_and_its_answer_uses_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("Gardens need water.")
    monkeypatch.chdir(tmp_path)
    model = ScriptedModel(
        [
            call("file.read", {"path": "README.md"}),
            lambda request: say(f"It says: {request.messages[-1].content}", chunk=4),
        ]
    )
    agent = file_agent.FileAgent(model)
    assert Agent.get(file_agent.FileAgent).spec.name == "file_agent"

    run = AgentRunner.for_agent_instance(agent)
    items = [i async for i in run.run(RunAgentInput("r1", "Read README.md and summarize."))]

    texts = [item.payload.text for item in items if isinstance(item.payload, Token)]
    assert "".join(texts) == "It says: Gardens need water."
    assert items[-1].kind is AgentYieldKind.FINAL
    assert isinstance(items[-1].payload, Final)
    assert isinstance(items[-1].payload.output, AgentRunResult)
    assert items[-1].payload.output.output_text == "It says: Gardens need water."

    again = ScriptedModel([say("Done.")])
    # The loop is bound by the decorator, which a type checker cannot see.
    await file_agent.call(file_agent.FileAgent(again))  # type: ignore[arg-type]  # see above
    assert "Done." in capsys.readouterr().out


@pytest.mark.requirement("DEMO-3")
async def test_the_steering_hook_shows_its_progress_and_the_text_reaches_the_model() -> None:
    ports = MemoryPorts()
    model = ScriptedModel([say("As you wish.")])
    agent = steering.FileAgent(
        model,
        ports.states,
        ports.signals,
        ports.evidence,
        ports.transcripts,
        ports.unit_of_work,
    )
    kind = AgentSignalKind.STEERING_INSTRUCTION
    await ports.signals.append(AgentSignal("s1", "r1", kind, {"instruction": "be brief"}))

    run = AgentRunner.for_agent_instance(agent)
    items = [item async for item in run.run(RunAgentInput("r1", "Go."))]

    shown = [item.payload for item in items if isinstance(item.payload, Progress)]
    assert shown == [Progress("steering: be brief", current_step="steering")]
    assert "be brief" in [message.content for message in model.requests[0].messages]


@pytest.mark.requirement("DEMO-4")
async def test_the_custom_agent_streams_the_models_tokens_and_ends_with_its_own_final() -> None:
    agent = code_assistant_custom.CodeAssistant(ScriptedModel([say("Hello there.", chunk=5)]))
    spec = Agent.get(code_assistant_custom.CodeAssistant).spec
    assert spec.limits.timeout_seconds == 300

    items = [item async for item in agent.execute("hello")]

    payloads: list[object] = [item.payload for item in items]
    assert payloads == [
        Token("Hello"),
        Token(" ther"),
        Token("e."),
        Final(output="hello", metadata={}),
    ]


@pytest.mark.requirement("DEMO-5")
async def test_the_lookup_tool_keeps_its_markers_out_of_the_plain_schema() -> None:
    schema = describe_tool_function(lookup_customer).schema

    fields = {descriptor.path: descriptor.field for descriptor in schema.input_sensitive_fields}
    assert fields == {("email",): SensitiveField(PII.EMAIL), ("api_token",): SecretField()}
    assert "x-spakky-sensitive" not in str(schema.input_schema)
    policy = ContextExposurePolicy(include_sensitive_schema_metadata=True)
    assert "x-spakky-sensitive" in str(schema.input_schema_for(policy))
    assert await lookup_customer("ann@example.org", "t") == {"tier": "gold"}
    assert await lookup_customer("ann@example.org", "") == {}


@pytest.mark.requirement("DEMO-6")
async def test_the_dispatcher_runs_a_call_by_its_schema_name(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("found")
    assistant = file_agent.FileAgent(ScriptedModel([]))

    assert await dispatch(assistant, ModelToolCall("file.read", {"path": str(note)})) == "found"
    with pytest.raises(AgentToolDispatchError):
        await dispatch(assistant, ModelToolCall("file.erase", {}))


@pytest.mark.requirement("DEMO-7")
async def test_the_shell_tool_asks_runs_once_and_leaves_a_summary(tmp_path: Path) -> None:
    metadata = describe_tool_function(run_shell).metadata
    assert metadata.requires_approval_candidate
    assert (metadata.idempotency, metadata.evidence, metadata.approval) == (
        Idempotency.NON_IDEMPOTENT,
        EvidenceCapture.SUMMARY,
        ToolApprovalRequirement.DERIVED,
    )
    assert metadata.resume.action_for_incomplete_boundary() is ToolResumeAction.REQUIRE_APPROVAL
    ports = MemoryPorts()
    ledger = tmp_path / "ledger"
    command = f"echo ran >> {ledger}; echo done"
    model = ScriptedModel([call("run_shell", {"command": command}), say("It ran.")])
    run = AgentRunner.for_agent_instance(ShellAgent(model, ports))

    paused = [item async for item in run.run(RunAgentInput("r1", "Go."))]

    assert not ledger.exists()
    asked = paused[-1].payload
    assert isinstance(asked, Approval)
    decision = {"request_id": asked.id, "decision": "approve"}
    kind = AgentSignalKind.APPROVAL_DECISION
    await ports.signals.append(AgentSignal("s1", "r1", kind, decision))
    items = [item async for item in run.run(RunAgentInput("r1", "", resume=True))]

    assert items[-1].kind is AgentYieldKind.FINAL
    assert ledger.read_text() == "ran\n"
    kinds = [evidence.kind.value for evidence in await ports.evidence.list_by_state("r1")]
    assert "tool" in kinds
