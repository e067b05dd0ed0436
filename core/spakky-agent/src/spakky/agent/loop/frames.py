"""The closed union of what a run can show: the internal superset of both public streams.

A *live* frame belongs to something that is still going on, and is shown at once. A *fact* frame states what the journal
has accepted, and is shown only then. Frames are plain slots values, since one is made for every streamed delta; treat
them as read-only.
"""

from dataclasses import dataclass

from spakky.agent.contracts.approval import AgentApprovalRequest
from spakky.agent.contracts.events import AgentEvent
from spakky.agent.contracts.evidence import AgentEvidence
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.contracts.yields import AgentYield
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(slots=True, eq=False)
class TextShown:
    """Live: a piece of the assistant's text."""

    message_id: str
    text: str


@dataclass(slots=True, eq=False)
class ReasoningShown:
    """Live: a piece of the model's reasoning."""

    reasoning_id: str
    text: str


@dataclass(slots=True, eq=False)
class CallOpened:
    """Live: the model began a tool call. ``parent_message_id`` is the message it belongs to, once that has text."""

    call_id: str
    name: str
    parent_message_id: str | None


@dataclass(slots=True, eq=False)
class CallArgumentsShown:
    """Live: a piece of a call's argument text, free of sensitive values."""

    call_id: str
    delta: str


@dataclass(slots=True, eq=False)
class CallClosed:
    """Live: the model finished a tool call; it has not run yet."""

    call_id: str


@dataclass(slots=True, eq=False)
class RunStarted:
    """Fact: the run is open. ``resumed`` tells a continued run from a new one."""

    resumed: bool


@dataclass(slots=True, eq=False)
class StepStarted:
    """Live: a model call begins."""

    name: str


@dataclass(slots=True, eq=False)
class StepFinished:
    """Live: that model call is over, whatever came of it."""

    name: str


@dataclass(slots=True, eq=False)
class CallFinished:
    """Fact: a call has its result. Arguments and result are free of sensitive values."""

    call_id: str
    name: str
    message_id: str
    arguments: JsonObject
    result: JsonValue
    is_error: bool


@dataclass(slots=True, eq=False)
class ProgressShown:
    """Live: a line about what goes on."""

    message: str
    current_step: str | None
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(slots=True, eq=False)
class EvidenceShown:
    """Fact: a piece of evidence that callers may care about was recorded."""

    evidence: AgentEvidence


@dataclass(slots=True, eq=False)
class HookShown:
    """Live: an item that a signal hook of the agent yielded."""

    item: AgentYield[object]


@dataclass(slots=True, eq=False)
class ChildShown:
    """Live: an event of a delegated child run, passed on as it is."""

    event: AgentEvent


@dataclass(slots=True, eq=False)
class ApprovalAsked:
    """Fact: a person is asked about one call. ``note`` says why an earlier decision was not taken."""

    request: AgentApprovalRequest
    note: str | None = None


@dataclass(slots=True, eq=False)
class RunPaused:
    """Fact, last: the run waits. ``requests`` are the open ones, in the model's order; empty for other pauses."""

    reason: AgentStateReason
    prompt: str
    requests: tuple[AgentApprovalRequest, ...] = ()
    code: str | None = None
    retryable: bool = False
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(slots=True, eq=False)
class RunCompleted:
    """Fact, last: the run ended well. ``output`` is what the caller gets; ``stored`` is the same as JSON."""

    output: object
    stored: JsonValue
    metadata: JsonObject
    spent: JsonObject = EMPTY_OBJECT


@dataclass(slots=True, eq=False)
class RunFailed:
    """Fact, last: the run ended badly, or this runner had to let go of it."""

    code: str
    message: str
    retryable: bool = False
    status: AgentStatus = AgentStatus.FAILED
    spent: JsonObject = EMPTY_OBJECT


@dataclass(slots=True, eq=False)
class RunCancelled:
    """Fact, last: the run was cancelled."""

    reason: str | None
    requested_by: str | None
    spent: JsonObject = EMPTY_OBJECT


type Frame = (
    TextShown
    | ReasoningShown
    | CallOpened
    | CallArgumentsShown
    | CallClosed
    | RunStarted
    | StepStarted
    | StepFinished
    | CallFinished
    | ProgressShown
    | EvidenceShown
    | HookShown
    | ChildShown
    | ApprovalAsked
    | RunPaused
    | RunCompleted
    | RunFailed
    | RunCancelled
)
