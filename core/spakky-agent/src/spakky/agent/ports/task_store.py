"""Where the dialogue of a conversation is kept between runs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from spakky.agent.checks import require_text
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, freeze_object


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """What one side said in a conversation.

    Attributes:
        role: USER or ASSISTANT.
        content: The text; may be empty.
        metadata: Extra data of the application.

    Raises:
        AgentValueError: Another role.
    """

    role: ModelMessageRole
    content: str
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        if self.role not in {ModelMessageRole.USER, ModelMessageRole.ASSISTANT}:
            message = f"ConversationTurn.role must be USER or ASSISTANT, not {self.role!r}; other messages belong to a run's transcript."
            raise AgentValueError(message)
        object.__setattr__(self, "metadata", freeze_object(self.metadata))

    def as_model_message(self) -> ModelMessage:
        """Give the turn as a message of a model request."""
        return ModelMessage(self.role, self.content, self.metadata)


class ITaskStore(ABC):
    """Keeps multi-turn dialogue under a conversation id. Both calls commit by themselves."""

    @abstractmethod
    async def load_history(self, conversation_id: str) -> Sequence[ConversationTurn]:
        """Give the turns of a conversation in append order; empty for an unknown id."""

    @abstractmethod
    async def append_turns(self, conversation_id: str, turns: Sequence[ConversationTurn]) -> None:
        """Add turns at the end of a conversation, all or none."""


def require_conversation_id(conversation_id: str) -> None:
    """Refuse a blank conversation id.

    Raises:
        AgentValueError: It is blank.
    """
    require_text(conversation_id, "conversation_id")
