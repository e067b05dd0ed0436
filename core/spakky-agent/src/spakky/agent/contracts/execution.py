"""How a run is bounded, recovers, shows its stream and reacts to failures; and its neutral summary."""

from dataclasses import dataclass
from enum import StrEnum

from spakky.agent.checks import require_positive, require_text
from spakky.agent.contracts.construction import require_count, store_tuples
from spakky.agent.error import AgentDefinitionError


class RecoveryStrategy(StrEnum):
    """What is stored so that a run survives its process: nothing, or every boundary of an action."""

    NONE = "none"
    ACTION_BOUNDARY = "action_boundary"


class StreamingExposureMode(StrEnum):
    """How early guarded text leaves a run.

    LOW_LATENCY holds back only what may still become a sensitive match, BALANCED up to the redaction
    policy's buffer, STRICT a whole message until its audit passed, and
    NO_STREAM_UNTIL_FINAL_GUARDED everything until the run's final text passed.
    """

    LOW_LATENCY = "low_latency"
    BALANCED = "balanced"
    STRICT = "strict"
    NO_STREAM_UNTIL_FINAL_GUARDED = "no_stream_until_final_guarded"


class RejectionPolicy(StrEnum):
    """What a rejected approval does: end the run as failed, or tell the model that it was refused."""

    FAIL_RUN = "fail_run"
    INFORM_MODEL = "inform_model"


class ToolErrorPolicy(StrEnum):
    """What an exception of a tool does: end the run as failed, or go to the model as the result."""

    FAIL_RUN = "fail_run"
    INFORM_MODEL = "inform_model"


class ModelErrorPolicy(StrEnum):
    """What a fault of the model does: end the run as failed, or pause it so that it can be resumed."""

    FAIL_RUN = "fail_run"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class AgentExecutionLimits:
    """The bounds of one run; a run that reaches one fails with a code of its own.

    Attributes:
        timeout_seconds: The longest active stretch, above zero; waiting for a person does not count,
            and a resume starts the clock again. None: no limit.
        max_steps: The most model calls, at least one.
        max_tool_calls: The most tool calls, refused ones included, at least one. None: no limit.
        max_total_tokens: The most tokens of all model calls, at least one. None: no limit.
        max_parallel_tools: The most tool calls that run at the same time, at least one.
        max_output_repairs: How often the model may correct an answer that does not fit the declared
            output type; zero or more.
        max_cost: The most that all model calls may cost, above zero, in the unit in which the adapter reports
            ``ModelUsage.cost``. None: no limit. What delegates spend counts too, for every bound.

    Raises:
        AgentDefinitionError: A number outside its range.
    """

    timeout_seconds: float | None = None
    max_steps: int = 50
    max_tool_calls: int | None = None
    max_total_tokens: int | None = None
    max_parallel_tools: int = 8
    max_output_repairs: int = 2
    max_cost: float | None = None

    def __post_init__(self) -> None:
        where = "AgentExecutionLimits"
        require_positive(
            self.timeout_seconds, f"{where}.timeout_seconds", error=AgentDefinitionError
        )
        require_positive(self.max_cost, f"{where}.max_cost", error=AgentDefinitionError)
        counts = (
            ("max_steps", self.max_steps, 1, False),
            ("max_tool_calls", self.max_tool_calls, 1, True),
            ("max_total_tokens", self.max_total_tokens, 1, True),
            ("max_parallel_tools", self.max_parallel_tools, 1, False),
            ("max_output_repairs", self.max_output_repairs, 0, False),
        )
        for name, value, least, optional in counts:
            if value is None and not optional:
                message = f"{where}.{name} must be a whole number; leave it out for the default."
                raise AgentDefinitionError(message)
            require_count(value, f"{where}.{name}", least=least, error=AgentDefinitionError)


@dataclass(frozen=True, slots=True)
class AgentRunResult:
    """What a run gives when its spec declares no output type.

    Attributes:
        state_id: The run.
        status: The value of its final status.
        tool_calls: The schema names of the tools that were called, in order.
        evidence_count: How many pieces of evidence it stored.
        output_text: The text of the last answer.

    Raises:
        AgentValueError: A blank id, or a negative number.
    """

    state_id: str
    status: str
    tool_calls: tuple[str, ...]
    evidence_count: int
    output_text: str = ""

    def __post_init__(self) -> None:
        require_text(self.state_id, "AgentRunResult.state_id")
        require_count(self.evidence_count, "AgentRunResult.evidence_count")
        store_tuples(self, "tool_calls")
