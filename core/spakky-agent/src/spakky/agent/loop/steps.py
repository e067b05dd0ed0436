"""The closed union of what the loop can do next. A step is chosen by ``decide.py`` and carried out by one executor."""

from dataclasses import dataclass

from spakky.agent.contracts.signals import AgentSignalPollPoint
from spakky.agent.loop.progress import CallState, Ending


@dataclass(frozen=True, slots=True)
class OpenRun:
    """Load or create the run."""


@dataclass(frozen=True, slots=True)
class ReadInbox:
    """Read pending signals. ``messages`` says whether messages may be taken too, not only control signals."""

    poll_point: AgentSignalPollPoint
    messages: bool


@dataclass(frozen=True, slots=True)
class AskModel:
    """Call the model with everything so far."""


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Run a batch: calls that may run beside each other, or a single one."""

    batch: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class AskPeople:
    """Ask for consent to each of these calls."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class CleanUp:
    """Finish a cancellation."""


@dataclass(frozen=True, slots=True)
class Settle:
    """End this stretch of the run."""

    ending: Ending


type Step = OpenRun | ReadInbox | AskModel | RunCalls | AskPeople | CleanUp | Settle

ACTING: tuple[type, ...] = (AskModel, RunCalls, CleanUp)
"""The steps that act outside: everything must be committed before one begins."""
