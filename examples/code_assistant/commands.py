"""The commands of ``code-assistant``."""

import secrets
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from code_assistant.changes import is_uncertain
from code_assistant.driver import RunDriver
from code_assistant.exits import ExitCode, refuse, refuse_usage
from code_assistant.runs import Runs, StoredRun
from code_assistant.session import ModelServer, RunSettings
from code_assistant.terminal import Answer, Terminal
from code_assistant.transcript_view import outline_transcript
from spakky.agent import AgentRunInProgressError, AgentSignalKind, AgentState, RunAgentInput
from spakky.plugins.typer import CliController, command

RunId = Annotated[str, typer.Argument(metavar="ID", help="The run, as 'runs' lists it.")]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="CODE_ASSISTANT_BASE_URL",
        help="An OpenAI-compatible server, as in http://127.0.0.1:8000/v1.",
    ),
]
ModelName = Annotated[
    str | None, typer.Option(envvar="CODE_ASSISTANT_MODEL", help="The model's name at that server.")
]
KeyVariable = Annotated[
    str | None, typer.Option(metavar="VAR", help="The environment variable with the server's key.")
]
YesToAll = Annotated[bool, typer.Option("--yes", help="Agree to every change without being asked.")]
Workspace = Annotated[
    Path | None, typer.Option(help="The folder to work on; at first the current one.")
]
ApprovalId = Annotated[str | None, typer.Option(help="Which approval, when several are open.")]
Comment = Annotated[str | None, typer.Option(help="Why; the model reads it after a refusal.")]
NoResume = Annotated[
    bool, typer.Option("--no-resume", help="Only record the decision; resume later.")
]


