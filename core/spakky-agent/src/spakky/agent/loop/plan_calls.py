"""Plans the tool calls of one answer: names and binds each, replaces secrets, and finds those that need consent. Pure."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from spakky.agent.contracts.model_message import ModelMessage, ModelToolCall
from spakky.agent.contracts.tool_metadata import Idempotency
from spakky.agent.declare.catalog import AgentToolCatalog, AgentToolDescriptor
from spakky.agent.error import AgentToolBindingError, AgentToolDispatchError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.redact import redact_fields, sensitive_values
from spakky.agent.guards.sensitive import (
    REDACTED_TEXT,
    SECRET_SCHEME,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import (
    EMPTY_OBJECT,
    FrozenObject,
    JsonObject,
    JsonValue,
    clean_text,
    clean_value,
    digest_value,
)
from spakky.agent.loop.frames import CallFinished
from spakky.agent.loop.outcomes import CallReturned
from spakky.agent.loop.progress import CallStage, CallState
from spakky.agent.rules.approval import needs_approval
from spakky.agent.rules.history import answer_call

_SHOWN = EvidenceExposurePolicy()


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """The calls of one answer.

    Attributes:
        stored: The calls as they join the transcript; raw secrets are replaced.
        calls: Their states, in the model's order; those that the model got wrong are DONE.
        mistakes: The results of those.
    """

    stored: tuple[ModelToolCall, ...]
    calls: tuple[CallState, ...]
    mistakes: tuple[CallReturned, ...]


class CallNamer:
    """Gives each call of a run an id of its own: the provider's where it is new, else one made of step and position."""

    def __init__(self, used: AbstractSet[str], step: int) -> None:
        self._used = set(used)
        self._step = step
        self._position = 0

    def next_id(self, provider_id: str | None) -> str:
        """Give the id of the next call."""
        self._position += 1
        call_id = provider_id
        if not call_id or call_id in self._used:
            call_id = f"call_{self._step}_{self._position}"
        self._used.add(call_id)
        return call_id


@dataclass(frozen=True, slots=True)
class CallPlanner:
    """Plans calls against what one run may call.

    Attributes:
        catalog: Every tool of the run.
        teammates: The teammate behind each delegate tool, by the tool's name.
        run_id: The run.
        durable: Whether the run can wait for a person.
        resolves_secrets: Whether references to secrets are resolved when a tool is called.
    """

    catalog: AgentToolCatalog
    teammates: Mapping[str, str]
    run_id: str
    durable: bool
    resolves_secrets: bool = False

    def plan(self, calls: Sequence[ModelToolCall], step: int) -> PlannedCalls:
        """Plan every call of an answer before any of them runs; each already has its final id."""
        planned = [
            self._plan(_cleaned(call), f"{self.run_id}/call/{step}.{position}")
            for position, call in enumerate(calls, 1)
        ]
        return PlannedCalls(
            stored=tuple(stored for stored, _, _ in planned),
            calls=tuple(state for _, state, _ in planned),
            mistakes=tuple(mistake for _, _, mistake in planned if mistake is not None),
        )

    def is_storable(self, tool: AgentToolDescriptor, arguments: JsonObject) -> bool:
        """Say whether arguments hold no raw secret."""
        return self._stored(tool, arguments) == arguments

    def _stored(self, tool: AgentToolDescriptor, arguments: JsonObject) -> JsonObject:
        if self.resolves_secrets and holds_only_references(tool, arguments):
            return arguments
        return without_secrets(tool, arguments)

    def _plan(
        self, call: ModelToolCall, action_id: str
    ) -> tuple[ModelToolCall, CallState, CallReturned | None]:
        try:
            tool = self.catalog.by_schema_name(call.name)
        except AgentToolDispatchError as error:
            unknown = _unknown_state(call, action_id)
            return call, unknown, mistake_of(unknown, str(error))
        stored = replace(call, arguments=self._stored(tool, call.arguments))
        storable = stored.arguments == call.arguments
        problem = _problem_of(call, tool, storable=storable, durable=self.durable)
        gated = needs_approval(tool.metadata)
        state = CallState(
            action_id,
            call if problem is None else stored,
            digest_value(stored.arguments),
            CallStage.GATED if gated else CallStage.READY,
            tool.metadata.idempotency,
            concurrent=tool.metadata.may_run_concurrently,
            storable=storable,
            delegate=self.teammates.get(call.name),
        )
        if problem is None:
            return stored, state, None
        mistake = mistake_of(state, problem, tool)
        return stored, mistake.call, mistake


