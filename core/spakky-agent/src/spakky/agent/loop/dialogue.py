"""The dialogue that a run belongs to: where it comes from, and whether the run's turns are recorded in it."""

from abc import ABC, abstractmethod
from typing import override

from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.json_value import FrozenObject
from spakky.agent.ports.task_store import ConversationTurn, ITaskStore


class Dialogue(ABC):
    """Earlier turns of a conversation, and the place for new ones."""

    @property
    @abstractmethod
    def keeps_turns(self) -> bool:
        """Whether the run's turns are recorded."""

    @abstractmethod
    def continued(self, conversation_id: str, *, keeps_turns: bool) -> "Dialogue":
        """Give the dialogue of a run that is resumed, as it was when the run began.

        Args:
            conversation_id: The run's conversation; the resuming caller may have left it out.
            keeps_turns: What ``keeps_turns`` was.
        """

    @abstractmethod
    async def load(self) -> tuple[ModelMessage, ...]:
        """Give the earlier turns as messages, oldest first."""

    @abstractmethod
    async def record(self, instruction: str, answer: str, *, again: bool) -> None:
        """Record the run's two turns.

        Args:
            instruction: What the user said.
            answer: What the assistant said in the end.
            again: The run was resumed, so that its turns may be recorded already; they are never recorded twice.
        """


class NoDialogue(Dialogue):
    """There is no store, or the client brings the dialogue itself: nothing is loaded and nothing recorded."""

    @property
    @override
    def keeps_turns(self) -> bool:
        return False

    @override
    def continued(self, conversation_id: str, *, keeps_turns: bool) -> Dialogue:
        return self

    @override
    async def load(self) -> tuple[ModelMessage, ...]:
        return ()

    @override
    async def record(self, instruction: str, answer: str, *, again: bool) -> None:
        return


class StoredDialogue(Dialogue):
    """A conversation in a task store.

    Args:
        store: The store.
        conversation_id: The conversation.
        run_id: The run; marks the turns it records.
    """

    def __init__(self, store: ITaskStore, conversation_id: str, run_id: str) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._run_id = run_id

    @property
    @override
    def keeps_turns(self) -> bool:
        return True

    @override
    def continued(self, conversation_id: str, *, keeps_turns: bool) -> Dialogue:
        if not keeps_turns:
            return NoDialogue()
        return StoredDialogue(self._store, conversation_id, self._run_id)

    @override
    async def load(self) -> tuple[ModelMessage, ...]:
        turns = await self._store.load_history(self._conversation_id)
        return tuple(turn.as_model_message() for turn in turns)

    @override
    async def record(self, instruction: str, answer: str, *, again: bool) -> None:
        if again and await self._is_recorded():
            return
        mark = FrozenObject({"run_id": self._run_id})
        turns = (
            ConversationTurn(ModelMessageRole.USER, instruction, mark),
            ConversationTurn(ModelMessageRole.ASSISTANT, answer, mark),
        )
        await self._store.append_turns(self._conversation_id, turns)

    async def _is_recorded(self) -> bool:
        turns = await self._store.load_history(self._conversation_id)
        return any(turn.metadata.get("run_id") == self._run_id for turn in turns)
