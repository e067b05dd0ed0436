"""The demo in a process that kills itself at a point that the environment names, and counts its writes in a ledger."""

import os
import signal
from pathlib import Path

import code_assistant_demo
from code_assistant.driver import RunDriver
from code_assistant.results import WriteResult
from code_assistant.terminal import Answer, Terminal
from code_assistant.workspace import LocalWorkspace

from spakky.agent import AgentApprovalRequest
from spakky.agent_testkit.crash import Ledger

KILL_AT = "DEMO_KILL_AT"
LEDGER = "DEMO_LEDGER"

_store, _load = LocalWorkspace._store, LocalWorkspace._load
_show_token, _show_change = Terminal.show_token, Terminal.show_change
_append = RunDriver.append_answer
_seen: list[str] = []


def die_at(point: str) -> None:
    if os.environ.get(KILL_AT) == point:
        os.kill(os.getpid(), signal.SIGKILL)


def store(
    self: LocalWorkspace, path: str, content: str, expected_digest: str | None
) -> WriteResult:
    die_at("write-begun")
    result = _store(self, path, content, expected_digest)
    if LEDGER in os.environ:
        Ledger(Path(os.environ[LEDGER])).append(f"{path} {result.action}")
    die_at("written")
    return result


def load(self: LocalWorkspace, path: str) -> bytes:
    die_at("read")
    return _load(self, path)


def show_token(self: Terminal, text: str) -> None:
    _seen.append(text)
    _show_token(self, text)
    if len(_seen) > 1:
        die_at("mid-stream")


def show_change(self: Terminal, change: object) -> None:
    die_at("waiting")
    _show_change(self, change)  # type: ignore[arg-type]  # handed on as it came


async def append_answer(
    self: RunDriver,
    request: AgentApprovalRequest,
    answer: Answer,
    *,
    comment: str | None = None,
    outcome: str | None = None,
) -> None:
    await _append(self, request, answer, comment=comment, outcome=outcome)
    die_at("approved")


def install() -> None:
    """Put the points around the demo's own methods, which do what they always do."""
    for owner, function in (
        (LocalWorkspace, store),
        (LocalWorkspace, load),
        (Terminal, show_token),
        (Terminal, show_change),
        (RunDriver, append_answer),
    ):
        name = function.__name__
        setattr(owner, f"_{name}" if owner is LocalWorkspace else name, function)


if __name__ == "__main__":
    # A shell may start background processes with the signal ignored, which children inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    install()
    code_assistant_demo.main()
