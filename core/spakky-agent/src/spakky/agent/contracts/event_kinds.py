"""What an event of a run tells, and which run it belongs to."""

from dataclasses import dataclass
from enum import StrEnum

from spakky.agent.checks import require_optional_text, require_text


class AgentEventKind(StrEnum):
    """What an event tells."""

    MESSAGE_DELTA = "message_delta"
    REASONING_DELTA = "reasoning_delta"
    TOOL_CALL_START = "tool_call_start"
    TOOL_CALL_ARGS_DELTA = "tool_call_args_delta"
    TOOL_CALL_END = "tool_call_end"
    TOOL_CALL_RESULT = "tool_call_result"
    RUN_STARTED = "run_started"
    RUN_PAUSED = "run_paused"
    RUN_FINISHED = "run_finished"
    STEP_STARTED = "step_started"
    STEP_FINISHED = "step_finished"
    STATE_SNAPSHOT = "state_snapshot"
    STATE_DELTA = "state_delta"
    ARTIFACT = "artifact"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class AgentEventAttribution:
    """Which run an event belongs to.

    Attributes:
        agent_id: The agent's name.
        run_id: The run, ``RunAgentInput.state_id``.
        conversation_id: The dialogue.
        parent_run_id: The run that delegated this one; None at the root.

    Raises:
        AgentValueError: A blank id.
    """

    agent_id: str
    run_id: str
    conversation_id: str
    parent_run_id: str | None = None

    def __post_init__(self) -> None:
        require_text(self.agent_id, "AgentEventAttribution.agent_id")
        require_text(self.run_id, "AgentEventAttribution.run_id")
        require_text(self.conversation_id, "AgentEventAttribution.conversation_id")
        require_optional_text(self.parent_run_id, "AgentEventAttribution.parent_run_id")
