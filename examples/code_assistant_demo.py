"""The code assistant: an agent that reads, searches, edits and runs in one folder, asks before it changes anything, and goes on after a crash.

The agent is the class below. Everything beside it is wiring: what the ports are, and the command line. See README.md in
this folder for how to use it.
"""

import os
from contextlib import AbstractAsyncContextManager
from typing import Never, override

from code_assistant.commands import CodeAssistantCommands
from code_assistant.driver import IRunOpener, RunDriver
from code_assistant.exits import ExitCode
from code_assistant.git import IGit, LocalGit
from code_assistant.results import (
    CommandResult,
    FileView,
    PatchResult,
    SearchResult,
    WriteResult,
)
from code_assistant.runs import AGENT_NAME, Runs
from code_assistant.session import Session, SessionModel
from code_assistant.shell import IShell, LocalShell
from code_assistant.terminal import Terminal
from code_assistant.workspace import MAX_VIEW_LINES, IWorkspace, LocalWorkspace
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from spakky.core.application.plugin import Plugin
from spakky.core.pod.annotations.pod import Pod

from spakky.agent import (
    Agent,
    AgentBootstrapError,
    AgentExecutionLimits,
    AgentExecutionSpec,
    AgentPersistenceError,
    AgentRunner,
    AgentRunRefusedError,
    AgentSignalKind,
    EvidenceCapture,
    IAgentEvidenceRepository,
    IAgentModel,
    IAgentRunnerFactory,
    IAgentSignalRepository,
    IAgentStateRepository,
    Idempotency,
    ModelErrorPolicy,
    RecoveryStrategy,
    RejectionPolicy,
    ResultBudget,
    RunAgentInput,
    ToolEffects,
    agent_tool,
)
from spakky.plugins.sqlalchemy.error import DatabaseConfigurationError
from spakky.plugins.typer import CliSettings, ErrorExit, run_cli_and_exit

INSTRUCTIONS = """\
You work on the files of one folder with the declared tools. Paths are relative to that folder.
Read a file before you change it, and hand its digest to workspace.write as expected_digest.
workspace.write replaces a whole file. Changes and commands are shown to a person, who may refuse them; then do not try \
the same again, but say what you would have done.
When you are done, answer with what you found or did, in a few sentences."""

_READ_BUDGET = ResultBudget(max_bytes=300_000)


@Agent(
    spec=AgentExecutionSpec(
        name=AGENT_NAME,
        objective="inspect and edit a workspace",
        instructions=INSTRUCTIONS,
        accepted_signals=(
            AgentSignalKind.USER_MESSAGE,
            AgentSignalKind.APPROVAL_DECISION,
            AgentSignalKind.CANCEL,
            AgentSignalKind.STEERING_INSTRUCTION,
            AgentSignalKind.PAUSE,
            AgentSignalKind.RESUME,
        ),
        recovery=RecoveryStrategy.ACTION_BOUNDARY,
        limits=AgentExecutionLimits(timeout_seconds=1800),
        on_rejection=RejectionPolicy.INFORM_MODEL,
        on_model_error=ModelErrorPolicy.INTERRUPT,
    )
)
class CodeAssistant:
    """The agent: what it needs, and its seven tools.

    Args:
        model: Answers it.
        workspace: The files.
        shell: The commands.
        git: The repository.
        states: Where its runs are kept.
        signals: What people tell its runs.
        evidence: What its runs put on record.
    """

    def __init__(  # noqa: PLR0917 - the container injects each by its type
        self,
        model: IAgentModel,
        workspace: IWorkspace,
        shell: IShell,
        git: IGit,
        states: IAgentStateRepository,
        signals: IAgentSignalRepository,
        evidence: IAgentEvidenceRepository,
    ) -> None:
        self.model = model
        self.states = states
        self.signals = signals
        self.evidence = evidence
        self._workspace = workspace
        self._shell = shell
        self._git = git

    @agent_tool(
        schema_name="workspace.read",
        effects=ToolEffects.read_only(),
        idempotency=Idempotency.IDEMPOTENT,
        result_budget=_READ_BUDGET,
    )
    async def read_file(
        self, path: str, first_line: int = 1, max_lines: int = MAX_VIEW_LINES
    ) -> FileView:
        """Read lines of a text file; the digest that comes with them is for workspace.write."""
        return await self._workspace.read(path, first_line, max_lines)

    @agent_tool(
        schema_name="workspace.search",
        effects=ToolEffects.read_only(),
        idempotency=Idempotency.IDEMPOTENT,
    )
    async def search_files(
        self, text: str, glob: str = "**", *, ignore_case: bool = False
    ) -> SearchResult:
        """Find lines that hold a text, in files whose path fits a pattern like *.py, ./*.md or docs/**; with an empty text, list the files and folders that fit."""
        return await self._workspace.search(text, glob, ignore_case=ignore_case)

    @agent_tool(
        schema_name="workspace.write",
        effects=ToolEffects.write_state(),
        # Whole files could be written twice, but a person may have edited in between.
        idempotency=Idempotency.NON_IDEMPOTENT,
        evidence=EvidenceCapture.SUMMARY,
    )
    async def write_file(
        self, path: str, content: str, expected_digest: str | None = None
    ) -> WriteResult:
        """Create a file or replace its whole content; with the digest of the content that was read, a file that was changed meanwhile is left alone."""
        return await self._workspace.write(path, content, expected_digest)

    @agent_tool(
        schema_name="shell.command",
        effects=ToolEffects.external_side_effect(),
        idempotency=Idempotency.NON_IDEMPOTENT,
        evidence=EvidenceCapture.SUMMARY,
    )
    async def run_command(self, command: str, timeout_seconds: int = 60) -> CommandResult:
        """Run a command line with sh in the folder; a person sees it first."""
        return await self._shell.run(command, timeout_seconds)

    @agent_tool(
        schema_name="git.status",
        effects=ToolEffects.read_only(),
        idempotency=Idempotency.IDEMPOTENT,
    )
    async def git_status(self) -> str:
        """Show the branch and the changed files."""
        return await self._git.status()

    @agent_tool(
        schema_name="git.diff",
        effects=ToolEffects.read_only(),
        idempotency=Idempotency.IDEMPOTENT,
        result_budget=_READ_BUDGET,
    )
    async def git_diff(self, path: str | None = None, *, staged: bool = False) -> str:
        """Show changes as a unified diff, of everything or of one path."""
        return await self._git.diff(path, staged=staged)

    @agent_tool(
        schema_name="git.apply",
        effects=ToolEffects.write_state(),
        idempotency=Idempotency.NON_IDEMPOTENT,
        evidence=EvidenceCapture.SUMMARY,
    )
    async def apply_patch(self, patch: str) -> PatchResult:
        """Apply a unified diff to the files, all of it or nothing."""
        return await self._git.apply(patch)


