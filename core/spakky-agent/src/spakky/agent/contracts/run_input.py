"""What a caller gives to start or resume one run."""

from dataclasses import dataclass

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.construction import store_objects, store_tuples
from spakky.agent.contracts.context import ContextPack
from spakky.agent.contracts.model_message import ModelMessage
from spakky.agent.contracts.model_request import ModelSelection
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


@dataclass(frozen=True, slots=True)
class RunAgentInput:
    """The input of one run. Decisions on approvals are not part of it; they come as signals.

    Attributes:
        state_id: The run's id, chosen by the caller; the same one resumes the run.
        instruction: What the agent is asked; it becomes the USER message. May be blank on a resume.
        conversation_id: The dialogue that the run belongs to; None stands for the run's own id.
        parent_run_id: The run that delegated this one, when there is one.
        resume: Go on with a paused or interrupted run instead of starting one.
        message_history: Earlier dialogue that the caller keeps, oldest first. With it the stored
            history of the conversation is neither read nor written.
        model_selection: Which model answers; None leaves it to the adapter.
        metadata: Merged into the metadata of each model request.
        context: Packs for the model's input, most important first.

    Raises:
        AgentValueError: A blank id, or a blank instruction for a new run.
    """

    state_id: str
    instruction: str
    conversation_id: str | None = None
    parent_run_id: str | None = None
    resume: bool = False
    message_history: tuple[ModelMessage, ...] = ()
    model_selection: ModelSelection | None = None
    metadata: JsonObject = EMPTY_OBJECT
    context: tuple[ContextPack, ...] = ()

    def __post_init__(self) -> None:
        require_text(self.state_id, "RunAgentInput.state_id")
        require_optional_text(self.conversation_id, "RunAgentInput.conversation_id")
        require_optional_text(self.parent_run_id, "RunAgentInput.parent_run_id")
        if not isinstance(self.instruction, str):
            kind = type(self.instruction).__name__
            message = f"RunAgentInput.instruction must be text, not {kind}."
            raise AgentValueError(message)
        if not self.resume and not self.instruction.strip():
            message = (
                f"RunAgentInput.instruction of run {self.state_id!r} is blank; say what the agent"
                " should do, or set resume=True to go on with a stored run."
            )
            raise AgentValueError(message)
        store_tuples(self, "message_history", "context")
        store_objects(self, "metadata")

    @property
    def effective_conversation_id(self) -> str:
        """The conversation's id, or the run's where none was given."""
        return self.conversation_id or self.state_id
