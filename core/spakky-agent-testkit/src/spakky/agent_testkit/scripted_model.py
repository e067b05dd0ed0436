"""A model that answers from a script and remembers what it was asked."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import override

from spakky.agent.contracts.model_message import ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_request import ModelCapability, ModelRequest, ModelSelection
from spakky.agent.contracts.model_stream import (
    ModelError,
    ModelResponse,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.error import AgentModelError
from spakky.agent.json_value import EMPTY_OBJECT, JsonValue
from spakky.agent.ports.model import IAgentModel
from spakky.agent_testkit.script import (
    EndWithoutDone,
    Turn,
    TurnAction,
    TurnItem,
    TurnSource,
    call,
    cut_text,
    fail,
    gate,
    hang,
    raises,
    returns,
    say,
    structured,
    think,
    usage,
)

__all__ = [
    "ScriptExhaustedError",
    "ScriptedModel",
    "Turn",
    "TurnAction",
    "TurnItem",
    "TurnSource",
    "call",
    "cut_text",
    "fail",
    "gate",
    "hang",
    "raises",
    "returns",
    "say",
    "structured",
    "think",
    "usage",
]

_LAST_KINDS = frozenset({ModelStreamEventKind.DONE, ModelStreamEventKind.ERROR})
_DONE = ModelStreamEvent(ModelStreamEventKind.DONE)


class ScriptExhaustedError(AssertionError):
    """The model was asked more often than its script has turns, or less often."""


class ScriptedModel(IAgentModel):
    """Answers each request with the next turn of a script.

    A turn that does not end with DONE or ERROR gets a DONE at its end; events after one of the two are not sent.

    Attributes:
        requests: Every request, in order; those that found no turn are among them.
        opened: How many streams were started; ``complete()`` counts as one.
        closed: How many of them have ended, for whatever reason.

    Args:
        turns: The turns, or functions from a request to its turn.
        capability: What the default backend can do.
        capabilities: What backends can do by the name under which a selection chooses them; a selection's profile,
            model and provider are looked up in this order.
        by_progress: Choose the turn by how many assistant messages the request holds instead of one after another, so
            that a process that was killed and asks again gets the answer that it missed.
    """

    def __init__(
        self,
        turns: Iterable[TurnSource] = (),
        *,
        capability: ModelCapability | None = None,
        capabilities: Mapping[str, ModelCapability] = MappingProxyType({}),
        by_progress: bool = False,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.opened = 0
        self.closed = 0
        self._turns = list(turns)
        self._taken = 0
        self._capability = ModelCapability() if capability is None else capability
        self._capabilities = capabilities
        self._by_progress = by_progress

    @property
    @override
    def capability(self) -> ModelCapability:
        return self._capability

    @override
    def capability_for(self, selection: ModelSelection | None = None) -> ModelCapability:
        if selection is None:
            return self._capability
        for name in (selection.profile, selection.model, selection.provider):
            if name is not None and name in self._capabilities:
                return self._capabilities[name]
        return self._capability

    @property
    def remaining(self) -> int:
        """How many turns were not asked for."""
        return len(self._turns) - self._taken

    def extend(self, *turns: TurnSource) -> None:
        """Add turns at the end of the script."""
        self._turns.extend(turns)

    def require_played(self) -> None:
        """Check that the script was played to its end, no turn too few or too many.

        Raises:
            ScriptExhaustedError: It was not.
        """
        if len(self.requests) != len(self._turns):
            message = f"The script has {len(self._turns)} turns, but the model was asked {len(self.requests)} times."
            raise ScriptExhaustedError(message)

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        answer = _Answer()
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                answer.add(event)
        return answer.to_response()

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent]:
        turn = self._take_turn(request)
        self.opened += 1
        try:
            for item in flatten(turn):
                if isinstance(item, ModelStreamEvent):
                    yield item
                    if item.kind in _LAST_KINDS:
                        return
                else:
                    await item()
            yield _DONE
        except EndWithoutDone:
            return
        finally:
            self.closed += 1

    def _take_turn(self, request: ModelRequest) -> Turn:
        self.requests.append(request)
        index = _progress(request) if self._by_progress else self._taken
        if index >= len(self._turns):
            raise ScriptExhaustedError(self._describe_excess(request))
        self._taken = index + 1
        source = self._turns[index]
        return source(request) if callable(source) else source

    def _describe_excess(self, request: ModelRequest) -> str:
        last = request.messages[-1] if request.messages else None
        about = "no message" if last is None else f"{last.role.value}: {last.content[:80]!r}"
        return (
            f"The script has {len(self._turns)} turns, but the model was asked {len(self.requests)} times; "
            f"the last message of this request is {about}. Add a turn, or find out why it was asked again."
        )


def _progress(request: ModelRequest) -> int:
    return sum(message.role is ModelMessageRole.ASSISTANT for message in request.messages)


def flatten(turn: Turn) -> Iterator[TurnItem]:
    """Give the items of a turn one by one."""
    for item in turn:
        if isinstance(item, ModelStreamEvent) or callable(item):
            yield item
        else:
            yield from item


class _Answer:
    """Gathers the events of a stream into one response."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[ModelToolCall] = []
        self._structured: JsonValue = None
        self._usage = ModelUsage()
        self._metadata = EMPTY_OBJECT

    def add(self, event: ModelStreamEvent) -> None:
        """Take one event.

        Raises:
            AgentModelError: It is an error.
        """
        if event.error is not None:
            raise _to_error(event.error)
        self._texts.append(event.token_delta or event.message_delta or "")
        if event.kind is ModelStreamEventKind.TOOL_CALL_CANDIDATE and event.tool_call is not None:
            self._calls.append(event.tool_call)
        elif event.kind is ModelStreamEventKind.STRUCTURED_OUTPUT:
            self._structured = event.structured_output
        elif event.kind is ModelStreamEventKind.DONE:
            self._usage = event.usage or self._usage
            self._metadata = event.metadata

    def to_response(self) -> ModelResponse:
        """Give what was gathered."""
        return ModelResponse(
            "".join(self._texts),
            structured_output=self._structured,
            tool_calls=tuple(self._calls),
            usage=self._usage,
            metadata=self._metadata,
        )


def _to_error(error: ModelError) -> AgentModelError:
    return AgentModelError(error.message, code=error.code, retryable=error.retryable)
