"""The items that a run streams to its caller, one payload class for each kind.

``AgentYield`` is covariant in its payload: an ``AgentYield[Token]`` is an ``AgentYield[object]``. Beyond that a
generator annotated ``AsyncGenerator[AgentYield[Final[str]], None]`` may yield the items that come before its final one,
a token for example: constructing an item with one of the other payloads of this module fits every parameter that
the context asks for. The parameter then says what the *final* item holds; an item's ``kind`` says which payload is
there. ``AgentYield[object]`` is the annotation that claims nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar, overload

from spakky.agent.checks import require_text
from spakky.agent.contracts.approval_decision import ApprovalDecision
from spakky.agent.contracts.construction import store_objects, store_tuples
from spakky.agent.contracts.evidence import AgentEvidence
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue

OutputT_co = TypeVar("OutputT_co", covariant=True)


class AgentYieldKind(StrEnum):
    """What an item tells; FINAL, ERROR, CANCEL, and APPROVAL as the last item, end a stream."""

    TOKEN = "token"  # noqa: S105  # a piece of text, not a password
    PROGRESS = "progress"
    TOOL = "tool"
    EVIDENCE = "evidence"
    APPROVAL = "approval"
    FINAL = "final"
    ERROR = "error"
    CANCEL = "cancel"


# One is made for every delta, so the fields are neither checked nor frozen.
@dataclass(slots=True)
class Token:
    """A piece of the answer's text; treat it as read-only.

    Attributes:
        text: The piece.
        metadata: Extra data.
    """

    text: str
    metadata: JsonObject = EMPTY_OBJECT


# As Token.
@dataclass(slots=True)
class TextDelta:
    """A piece of some text that is no part of the answer; treat it as read-only.

    Attributes:
        text: The piece.
        metadata: Extra data.
    """

    text: str
    metadata: JsonObject = EMPTY_OBJECT


@dataclass(frozen=True, slots=True)
class Message:
    """A whole text for the caller.

    Attributes:
        message: The text.
        current_step: The step that it belongs to.
        metadata: Extra data.
    """

    message: str
    current_step: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        message: What happens, in words.
        current_step: The step that it belongs to.
        metadata: Extra data.
    """

    message: str
    current_step: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call of a run, with its result once there is one; both guarded.

    Attributes:
        name: The tool's schema name, as the model wrote it.
        call_id: The provider's id of the call.
        arguments: The decoded arguments.
        result: What the tool gave.
        metadata: Extra data.
    """

    name: str
    call_id: str | None = None
    arguments: JsonObject = EMPTY_OBJECT
    result: JsonValue = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "arguments", "metadata")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence that the run stored.

    Attributes:
        evidence: The evidence.
        metadata: Extra data.
    """

    evidence: AgentEvidence
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class Approval:
    """A question to a person.

    Attributes:
        id: The approval request's id, which a decision must name.
        prompt: What is asked; without values of arguments.
        allowed_decisions: The decisions that may be given.
        metadata: The request as ``AgentApprovalRequest.to_metadata`` gives it.

    Raises:
        AgentValueError: The id is blank.
    """

    id: str
    prompt: str
    allowed_decisions: tuple[ApprovalDecision, ...]
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.id, "Approval.id")
        store_tuples(self, "allowed_decisions")
        store_objects(self, "metadata")


# Without slots: a frozen generic class with slots cannot be called as Final[str](...) on Python 3.12.
@dataclass(frozen=True)
class Final(Generic[OutputT_co]):
    """The result of a run that ended well.

    Attributes:
        output: The result.
        metadata: Extra data, among it the id of the message that holds the answer.
    """

    output: OutputT_co
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class Error:
    """Why a run failed.

    Attributes:
        code: A stable code, not blank.
        message: What happened, without secrets.
        retryable: Whether the same run may succeed later.
        metadata: Extra data.

    Raises:
        AgentValueError: The code is blank.
    """

    code: str
    message: str
    retryable: bool = False
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.code, "Error.code")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class Cancel:
    """That a run was cancelled.

    Attributes:
        reason: Why, in the words of who asked for it.
        requested_by: Who asked for it.
        metadata: Extra data.
    """

    reason: str | None = None
    requested_by: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


type _InterimPayload = (
    Token | TextDelta | Message | Progress | Tool | Evidence | Approval | Error | Cancel
)

type AgentYieldPayload = _InterimPayload | Final[object]
"""Every payload of this module."""


# One is made for every delta, so the fields are neither checked nor frozen.
@dataclass(slots=True, init=False)
class AgentYield(Generic[OutputT_co]):
    """One item of a run's stream; treat it as read-only.

    Attributes:
        kind: What the item tells.
        payload: The value object of that kind.
    """

    kind: AgentYieldKind
    payload: OutputT_co

    # Any: an item before the final one fits each generator's annotation, see the module's docstring.
    # This overload is the first one because not every checker tries another one for its context.
    @overload
    def __init__(
        self: "AgentYield[Any]", kind: AgentYieldKind, payload: _InterimPayload
    ) -> None: ...

    @overload
    def __init__(self, kind: AgentYieldKind, payload: OutputT_co) -> None: ...

    # Any: the two overloads above say what is accepted.
    def __init__(self, kind: AgentYieldKind, payload: Any) -> None:
        self.kind = kind
        self.payload = payload
