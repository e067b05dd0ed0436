"""Every error that spakky-agent raises.

    AbstractSpakkyAgentError                 code
    ├── AgentDefinitionError                 agent.definition           a declaration is wrong; the author changes it
    ├── AgentBootstrapError                  agent.bootstrap            the application cannot start
    │   ├── AgentPersistenceConfigurationError   agent.bootstrap.persistence
    │   └── AgentModelConfigurationError         agent.bootstrap.model
    ├── AgentValueError                      agent.value                a value was built from bad input
    ├── AgentToolBindingError                agent.tool.binding         arguments do not fit a tool's signature
    ├── AgentToolDispatchError               agent.tool.unknown         no tool has that name
    ├── AgentToolError                       agent.tool.failed          a tool tells the model that it failed
    ├── AgentOutputGuardError                agent.output.guard         a sensitive pattern got past the redaction
    ├── AgentModelError                      agent.model.*              a model backend failed
    ├── AgentAuthRequiredError               agent.auth.required        a person must sign in somewhere first
    ├── AgentApprovalDecisionError           agent.approval.decision    a decision signal cannot be read or does not fit
    ├── AgentLifecycleError                  agent.lifecycle            a status move that the table does not have
    ├── AgentRunRefusedError                 agent.run.refused          a run was not opened; nothing has changed
    │   ├── AgentRunInProgressError          agent.run.in_progress      another runner holds it
    │   ├── AgentRunUnfinishedError          agent.run.unfinished       the id belongs to a run that can be resumed
    │   └── AgentRunEndedError               agent.run.ended            the id belongs to a run that has ended
    └── AgentPersistenceError                agent.persistence          a repository could not do its work
        ├── AgentRecordNotFoundError         agent.persistence.not_found
        ├── AgentStateConflictError          agent.persistence.conflict     somebody else saved first
        ├── AgentSignalConsumedError         agent.persistence.consumed     a signal is consumed only once
        ├── AgentLeaseLostError              agent.persistence.lease_lost   the run belongs to another runner now
        └── AgentCheckpointError             agent.persistence.checkpoint   a stored checkpoint cannot be read

Each message says what was wrong, where, and what to do next. ``code`` is stable and is what crosses a protocol.
"""

from abc import ABC
from typing import ClassVar

from spakky.core.common.error import AbstractSpakkyFrameworkError


class AbstractSpakkyAgentError(AbstractSpakkyFrameworkError, ABC):
    """Base of every error of spakky-agent and its plugins.

    Args:
        message: What was wrong, where, and what to do next. Without one the class's own sentence is used.
    """

    message: ClassVar[str] = "The agent framework failed."
    code: ClassVar[str] = "agent.error"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.message if message is None else message)


class AgentDefinitionError(AbstractSpakkyAgentError):
    """A spec, tool, hook or teammate is declared wrongly. Raised when the class is defined."""

    message = "An agent is declared wrongly."
    code = "agent.definition"


class AgentBootstrapError(AbstractSpakkyAgentError):
    """The application lacks something that a declared agent needs. Raised while it starts."""

    message = "An agent cannot be started."
    code = "agent.bootstrap"


class AgentPersistenceConfigurationError(AgentBootstrapError):
    """A durable agent has no repository provider."""

    message = "A durable agent has no repositories."
    code = "agent.bootstrap.persistence"


class AgentModelConfigurationError(AgentBootstrapError):
    """An agent with the provided loop has no model, or more than one and no way to choose."""

    message = "An agent has no usable model."
    code = "agent.bootstrap.model"


class AgentValueError(AbstractSpakkyAgentError, ValueError):
    """A contract value was built from input outside its allowed range."""

    message = "A value is outside its allowed range."
    code = "agent.value"


class AgentToolBindingError(AbstractSpakkyAgentError):
    """Arguments do not fit a tool's signature or types; the tool did not run."""

    message = "The arguments do not fit the tool."
    code = "agent.tool.binding"


