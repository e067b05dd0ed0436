"""How far a run has come: one frozen value that the whole loop turns on.

It has two parts. The transcript only grows and is stored as rows; everything else is the control part, which is small
and is stored whole at each boundary (``checkpoint.py``).
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from spakky.agent.contracts.approval import AgentApprovalRequest
from spakky.agent.contracts.model_message import ModelMessage, ModelToolCall
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.contracts.state import AgentStateReason
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue
from spakky.agent.rules.lifecycle import CREATED, Standing, Trigger
from spakky.agent.rules.limits import NOTHING_SPENT, Spent, spent_of

_ASKING = frozenset({Trigger.ASK_APPROVAL, Trigger.ASK_RECOVERY, Trigger.DEFER})


class Phase(StrEnum):
    """Where the loop stands; ``decide.py`` has the table."""

    OPENING = "opening"
    POLLING = "polling"
    ASKING = "asking"
    CALLING = "calling"
    CLEANING = "cleaning"
    SETTLING = "settling"
    SETTLED = "settled"


class CallStage(StrEnum):
    """How far one tool call of the current turn has come."""

    READY = "ready"
    STARTED = "started"
    GATED = "gated"
    WAITING = "waiting"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class CallState:
    """One tool call of the current turn.

    Attributes:
        action_id: The call's stable id: run, step and position. It is also the idempotency key.
        call: The call to run; its arguments are those that a person modified, where one did.
        digest: Digest of the arguments as the model proposed them.
        stage: How far it has come.
        idempotency: What its tool declared when the call was planned.
        concurrent: Whether it may run beside others.
        request: The open or answered request for consent, when it needed one.
        storable: False when its arguments hold a raw secret, which is stored nowhere.
        uncertain: True when a runner died inside it, so that nobody knows whether it took effect.
        delegate: The teammate's name when the call delegates.
        note: Why the last decision on it was not taken.
    """

    action_id: str
    call: ModelToolCall
    digest: str
    stage: CallStage
    idempotency: Idempotency
    concurrent: bool = False
    request: AgentApprovalRequest | None = None
    storable: bool = True
    uncertain: bool = False
    delegate: str | None = None
    note: str | None = None

    @property
    def call_id(self) -> str:
        """The id that pairs the call with its result in the history; always set by the planner."""
        return self.call.call_id or self.action_id


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """An answer that may end the run: its text, the message that holds it, and the typed output as JSON."""

    text: str
    message_id: str
    output: JsonValue = None
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(frozen=True, slots=True)
class CancelOrder:
    """The CANCEL signal that a run obeys."""

    signal_id: str
    reason: str | None = None
    requested_by: str | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The run ended with an answer."""

    answer: FinalAnswer


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits: for people's decisions, for a sign-in, for a RESUME, or for its model to come back."""

    trigger: Trigger
    reason: AgentStateReason
    prompt: str
    code: str | None = None
    retryable: bool = False
    metadata: JsonObject = EMPTY_OBJECT

    @property
    def asks_people(self) -> bool:
        """Whether it waits for decisions on calls, so that the open requests belong to it."""
        return self.trigger in _ASKING


@dataclass(frozen=True, slots=True)
class Failed:
    """The run ended badly. ``trigger`` is the row of the life-cycle table: FAIL, TIME_OUT or REJECT."""

    trigger: Trigger
    code: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was cancelled; ``failed_cleanup`` says in words what could not be cleaned up."""

    order: CancelOrder
    failed_cleanup: str | None = None


@dataclass(frozen=True, slots=True)
class Abandoned:
    """This runner lets go of the run and stores nothing more: another one holds it, or the store failed."""

    code: str
    message: str


type Ending = Completed | Paused | Failed | Cancelled | Abandoned


@dataclass(frozen=True, slots=True)
class Progress:
    """Where one run stands.

    Attributes:
        run_id: The run; ``RunAgentInput.state_id``.
        phase: Where the loop stands.
        standing: Where the life cycle stands.
        seeds: Dialogue from before the run, already well-formed. Kept by the conversation store, not by the run.
        transcript: The run's own messages, beginning with what a client injected and the instruction.
        step: Model calls begun so far.
        asking: A model call was begun and has not been answered.
        calls: The tool calls of the current turn, in the model's order; empty between turns.
        tool_calls: Tool calls counted so far, mistakes of the model included.
        usage: Tokens used so far by all model calls.
        last_usage: Tokens used by the last model call.
        delegated: What the delegates of the run have spent.
        repairs: Repair turns spent on the structured output.
        answer: An answer that ends the run unless a message comes in.
        cancel: The order that is being carried out.
        ending: How this stretch of the run ends.
        resumed: This stretch continues a stored run.
        asked: People were asked, or decided something, in this stretch.
        evidence_count: Pieces of evidence recorded so far.
    """

    run_id: str
    phase: Phase = Phase.OPENING
    standing: Standing = CREATED
    seeds: tuple[ModelMessage, ...] = ()
    transcript: tuple[ModelMessage, ...] = ()
    step: int = 0
    asking: bool = False
    calls: tuple[CallState, ...] = ()
    tool_calls: int = 0
    usage: ModelUsage = ModelUsage()  # noqa: RUF009 - frozen
    last_usage: ModelUsage = ModelUsage()  # noqa: RUF009 - frozen
    delegated: Spent = NOTHING_SPENT
    repairs: int = 0
    answer: FinalAnswer | None = None
    cancel: CancelOrder | None = None
    ending: Ending | None = None
    resumed: bool = False
    asked: bool = False
    evidence_count: int = 0

    @property
    def step_name(self) -> str:
        """The name of the current step in both streams."""
        return f"model-{self.step}"

    @property
    def model_action_id(self) -> str:
        """The stable id of the current model call."""
        return f"{self.run_id}/model/{self.step}"

    @property
    def message_id(self) -> str:
        """The id of the message that the current model call writes."""
        return f"{self.run_id}/message/{self.step}"

    @property
    def spent(self) -> Spent:
        """What the run has spent, its delegates included."""
        return spent_of(self.step, self.tool_calls, self.usage).plus(self.delegated)

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the tools that were run, in the order in which they ended."""
        return tuple(
            message.tool_name
            for message in self.transcript
            if message.tool_name is not None and not message.metadata.get("not_run")
        )

    @property
    def waiting(self) -> tuple[CallState, ...]:
        """The calls that wait for a person."""
        return tuple(call for call in self.calls if call.stage is CallStage.WAITING)

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """The calls of this turn that have no result yet."""
        return tuple(call for call in self.calls if call.stage is not CallStage.DONE)


def with_call(progress: Progress, call: CallState) -> Progress:
    """Put one call's new state in the place of its old one."""
    calls = tuple(call if old.action_id == call.action_id else old for old in progress.calls)
    return replace(progress, calls=calls)
