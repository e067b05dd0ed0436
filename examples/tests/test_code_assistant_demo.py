"""The agent of the demo with a scripted model: its tools, what asks, and what its store needs."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from code_assistant.git import LocalGit
from code_assistant.session import RunSettings, Session
from code_assistant.shell import LocalShell
from code_assistant.workspace import LocalWorkspace
from code_assistant_demo import CodeAssistant, build_application

from spakky.agent import (
    Agent,
    AgentApprovalPlanAction,
    AgentPersistenceConfigurationError,
    AgentRunner,
    AgentSignal,
    AgentSignalKind,
    AgentStatus,
    AgentYield,
    AgentYieldKind,
    Approval,
    Error,
    Idempotency,
    JsonValue,
    RunAgentInput,
    Tool,
    plan_agent_tool_approval,
)
from spakky.agent_testkit.memory import MemoryPorts
from spakky.agent_testkit.scripted_model import ScriptedModel, call, fail, say

READING = {"workspace.read", "workspace.search", "git.status", "git.diff"}
CHANGING = {"workspace.write", "shell.command", "git.apply"}


class Assistant:
    """The agent over in-memory ports and a real folder."""

    def __init__(self, session: Session) -> None:
        self.ports = MemoryPorts()
        self.model = ScriptedModel([])
        self._session = session

    def runner(self, *turns: object) -> AgentRunner:
        session, ports = self._session, self.ports
        self.model = ScriptedModel(turns)  # type: ignore[arg-type]  # turns in any of their forms
        agent = CodeAssistant(
            self.model,
            LocalWorkspace(session),
            LocalShell(session),
            LocalGit(session),
            ports.states,
            ports.signals,
            ports.evidence,
        )
        # The demo leaves these two to the container, which a runner would ask.
        agent.transcripts = ports.transcripts  # type: ignore[attr-defined]  # see above
        agent.unit_of_work = ports.unit_of_work  # type: ignore[attr-defined]  # see above
        return AgentRunner.for_agent_instance(agent)

    async def start(self, *turns: object) -> list[AgentYield[object]]:
        return await self._gather(self.runner(*turns), RunAgentInput("r1", "Go."))

    async def resume(self, *turns: object) -> list[AgentYield[object]]:
        return await self._gather(self.runner(*turns), RunAgentInput("r1", "", resume=True))

    async def _gather(
        self, runner: AgentRunner, run_input: RunAgentInput
    ) -> list[AgentYield[object]]:
        return [item async for item in runner.run(run_input)]

    async def decide(self, items: list[AgentYield[object]], decision: str) -> None:
        asked = items[-1].payload
        assert isinstance(asked, Approval)
        payload: dict[str, JsonValue] = {"request_id": asked.id, "decision": decision}
        kind = AgentSignalKind.APPROVAL_DECISION
        await self.ports.signals.append(AgentSignal(f"s/{decision}", "r1", kind, payload))


@pytest.fixture
async def assistant(workspace: Path) -> AsyncGenerator[Assistant]:
    session = Session()
    async with session.open(RunSettings(workspace, None, "Go.")):
        yield Assistant(session)


@pytest.mark.requirement("DEMO-9")
def test_the_agent_has_exactly_seven_tools() -> None:
    catalog = Agent.get(CodeAssistant).tool_catalog
    catalog.validate()
    assert {tool.name for tool in catalog.descriptors} == READING | CHANGING
    assert all(tool.description for tool in catalog.descriptors)


@pytest.mark.requirement("DEMO-10")
@pytest.mark.parametrize("name", sorted(READING | CHANGING))
def test_a_tool_asks_when_it_changes_something(name: str) -> None:
    tool = Agent.get(CodeAssistant).tool_catalog.by_schema_name(name)

    plan = plan_agent_tool_approval(
        descriptor=tool, approval_id="a", agent_state_id="r", agent_type="t"
    )

    if name in READING:
        assert plan.action is AgentApprovalPlanAction.PROCEED
        assert tool.metadata.idempotency is Idempotency.IDEMPOTENT
        return
    assert plan.yield_item is not None
    assert plan.yield_item.kind is AgentYieldKind.APPROVAL
    assert tool.metadata.idempotency is Idempotency.NON_IDEMPOTENT


@pytest.mark.requirement("DEMO-8", "DEMO-12")
async def test_it_reads_without_asking_and_writes_after_an_approval(
    assistant: Assistant, workspace: Path
) -> None:
    change = {"path": "note.txt", "content": "hello\n"}
    reads = [*call("workspace.read", {"path": "notes.md"}), *call("git.status", call_id="b")]
    paused = await assistant.start(reads, [*say("Let me "), *call("workspace.write", change)])

    results = [item.payload for item in paused if isinstance(item.payload, Tool)]
    assert [tool.name for tool in results] == ["workspace.read", "git.status"]
    assert not (workspace / "note.txt").exists()
    await assistant.decide(paused, "approve")
    items = await assistant.resume(say("Written."))

    assert items[-1].kind is AgentYieldKind.FINAL
    assert (workspace / "note.txt").read_text() == "hello\n"
    offered = assistant.model.requests[0].tool_calling
    assert offered is not None
    assert len(offered.tools) == 7


async def test_a_refused_path_is_told_to_the_model_and_the_run_goes_on(
    assistant: Assistant,
) -> None:
    items = await assistant.start(call("workspace.read", {"path": "../secret"}), say("I see."))

    assert items[-1].kind is AgentYieldKind.FINAL
    assert "leads upwards" in assistant.model.requests[1].messages[-1].content


async def test_a_refusal_goes_back_to_the_model(assistant: Assistant, workspace: Path) -> None:
    paused = await assistant.start(call("shell.command", {"command": "touch made"}))
    await assistant.decide(paused, "reject")
    items = await assistant.resume(say("Then I will not."))

    assert items[-1].kind is AgentYieldKind.FINAL
    assert not (workspace / "made").exists()


async def test_a_fault_of_the_model_leaves_a_run_that_can_be_resumed(assistant: Assistant) -> None:
    items = await assistant.start([fail("agent.model.unavailable", "It is down.", retryable=True)])
    error = items[-1].payload
    assert isinstance(error, Error)
    assert error.metadata["resumable"] is True

    again = await assistant.resume(say("Up again."))

    assert again[-1].kind is AgentYieldKind.FINAL


async def test_what_a_user_says_and_a_cancel_are_taken_without_waiting(
    assistant: Assistant,
) -> None:
    say_it = AgentSignal("s1", "r1", AgentSignalKind.USER_MESSAGE, {"message": "In French."})
    await assistant.ports.signals.append(say_it)
    paused = await assistant.start(call("shell.command", {"command": "true"}))
    assert "In French." in [m.content for m in assistant.model.requests[0].messages]
    await assistant.ports.signals.append(AgentSignal("s2", "r1", AgentSignalKind.CANCEL))
    await assistant.decide(paused, "approve")

    items = await assistant.resume()

    assert items[-1].kind is AgentYieldKind.CANCEL
    assert (await assistant.ports.states.get("r1")).status is AgentStatus.CANCELLED


@pytest.mark.requirement("DEMO-14")
def test_without_a_store_the_application_does_not_start_and_says_what_to_install() -> None:
    application = build_application(store=False)

    with pytest.raises(AgentPersistenceConfigurationError) as caught:
        application.start()

    for part in (
        "IAgentStateRepository",
        "IAgentSignalRepository",
        "IAgentEvidenceRepository",
        "spakky-sqlalchemy[agent]",
        "spakky.contributions.spakky.agent",
    ):
        assert part in str(caught.value)
