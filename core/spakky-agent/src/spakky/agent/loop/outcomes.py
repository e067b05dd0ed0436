"""The closed union of what can come of a step. ``fold.py`` turns each into new progress.

Some outcomes must be on disk before anything else happens (``commits``); the others ride along with the next commit.
All are frozen values without ports.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, override

from spakky.agent.contracts.approval import AgentApprovalDecisionOutcome
from spakky.agent.contracts.cancellation import AgentCancellationCleanupReport
from spakky.agent.contracts.evidence import AgentEvidenceCandidate
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.json_value import JsonValue
from spakky.agent.loop.frames import CallFinished
from spakky.agent.loop.progress import CallState, CancelOrder, Ending, FinalAnswer, Progress
from spakky.agent.rules.limits import NOTHING_SPENT, Spent


class StopReason(StrEnum):
    """Why something that was running was stopped from outside."""

    CANCEL = "cancel"
    DEADLINE = "deadline"
    LEASE_LOST = "lease_lost"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Base of all outcomes, so that an executor's items can be told apart with one test."""

    always_commits: ClassVar[bool] = False

    @property
    def commits(self) -> bool:
        """Whether this must be on disk before anything else happens."""
        return self.always_commits


@dataclass(frozen=True, slots=True)
class Opened(Outcome):
    """The run was created or loaded; ``progress`` is where it stands."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision on one waiting call.

    Attributes:
        signal_id: The signal that brought it.
        decision: What the person decided; None when the signal could not be taken.
        call: The call after the decision; None when no waiting call has that request.
        refused: Why the decision was not taken.
        answer: The TOOL message that records an outcome supplied by the person.
        forward: The same decision, addressed to the child run that asked.
    """

    signal_id: str
    decision: AgentApprovalDecisionOutcome | None
    call: CallState | None
    refused: str | None = None
    answer: ModelMessage | None = None
    forward: AgentSignal | None = None


@dataclass(frozen=True, slots=True)
class InboxRead(Outcome):
    """The eligible signals were read.

    Attributes:
        consumed: Ids of the signals taken, in order.
        decisions: What people decided, in order.
        cancel: An order to cancel; nothing after it was taken.
        pause: Whether a PAUSE is in force.
        messages: USER messages that join the transcript.
        notes: Lines to show for messages that no hook handles.
        evidence: Grounds to record.
    """

    consumed: tuple[str, ...] = ()
    decisions: tuple[Decided, ...] = ()
    cancel: CancelOrder | None = None
    pause: bool = False
    messages: tuple[ModelMessage, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: tuple[AgentEvidenceCandidate, ...] = ()

    @property
    @override
    def commits(self) -> bool:
        return bool(self.consumed)


@dataclass(frozen=True, slots=True)
class HookBroke(Outcome):
    """A signal hook of the agent raised."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Answered(Outcome):
    """The model answered.

    Attributes:
        message: The ASSISTANT message as it is stored; secrets in its calls are replaced.
        calls: The planned calls, in order; those the model got wrong are DONE already.
        mistakes: The TOOL messages of those, with what is shown of them.
        usage: What the call used.
        answer: The final answer when there are no calls and it fits the declared output.
        misfit: Why an answer does not fit the declared output.
        audits: What the output guard put on record.
    """

    message: ModelMessage
    calls: tuple[CallState, ...] = ()
    mistakes: tuple["CallReturned", ...] = ()
    usage: ModelUsage = ModelUsage()  # noqa: RUF009 - frozen
    answer: FinalAnswer | None = None
    misfit: str | None = None
    audits: tuple[AgentEvidenceCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded(Outcome):
    """Grounds to put on record now, for example around an optimisation of the context."""

    always_commits: ClassVar[bool] = True

    evidence: tuple[AgentEvidenceCandidate, ...]


@dataclass(frozen=True, slots=True)
class ModelBroke(Outcome):
    """The model call failed."""

    code: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class AuthNeeded(Outcome):
    """Somebody must sign in first. ``call`` is the tool call that asked, None when the model did."""

    provider: str
    prompt: str
    call: CallState | None = None


@dataclass(frozen=True, slots=True)
class CallReturned(Outcome):
    """A call has its result, good or bad; the model will read ``message``.

    Attributes:
        call: The call, DONE.
        message: The TOOL message.
        shown: What both streams show.
        evidence: The captured result, when its tool asks for capture.
        spent: What a delegate spent on it.
    """

    always_commits: ClassVar[bool] = True

    call: CallState
    message: ModelMessage
    shown: CallFinished
    evidence: AgentEvidenceCandidate | None = None
    spent: Spent = NOTHING_SPENT


@dataclass(frozen=True, slots=True)
class CallBroke(Outcome):
    """A tool failed in a way that the model cannot mend; the call stays open."""

    call: CallState
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CallPaused(Outcome):
    """A delegated child waits for a person; the call goes back to waiting under the child's request."""

    always_commits: ClassVar[bool] = True

    call: CallState


@dataclass(frozen=True, slots=True)
class PeopleAsked(Outcome):
    """Consent was asked for these calls; each has its request."""

    always_commits: ClassVar[bool] = True

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class Stopped(Outcome):
    """What was running must stop. For a cancel the order must be stored before anything is cleaned up."""

    always_commits: ClassVar[bool] = True

    reason: StopReason
    order: CancelOrder | None = None


@dataclass(frozen=True, slots=True)
class CleanedUp(Outcome):
    """Everything that ran was cleaned up, as far as it could be."""

    report: AgentCancellationCleanupReport


@dataclass(frozen=True, slots=True)
class Settled(Outcome):
    """This stretch of the run is over. ``output`` is the typed output; ``stored`` the same as JSON."""

    always_commits: ClassVar[bool] = True

    ending: Ending
    output: object = None
    stored: JsonValue = None
