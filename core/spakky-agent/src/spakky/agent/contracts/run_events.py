"""Events of the life of a run and of its steps."""

from dataclasses import dataclass
from typing import ClassVar

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.construction import require_member, store_objects, store_tuples
from spakky.agent.contracts.event_kinds import AgentEventAttribution, AgentEventKind
from spakky.agent.contracts.state import AgentStateReason, AgentStatus
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class RunStartedEvent:
    """That a run began or goes on; the first event of a stream.

    Attributes:
        attribution: The run.
        metadata: Extra data.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.RUN_STARTED

    attribution: AgentEventAttribution
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class RunPausedEvent:
    """That a run waits for a person; the last event of a stream, and no end of the run.

    Attributes:
        attribution: The run.
        reason: What it waits for.
        prompt: What the person is asked; without values of arguments.
        state_id: The id to resume with.
        approval_id: The request that a decision must name, when it waits for one.
        tool_call_id: The call that waits, when it is a call.
        allowed_decisions: The values of the decisions that may be given.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank id, or a reason that is no member.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.RUN_PAUSED

    attribution: AgentEventAttribution
    reason: AgentStateReason
    prompt: str
    state_id: str
    approval_id: str | None = None
    tool_call_id: str | None = None
    allowed_decisions: tuple[str, ...] = ()
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_member(self.reason, AgentStateReason, "RunPausedEvent.reason")
        require_text(self.state_id, "RunPausedEvent.state_id")
        require_optional_text(self.approval_id, "RunPausedEvent.approval_id")
        store_tuples(self, "allowed_decisions")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class RunFinishedEvent:
    """That a run ended, well or not; the last event of its stream.

    Attributes:
        attribution: The run.
        error: ``code``, ``message`` and more when it did not end well.
        metadata: Extra data.
        result: The final output as JSON, when it ended well.
        status: How it ended: COMPLETED, FAILED or CANCELLED. Beside an error COMPLETED becomes FAILED.

    Raises:
        AgentValueError: A status that is no end, or a result beside an error.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.RUN_FINISHED

    attribution: AgentEventAttribution
    error: JsonObject | None = None
    metadata: JsonObject = EMPTY_OBJECT
    result: JsonValue = None
    status: AgentStatus = AgentStatus.COMPLETED

    def __post_init__(self) -> None:
        store_objects(self, "metadata")
        run = self.attribution.run_id
        if self.status not in {AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.CANCELLED}:
            message = (
                f"RunFinishedEvent.status of run {run!r} must be COMPLETED, FAILED or CANCELLED,"
                f" not {self.status!r}; a run that waits is told by RunPausedEvent."
            )
            raise AgentValueError(message)
        if self.error is None:
            return
        if self.result is not None:
            message = f"RunFinishedEvent of run {run!r} has an error and a result; give only one."
            raise AgentValueError(message)
        store_objects(self, "error")
        if self.status is AgentStatus.COMPLETED:
            object.__setattr__(self, "status", AgentStatus.FAILED)


@dataclass(frozen=True, slots=True)
class StepStartedEvent:
    """That a step of a run began; one step for each model call.

    Attributes:
        attribution: The run.
        step_name: The step, the same in the event that ends it.
        metadata: Extra data.

    Raises:
        AgentValueError: The name is blank.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.STEP_STARTED

    attribution: AgentEventAttribution
    step_name: str
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.step_name, "StepStartedEvent.step_name")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class StepFinishedEvent:
    """That a step of a run ended.

    Attributes:
        attribution: The run.
        step_name: The step.
        metadata: Extra data.

    Raises:
        AgentValueError: The name is blank.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.STEP_FINISHED

    attribution: AgentEventAttribution
    step_name: str
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.step_name, "StepFinishedEvent.step_name")
        store_objects(self, "metadata")
