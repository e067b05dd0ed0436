"""Drives a run until it ends or waits for somebody who is not here, and turns the way it ends into an exit code."""

import asyncio
import getpass
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace
from typing import assert_never

from spakky.core.pod.annotations.pod import Pod

from code_assistant.changes import Change, describe_change, is_uncertain
from code_assistant.exits import ExitCode, refuse_usage
from code_assistant.runs import Runs
from code_assistant.session import RunSettings, Session
from code_assistant.terminal import Answer, Terminal
from code_assistant.workspace import IWorkspace
from spakky.agent import (
    AgentApprovalRequest,
    AgentRunInProgressError,
    AgentRunner,
    AgentRunResult,
    AgentSignal,
    AgentSignalKind,
    AgentYield,
    Approval,
    ApprovalDecision,
    Cancel,
    Error,
    Final,
    JsonValue,
    Progress,
    RunAgentInput,
    Token,
    Tool,
    WatchTimes,
)

LEASE_VARIABLE = "CODE_ASSISTANT_LEASE_SECONDS"
"""How long a run that was killed stays claimed by the process that is gone."""

_DEFAULT_LEASE_SECONDS = 8.0
_RETRY_SECONDS = 0.25


class IRunOpener(ABC):
    """Opens a runner of the agent for one stretch of a run."""

    @abstractmethod
    def open(self, run_input: RunAgentInput) -> AbstractAsyncContextManager[AgentRunner]:
        """Open a runner; use it with ``async with``."""


@dataclass(slots=True)
class _Stretch:
    """What one stretch of a run came to."""

    code: ExitCode | None = None
    requests: list[AgentApprovalRequest] = field(default_factory=list)
    notice: str | None = None