@Pod(name="code_assistant.run_opener")
class CodeAssistantOpener(IRunOpener):
    """Opens runners of the agent above.

    Args:
        assistant: The agent.
        factory: The application's way to runners.
    """

    def __init__(self, assistant: CodeAssistant, factory: IAgentRunnerFactory) -> None:
        self._assistant = assistant
        self._factory = factory

    @override
    def open(self, run_input: RunAgentInput) -> AbstractAsyncContextManager[AgentRunner]:
        return self._factory.open_runner(self._assistant, run_input)


@Pod(name="code_assistant.workspace")
def local_workspace(session: Session) -> IWorkspace:
    """Give the workspace port."""
    return LocalWorkspace(session)


@Pod(name="code_assistant.shell")
def local_shell(session: Session) -> IShell:
    """Give the shell port."""
    return LocalShell(session)


@Pod(name="code_assistant.git")
def local_git(session: Session) -> IGit:
    """Give the git port."""
    return LocalGit(session)


STORE = Plugin(name="spakky-sqlalchemy")
"""The plugin that keeps the runs."""

_PODS = (
    Session,
    SessionModel,
    Terminal,
    local_workspace,
    local_shell,
    local_git,
    CodeAssistant,
    CodeAssistantOpener,
    Runs,
    RunDriver,
    CodeAssistantCommands,
)

_ERROR_EXITS = (
    ErrorExit(AgentRunRefusedError, ExitCode.REFUSED),
    ErrorExit(AgentPersistenceError, ExitCode.STORE),
    ErrorExit(DatabaseConfigurationError, ExitCode.STORE),
    ErrorExit(AgentBootstrapError, ExitCode.FAILED),
)


def build_application(*, store: bool = True) -> SpakkyApplication:
    """Put the application together; it is not started.

    Args:
        store: Whether the plugin that keeps runs is loaded. Without it the application does not start.
    """
    plugins = {Plugin(name="spakky-agent"), Plugin(name="spakky-typer")}
    application = SpakkyApplication(ApplicationContext())
    application.load_plugins(include=plugins | {STORE} if store else plugins)
    for pod in _PODS:
        application.add(pod)
    return application


def main() -> Never:
    """Run the command line."""
    # The demo administers its own tables, on PostgreSQL too.
    os.environ.setdefault("SPAKKY_SQLALCHEMY__AUTO_MIGRATE", "true")
    settings = CliSettings(
        name="code-assistant",
        help="An agent that works on a folder, asks before it writes, and survives kill -9.",
        add_completion=False,
        error_exits=_ERROR_EXITS,
    )
    run_cli_and_exit(build_application(), settings)


if __name__ == "__main__":
    main()