@CliController()
class CodeAssistantCommands:
    """Commands that run the agent and look after its runs.

    Args:
        driver: Drives runs.
        runs: The stored runs.
        terminal: Where everything is shown.
    """

    def __init__(self, driver: RunDriver, runs: Runs, terminal: Terminal) -> None:
        self._driver = driver
        self._runs = runs
        self._terminal = terminal

    @command()
    async def run(
        self,
        instruction: Annotated[str, typer.Argument(help="What the agent is asked to do.")],
        workspace: Workspace = None,
        id: Annotated[str | None, typer.Option(help="The id of the new run.")] = None,  # noqa: A002
        base_url: BaseUrl = None,
        model: ModelName = None,
        api_key_env: KeyVariable = None,
        *,
        yes: YesToAll = False,
    ) -> None:
        """Start a run in a folder; without a server the offline planner answers."""
        if not instruction.strip():
            refuse_usage("The instruction is blank; say what the agent is to do.")
        if id is not None and (not id.strip() or len(id) > 100 or not id.isprintable()):
            refuse_usage("The id must be 1 to 100 visible characters; give another one, or none.")
        server = choose_server(None, base_url, model, api_key_env)
        settings = RunSettings((workspace or Path()).absolute(), server, instruction)
        run_id = id or await self._new_id()
        self._terminal.show_line(f"run {run_id} in {settings.workspace}", "dim")
        run_input = RunAgentInput(state_id=run_id, instruction=instruction)
        raise typer.Exit(await self._driver.drive(run_input, settings, approve_all=yes))

    @command()
    async def resume(
        self,
        run_id: RunId,
        workspace: Workspace = None,
        base_url: BaseUrl = None,
        model: ModelName = None,
        api_key_env: KeyVariable = None,
        *,
        yes: YesToAll = False,
    ) -> None:
        """Go on with a run that was interrupted, or show the result of one that has ended."""
        found = await self._runs.find(run_id)
        server = choose_server(found.settings.server, base_url, model, api_key_env)
        folder = workspace.absolute() if workspace else found.settings.workspace
        settings = RunSettings(folder, server, found.settings.instruction)
        raise typer.Exit(await self._resume(run_id, settings, approve_all=yes))

    @command()
    async def approve(
        self,
        run_id: RunId,
        approval: ApprovalId = None,
        comment: Comment = None,
        outcome: Annotated[
            str | None,
            typer.Option(
                help="For a call that a crash cut off: it was done already, with this outcome; do not run it again."
            ),
        ] = None,
        *,
        no_resume: NoResume = False,
    ) -> None:
        """Agree to an open change and go on with the run."""
        answer = Answer.YES if outcome is None else Answer.DONE
        await self._answer(run_id, approval, answer, comment, outcome, no_resume=no_resume)

    @command()
    async def reject(
        self,
        run_id: RunId,
        approval: ApprovalId = None,
        comment: Comment = None,
        *,
        no_resume: NoResume = False,
    ) -> None:
        """Refuse an open change; the model is told, and the run goes on without it."""
        await self._answer(run_id, approval, Answer.NO, comment, None, no_resume=no_resume)

    @command()
    async def cancel(
        self,
        run_id: RunId,
        reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
    ) -> None:
        """Cancel a run, whether it is at work in another process or waits."""
        found = await self._find_open(run_id)
        await self._driver.append_signal(
            run_id, AgentSignalKind.CANCEL, {"reason": reason} if reason else {}
        )
        try:
            code = await self._resume(run_id, found.settings)
        except AgentRunInProgressError:
            self._terminal.show_line(f"Run {run_id} is at work in another process and will stop.")
            return
        if code is not ExitCode.FAILED:
            raise typer.Exit(code)

    @command()
    async def say(
        self, run_id: RunId, text: Annotated[str, typer.Argument(help="What the agent is told.")]
    ) -> None:
        """Tell a run something; it reads it before its next model call."""
        await self._find_open(run_id)
        if not text.strip():
            refuse_usage("The text is blank; say something.")
        await self._driver.append_signal(run_id, AgentSignalKind.USER_MESSAGE, {"message": text})
        self._terminal.show_line(f"Run {run_id} will read it before its next model call.")

    @command()
    async def runs(self) -> None:
        """List all runs, the oldest first."""
        for state in await self._runs.list_all():
            self._terminal.show_line(describe_state(state))

    @command()
    async def show(self, run_id: RunId) -> None:
        """Show where a run stands, what it waits for, and what was said."""
        found = await self._runs.find(run_id)
        show = self._terminal.show_line
        show(describe_state(found.state), "bold")
        show(f"workspace {found.settings.workspace}")
        server = found.settings.server
        where = "offline planner" if server is None else f"{server.model} at {server.base_url}"
        show(f"model {where}")
        steps = found.state.checkpoint.get("step", 0)
        evidence = await self._runs.count_evidence(run_id)
        show(f"{steps} model calls, {evidence} pieces of evidence")
        for line in outline_transcript(await self._runs.load_transcript(run_id)):
            show(line)
        if found.requests and found.settings.workspace.is_dir():
            for change in await self._driver.describe(found.requests, found.settings):
                show(f"open approval {change.request_id}", "yellow")
                self._terminal.show_change(change)

    async def _new_id(self) -> str:
        while await self._runs.exists(run_id := secrets.token_hex(3)):
            continue
        return run_id

    async def _resume(
        self, run_id: str, settings: RunSettings, *, approve_all: bool = False
    ) -> ExitCode:
        run_input = RunAgentInput(state_id=run_id, instruction="", resume=True)
        return await self._driver.drive(run_input, settings, approve_all=approve_all)

    async def _find_open(self, run_id: str) -> StoredRun:
        found = await self._runs.find(run_id)
        if found.has_ended:
            refuse(
                ExitCode.REFUSED,
                f"Run {run_id} is {found.state.status.value}, which is final; start a new one with 'code-assistant run'.",
            )
        return found

    async def _answer(
        self,
        run_id: str,
        approval: str | None,
        answer: Answer,
        comment: str | None,
        outcome: str | None,
        *,
        no_resume: bool,
    ) -> None:
        found = await self._find_open(run_id)
        request = next((r for r in found.requests if approval in {None, r.id}), None)
        if request is None:
            what = "no open approval" if approval is None else f"no open approval {approval!r}"
            refuse(
                ExitCode.REFUSED,
                f"Run {run_id} has {what}; 'code-assistant show {run_id}' tells what it waits for.",
            )
        if approval is None and len(found.requests) > 1:
            ids = ", ".join(r.id for r in found.requests)
            refuse_usage(
                f"Run {run_id} has several open approvals; name one with --approval: {ids}."
            )
        if outcome is not None and not is_uncertain(request):
            refuse_usage(
                "--outcome is for a call that a crash cut off; this one was not begun. Leave it out."
            )
        await self._driver.append_answer(request, answer, comment=comment, outcome=outcome)
        if no_resume:
            self._terminal.show_line(f"Recorded. Go on with: code-assistant resume {run_id}")
            return
        raise typer.Exit(await self._resume(run_id, found.settings))


def choose_server(
    stored: ModelServer | None, base_url: str | None, model: str | None, api_key_env: str | None
) -> ModelServer | None:
    """Give the server of a run: the options come before what the run remembers. None is the offline planner."""
    if stored is None and base_url is None:
        if model is not None or api_key_env is not None:
            refuse_usage("--model and --api-key-env need a server; name it with --base-url.")
        return None
    base_url = base_url or (stored.base_url if stored else "")
    model = model or (stored.model if stored else None)
    if model is None:
        refuse_usage("--base-url needs a model; name it with --model.")
    if not base_url.startswith(("http://", "https://")):
        refuse_usage(f"--base-url must begin with http:// or https://, not {base_url!r}.")
    return ModelServer(base_url, model, api_key_env or (stored.api_key_env if stored else None))


def describe_state(state: AgentState) -> str:
    """Give a line about a run: id, status, reason, when it was last changed, and what it was asked."""
    settings = RunSettings.from_metadata(state.metadata.get("run_metadata"))
    reason = f" ({state.reason.value})" if state.reason is not None else ""
    asked = "" if settings is None else " ".join(settings.instruction.split())[:80]
    return f"{state.id}  {state.status.value}{reason}  {_local(state.updated_at)}  {asked}"


def _local(moment: datetime | None) -> str:
    return "-" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