@Pod(name="code_assistant.driver")
class RunDriver:
    """Runs the agent for a command.

    Args:
        opener: Gives runners.
        session: Workspace and model of the command.
        terminal: Where it is shown.
        workspace: For the comparison with what is there.
        runs: The stored runs.
    """

    def __init__(
        self,
        opener: IRunOpener,
        session: Session,
        terminal: Terminal,
        workspace: IWorkspace,
        runs: Runs,
    ) -> None:
        self._opener = opener
        self._session = session
        self._terminal = terminal
        self._workspace = workspace
        self._runs = runs

    async def drive(
        self, run_input: RunAgentInput, settings: RunSettings, *, approve_all: bool = False
    ) -> ExitCode:
        """Run or resume, ask about changes where there is somebody to ask, and go on until nothing more can be done.

        Args:
            run_input: The run.
            settings: What it works on.
            approve_all: Agree to every change without asking; never to one of which nobody knows whether it was made.

        Raises:
            AgentRunRefusedError: The run was not opened.
            AgentPersistenceError: The store failed.
        """
        run_input = replace(run_input, metadata=settings.to_metadata())
        times = WatchTimes(lease_seconds=read_lease_seconds())
        async with self._session.open(settings):
            while True:
                stretch = await self._run_when_free(run_input, times)
                if stretch.code is not None:
                    return stretch.code
                if not await self._decide(stretch, approve_all=approve_all):
                    self._tell_how_to_go_on(run_input.state_id, stretch)
                    return ExitCode.PAUSED
                run_input = replace(run_input, instruction="", resume=True)

    async def _run_when_free(self, run_input: RunAgentInput, times: WatchTimes) -> _Stretch:
        """Run a stretch; wait for the lease of a process that may be gone.

        A process that was killed renews its lease no more, so that it runs out in time; one that lives keeps it.
        """
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + times.lease_seconds + 1
        told = False
        while True:
            try:
                return await self._run(run_input, times)
            except AgentRunInProgressError:
                if loop.time() >= give_up_at or not run_input.resume:
                    raise
            if not told:
                told = True
                self._terminal.show_line(
                    f"Another process holds run {run_input.state_id}; waiting up to {times.lease_seconds:g} seconds to see whether it is alive.",
                    "dim",
                )
            await asyncio.sleep(_RETRY_SECONDS)

    async def _run(self, run_input: RunAgentInput, times: WatchTimes) -> _Stretch:
        stretch = _Stretch()
        async with self._opener.open(run_input) as runner:
            timed = replace(runner, times=times)
            async with aclosing(timed.run(run_input)) as items:
                async for item in items:
                    self._show(item, stretch)
        return stretch

    def _show(self, item: AgentYield[object], stretch: _Stretch) -> None:
        terminal = self._terminal
        match item.payload:
            case Token(text):
                terminal.show_token(text)
            case Tool(name, _, arguments, result, metadata):
                is_error = metadata.get("is_error") is True
                terminal.show_tool(name, arguments, result, is_error=is_error)
            case Progress(message):
                terminal.show_line(message, "dim")
            case Approval():
                _note_approval(item.payload, stretch)
            case Final(output):
                terminal.show_final(
                    output.output_text if isinstance(output, AgentRunResult) else ""
                )
                stretch.code = ExitCode.DONE
            case Cancel(reason):
                terminal.show_line(f"Cancelled{f': {reason}' if reason else ''}.", "yellow")
                stretch.code = ExitCode.FAILED
            case Error():
                self._show_error(item.payload, stretch)
            case _:
                pass  # evidence is counted by ``show``

    def _show_error(self, error: Error, stretch: _Stretch) -> None:
        stretch.code = exit_code_of(error)
        # A run that the store let down says how to go on itself.
        if stretch.code is ExitCode.RESUMABLE:
            hint = " Then resume the run; nothing of it is lost."
        else:
            hint = ""
        self._terminal.show_fault(f"{error.message}{hint}")

    async def _decide(self, stretch: _Stretch, *, approve_all: bool) -> bool:
        """Ask about each open change; True when every one of them was decided on."""
        decided = bool(stretch.requests)
        for request in stretch.requests:
            change = await describe_change(request, self._workspace)
            self._terminal.show_change(change)
            if approve_all and not change.is_uncertain:
                self._terminal.show_line("Approved by --yes.", "dim")
                answer = Answer.YES
            elif self._terminal.can_ask:
                answer = await self._terminal.ask(change)
            else:
                answer = Answer.LATER
            if answer is Answer.LATER:
                decided = False
                continue
            await self.append_answer(request, answer)
        return decided

    async def append_answer(
        self,
        request: AgentApprovalRequest,
        answer: Answer,
        *,
        comment: str | None = None,
        outcome: str | None = None,
    ) -> None:
        """Append a person's decision to the run's signals.

        Args:
            request: What it answers.
            answer: Anything but later.
            comment: The person's words; the model reads those of a refusal.
            outcome: For ``DONE``: what came of it, in the person's words.
        """
        payload: dict[str, JsonValue] = {"request_id": request.id, "decided_by": user_name()}
        if comment:
            payload["comment"] = comment
        match answer:
            case Answer.YES:
                payload["decision"] = ApprovalDecision.APPROVE.value
            case Answer.NO:
                payload["decision"] = ApprovalDecision.REJECT.value
            case Answer.DONE:
                told = outcome or "A person found that it had taken effect."
                payload |= {"decision": ApprovalDecision.APPROVE.value, "result": {"outcome": told}}
            case Answer.LATER:
                payload["decision"] = ApprovalDecision.DEFER.value
            case _:
                assert_never(answer)
        await self.append_signal(request.agent_state_id, AgentSignalKind.APPROVAL_DECISION, payload)

    async def append_signal(
        self, run_id: str, kind: AgentSignalKind, payload: dict[str, JsonValue]
    ) -> None:
        """Append a signal to a run's queue."""
        signal_id = f"{run_id}/signal/{secrets.token_hex(8)}"
        await self._runs.signals.append(AgentSignal(signal_id, run_id, kind, payload))

    async def describe(
        self, requests: Sequence[AgentApprovalRequest], settings: RunSettings
    ) -> list[Change]:
        """Give what the open requests of a run are about."""
        async with self._session.open(settings):
            return [await describe_change(request, self._workspace) for request in requests]

    def _tell_how_to_go_on(self, run_id: str, stretch: _Stretch) -> None:
        show = self._terminal.show_line
        if stretch.notice is not None:
            show(stretch.notice, "yellow")
            show(f"Go on with: code-assistant resume {run_id}", "bold")
            return
        show(f"\nRun {run_id} waits for you. Go on with one of:", "bold")
        show(f"  code-assistant approve {run_id}")
        if any(is_uncertain(request) for request in stretch.requests):
            show(
                f"  code-assistant approve {run_id} --outcome WHAT   (it was done; do not do it again)"
            )
        show(f"  code-assistant reject {run_id} --comment WHY")
        show(f"  code-assistant cancel {run_id}")


def _note_approval(approval: Approval, stretch: _Stretch) -> None:
    if not approval.allowed_decisions:
        stretch.notice = approval.prompt
        return
    request = AgentApprovalRequest.from_metadata(approval.metadata)
    stretch.requests = [known for known in stretch.requests if known.id != request.id] + [request]


def exit_code_of(error: Error) -> ExitCode:
    """Give the exit code of a run that ended with an error item."""
    if error.metadata.get("resumable") is True:
        return ExitCode.RESUMABLE
    if error.code == "agent.persistence.lease_lost":
        return ExitCode.REFUSED
    if error.code.startswith("agent.persistence"):
        return ExitCode.STORE
    return ExitCode.FAILED


def user_name() -> str:
    """Give the name under which decisions are recorded."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"uid-{os.getuid()}"


def read_lease_seconds() -> float:
    """Give the time that a run's lease lasts. The command ends when the variable holds no number from 1 to 600."""
    text = os.environ.get(LEASE_VARIABLE, "")
    if not text:
        return _DEFAULT_LEASE_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 600:
        refuse_usage(f"{LEASE_VARIABLE} must be a number from 1 to 600, not {text!r}; correct it.")
    return seconds