class AgentToolDispatchError(AbstractSpakkyAgentError):
    """A call names a tool that the catalog does not have."""

    message = "No tool has that name."
    code = "agent.tool.unknown"


class AgentToolError(AbstractSpakkyAgentError):
    """Raised by a tool's author: an expected failure that the model should read and react to.

    The message goes to the model as the call's result. Any other exception of a tool is a fault and ends the run.
    """

    message = "The tool failed."
    code = "agent.tool.failed"


class AgentOutputGuardError(AbstractSpakkyAgentError):
    """The audit of a guarded output found a raw sensitive match."""

    message = "A sensitive value was found in a guarded output."
    code = "agent.output.guard"


class AgentModelError(AbstractSpakkyAgentError):
    """A model backend failed.

    Args:
        message: What happened, without credentials.
        code: A stable code below ``agent.model.``, for example ``agent.model.rate_limit``.
        retryable: Whether the same request may succeed later.
    """

    message = "The model failed."
    code = "agent.model.failed"

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str = "agent.model.failed",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.error_code = code
        self.retryable = retryable


class AgentAuthRequiredError(AbstractSpakkyAgentError):
    """Raised by a tool, a model adapter or a connection that needs a person to sign in first.

    The run pauses with reason ``AUTH_REQUIRED`` and goes on when it is resumed.

    Args:
        provider: Who asks for the sign-in, for example ``github``.
        prompt: What the person is asked to do.
    """

    message = "A person must sign in first."
    code = "agent.auth.required"

    def __init__(self, provider: str, prompt: str) -> None:
        super().__init__(prompt)
        self.provider = provider
        self.prompt = prompt


class AgentApprovalDecisionError(AbstractSpakkyAgentError):
    """An approval decision signal cannot be read, or answers another request."""

    message = "An approval decision cannot be read."
    code = "agent.approval.decision"


class AgentLifecycleError(AbstractSpakkyAgentError):
    """A run's status was asked to move in a way that the lifecycle table does not have."""

    message = "The run cannot move that way."
    code = "agent.lifecycle"


class AgentRunRefusedError(AbstractSpakkyAgentError):
    """A run was not opened. Nothing was started and nothing was stored."""

    message = "The run was refused."
    code = "agent.run.refused"


class AgentRunInProgressError(AgentRunRefusedError):
    """Another runner holds the run's lease."""

    message = "The run is in progress elsewhere."
    code = "agent.run.in_progress"


class AgentRunUnfinishedError(AgentRunRefusedError):
    """The state id belongs to an unfinished run, and the input did not ask to resume it."""

    message = "The run has not finished."
    code = "agent.run.unfinished"


class AgentRunEndedError(AgentRunRefusedError):
    """The state id belongs to a run that has ended; an ended run is never opened again."""

    message = "The run has ended."
    code = "agent.run.ended"


class AgentPersistenceError(AbstractSpakkyAgentError):
    """A repository could not do its work: the store is unreachable, read-only or refused the write."""

    message = "The store failed."
    code = "agent.persistence"


class AgentRecordNotFoundError(AgentPersistenceError):
    """No record has that id."""

    message = "No such record."
    code = "agent.persistence.not_found"


class AgentStateConflictError(AgentPersistenceError):
    """The state was saved by somebody else since it was read; nothing was written."""

    message = "The state was changed by another writer."
    code = "agent.persistence.conflict"


class AgentSignalConsumedError(AgentPersistenceError):
    """The signal was consumed before; a signal has one consumer."""

    message = "The signal was already consumed."
    code = "agent.persistence.consumed"


class AgentLeaseLostError(AgentPersistenceError):
    """The run's lease ran out or went to another runner; this runner may not act on the run any more."""

    message = "The lease of the run was lost."
    code = "agent.persistence.lease_lost"


class AgentCheckpointError(AgentPersistenceError):
    """A stored checkpoint is damaged, or was written by a newer version."""

    message = "The stored checkpoint cannot be read."
    code = "agent.persistence.checkpoint"
