"""What a tool may ask about the call that it answers."""

from dataclasses import dataclass

from spakky.agent.checks import require_text


@dataclass(frozen=True, slots=True)
class AgentToolRuntimeContext:
    """The call in which a tool runs. A tool gets it by annotating a parameter with this class.

    Attributes:
        state_id: The run.
        conversation_id: The conversation that the run belongs to.
        call_id: The provider's id of the call; providers use an id again in later turns.
        tool_name: The schema name under which the tool was called.
        action_id: The framework's own id of the call, the same after every restart; empty outside
            the loop.

    Raises:
        AgentValueError: One of the first four is blank.
    """

    state_id: str
    conversation_id: str
    call_id: str
    tool_name: str
    action_id: str = ""

    def __post_init__(self) -> None:
        require_text(self.state_id, "AgentToolRuntimeContext.state_id")
        require_text(self.conversation_id, "AgentToolRuntimeContext.conversation_id")
        require_text(self.call_id, "AgentToolRuntimeContext.call_id")
        require_text(self.tool_name, "AgentToolRuntimeContext.tool_name")

    @property
    def idempotency_key(self) -> str:
        """The key to hand to a service that must see a repeated call as the same one."""
        return self.action_id