def _cleaned(call: ModelToolCall) -> ModelToolCall:
    """Take out what no store keeps, such as NaN: a mistake of the model, and no fault of the run."""
    name, arguments = clean_text(call.name), clean_value(call.arguments)
    if (name, arguments) == (call.name, call.arguments) or not isinstance(arguments, dict):
        return call
    return replace(call, name=name, arguments=arguments)


def _unknown_state(call: ModelToolCall, action_id: str) -> CallState:
    digest = digest_value(call.arguments)
    return CallState(action_id, call, digest, CallStage.DONE, Idempotency.UNKNOWN)


def _problem_of(
    call: ModelToolCall, tool: AgentToolDescriptor, *, storable: bool, durable: bool
) -> str | None:
    if call.arguments_error is not None:
        return f"The arguments of {call.name} cannot be read: {call.arguments_error}"
    try:
        tool.bind_invocation(call.arguments)
    except AgentToolBindingError as error:
        return str(error)
    if not needs_approval(tool.metadata):
        return None
    if not durable:
        return f"{call.name} needs a person's approval, which this agent has no way to ask for; do without it."
    if not storable:
        return f"{call.name} needs a person's approval, and a call with a raw secret cannot wait for one; use a reference to the secret."
    return None


def mistake_of(
    state: CallState, content: str, tool: AgentToolDescriptor | None = None
) -> CallReturned:
    """Answer a call that is not run, with the reason for the model to read."""
    done = replace(state, stage=CallStage.DONE)
    message = answer_call(done.call, content, message_id=done.action_id, is_error=True, ran=False)
    return CallReturned(done, message, shown_result(done, message, content, tool))


def shown_result(
    state: CallState, message: ModelMessage, result: JsonValue, tool: AgentToolDescriptor | None
) -> CallFinished:
    """Give what both streams show of a finished call; sensitive arguments are replaced."""
    return CallFinished(
        state.call_id,
        state.call.name,
        message.message_id or state.action_id,
        EMPTY_OBJECT if tool is None else shown_arguments(tool, state.call.arguments),
        result,
        is_error=bool(message.metadata.get("is_error")),
    )


def shown_arguments(tool: AgentToolDescriptor, arguments: JsonObject) -> JsonObject:
    """Replace every sensitive argument."""
    fields = tool.schema.input_sensitive_fields
    if not fields:
        return arguments
    return _guarded(named_arguments(tool, arguments), fields, _SHOWN.can_expose_value)


def without_secrets(tool: AgentToolDescriptor, arguments: JsonObject) -> JsonObject:
    """Replace every raw secret; personal data stay, since the run needs them to go on."""
    fields = secret_fields(tool)
    if not fields:
        return arguments
    named = named_arguments(tool, arguments)
    guarded = _guarded(named, fields, may_be_stored)
    return arguments if guarded == named and _is_known(tool, arguments) else guarded


def named_arguments(tool: AgentToolDescriptor, arguments: JsonObject) -> JsonObject:
    """Give the arguments by name, as the descriptors of the sensitive ones know them.

    Of arguments that do not fit, nobody knows which hold what, so that every value is hidden.
    """
    if _is_known(tool, arguments):
        return tool.name_arguments(arguments)
    return FrozenObject(dict.fromkeys(arguments, REDACTED_TEXT))


def _is_known(tool: AgentToolDescriptor, arguments: JsonObject) -> bool:
    try:
        tool.name_arguments(arguments)
    except AgentToolBindingError:
        return False
    return True


def _guarded(
    arguments: JsonObject,
    fields: Sequence[SensitiveFieldDescriptor],
    can_expose: Callable[[SensitiveField | SecretField], bool],
) -> JsonObject:
    guarded = redact_fields(arguments, fields, can_expose)
    return guarded if isinstance(guarded, dict) else EMPTY_OBJECT


def secret_fields(tool: AgentToolDescriptor) -> tuple[SensitiveFieldDescriptor, ...]:
    """Give the descriptors of the arguments that hold secrets."""
    known = tool.schema.input_sensitive_fields
    return tuple(field for field in known if isinstance(field.field, SecretField))


def holds_only_references(tool: AgentToolDescriptor, arguments: JsonObject) -> bool:
    """Say whether every secret among the arguments is named and not given."""
    values = sensitive_values(named_arguments(tool, arguments), secret_fields(tool))
    return all(value.startswith(SECRET_SCHEME) for value in values)


def may_be_stored(field: SensitiveField | SecretField) -> bool:
    """Say whether a value may be kept in the transcript: personal data may, secrets may not."""
    return isinstance(field, SensitiveField)
