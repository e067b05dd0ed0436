"""``@on_signal``: declares that a method reacts to signals of one kind."""

import inspect
import types
import typing
from collections import abc
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from spakky.agent.checks import require_text
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.yields import AgentYield
from spakky.agent.declare.hints import (
    UnresolvedHintError,
    own_annotations,
    read_parameters,
    resolve_hint,
    scope_of_function,
)
from spakky.agent.declare.signature import name_function
from spakky.agent.error import AgentDefinitionError

type SignalHook = Callable[..., AsyncGenerator[AgentYield[object], None]]

_KINDS_ATTRIBUTE = "__spakky_agent_signal_kinds__"
_RUNNER_KINDS = frozenset({AgentSignalKind.CANCEL, AgentSignalKind.APPROVAL_DECISION})
_STREAM_ORIGINS = frozenset({abc.AsyncGenerator, abc.AsyncIterator, abc.AsyncIterable})
_FORM = "async def hook(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]"


@dataclass(frozen=True, slots=True)
class AgentSignalHookIdentity:
    """Tells one hook from all others of an application.

    Attributes:
        owner_module: The module of the class that offers it.
        owner_qualname: The qualified name of that class.
        member_name: The method's name.

    Raises:
        AgentDefinitionError: The member's name is blank.
    """

    owner_module: str
    owner_qualname: str
    member_name: str

    def __post_init__(self) -> None:
        where = "AgentSignalHookIdentity.member_name"
        require_text(self.member_name, where, error=AgentDefinitionError)

    @property
    def key(self) -> str:
        """The identity as one text, the parts joined by dots."""
        return f"{self.owner_module}.{self.owner_qualname}.{self.member_name}"


@dataclass(frozen=True, slots=True)
class AgentSignalHookDescriptor:
    """One hook of an agent.

    Attributes:
        identity: Tells it from all others.
        owner: The class whose instance it is called on.
        callable: The method as written; takes the instance and the signal.
        kind: The signals that it reacts to.
    """

    identity: AgentSignalHookIdentity
    owner: type[object]
    callable: SignalHook
    kind: AgentSignalKind


@dataclass(frozen=True, slots=True)
class AgentSignalHookCatalog:
    """The hooks of an agent.

    Attributes:
        descriptors: In the order in which they are called.
    """

    descriptors: tuple[AgentSignalHookDescriptor, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "descriptors", tuple(self.descriptors))

    def hooks_for(self, kind: AgentSignalKind) -> tuple[AgentSignalHookDescriptor, ...]:
        """Give the hooks for signals of one kind, in the order in which they are called.

        Args:
            kind: The kind.
        """
        return tuple(descriptor for descriptor in self.descriptors if descriptor.kind is kind)


def on_signal[HookT: Callable[..., object]](kind: AgentSignalKind) -> Callable[[HookT], HookT]:
    """Declare that a method reacts to signals of one kind; it stays as it is.

    The method has the form ``async def hook(self, signal: AgentSignal) ->
    AsyncGenerator[AgentYield[object], None]``; what it yields joins the run's stream. It may be
    decorated once for each of several kinds.

    Args:
        kind: Any but CANCEL and APPROVAL_DECISION, which the runner handles itself.

    Returns:
        A decorator for methods.

    Raises:
        AgentDefinitionError: Another kind, or a method of another form. A hint that cannot be
            resolved yet is checked when the class's hooks are collected.
    """
    if not isinstance(kind, AgentSignalKind):
        message = f"@on_signal takes an AgentSignalKind, not {type(kind).__name__}."
        raise AgentDefinitionError(message)
    if kind in _RUNNER_KINDS:
        message = f"@on_signal({kind.name}): the runner handles such signals itself; no hook may."
        raise AgentDefinitionError(message)

    def declare(function: HookT) -> HookT:
        _require_form(function)
        # A hint may name a class of this module that is defined further down.
        with suppress(UnresolvedHintError):
            _require_hints(function, None)
        kinds = _kinds_of(function)
        if kind in kinds:
            message = f"{name_function(function)} has @on_signal({kind.name}) twice; keep one."
            raise AgentDefinitionError(message)
        # Decorators run from the bottom up; the order of the source is kept.
        setattr(function, _KINDS_ATTRIBUTE, (kind, *kinds))
        return function

    return declare


def discover_agent_signal_hooks(owner: type[object]) -> AgentSignalHookCatalog:
    """Find the signal hooks of a class and its bases.

    Hooks of the most basic class come first, each class's in the order of its body. An override
    takes the place of what it overrides; an override without ``@on_signal`` takes the hook away.

    Args:
        owner: The class.

    Raises:
        AgentDefinitionError: A hook's hints cannot be resolved or have another form.
    """
    return AgentSignalHookCatalog(tuple(_find_hooks(owner)))


def require_accepted_hooks(
    hooks: AgentSignalHookCatalog, accepted: Iterable[AgentSignalKind]
) -> None:
    """Refuse hooks for signals that their agent never consumes.

    Args:
        hooks: The agent's hooks.
        accepted: The ``accepted_signals`` of its spec.

    Raises:
        AgentDefinitionError: The message names the hook and what to add to the spec.
    """
    allowed = frozenset(accepted)
    for descriptor in hooks.descriptors:
        if descriptor.kind not in allowed:
            message = (
                f"The hook {descriptor.identity.key} would never be called: add"
                f" AgentSignalKind.{descriptor.kind.name} to accepted_signals of the agent's spec."
            )
            raise AgentDefinitionError(message)


def _find_hooks(owner: type[object]) -> Iterator[AgentSignalHookDescriptor]:
    bodies: dict[str, type[object]] = {}
    for base in reversed(owner.__mro__):
        bodies.update(dict.fromkeys(vars(base), base))
    for name, base in bodies.items():
        function: object = vars(base)[name]
        if not inspect.isfunction(function):
            continue
        kinds = _kinds_of(function)
        if kinds:
            _require_hints(function, base)
        identity = AgentSignalHookIdentity(owner.__module__, owner.__qualname__, name)
        for kind in kinds:
            yield AgentSignalHookDescriptor(identity, owner, function, kind)


def _kinds_of(function: Callable[..., object]) -> tuple[AgentSignalKind, ...]:
    # getattr: the decorator attached the kinds to the function under this name.
    kinds: tuple[AgentSignalKind, ...] = getattr(function, _KINDS_ATTRIBUTE, ())
    return kinds


def _require_form(function: Callable[..., object]) -> None:
    where = name_function(function) if inspect.isfunction(function) else repr(function)
    if not inspect.isasyncgenfunction(function):
        message = f"{where} is no asynchronous generator method; write it as: {_FORM}."
        raise AgentDefinitionError(message)
    positional = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    parameters = read_parameters(function)
    if len(parameters) != 2 or any(item.kind not in positional for item in parameters):
        message = f"{where} must take self and one signal; write it as: {_FORM}."
        raise AgentDefinitionError(message)


def _require_hints(function: Callable[..., object], defined_in: type[object] | None) -> None:
    where = name_function(function)
    scope = scope_of_function(function, defined_in)
    signal = read_parameters(function)[1]
    if signal.annotation is inspect.Parameter.empty or (
        resolve_hint(signal.annotation, scope, f"parameter '{signal.name}' of {where}")
        is not AgentSignal
    ):
        message = f"{where}: its parameter {signal.name!r} must be an AgentSignal: {_FORM}."
        raise AgentDefinitionError(message)
    returned = own_annotations(function).get("return")
    result = resolve_hint(returned, scope, f"result of {where}")
    if not _is_yield_stream(result):
        message = f"{where} must declare what it yields: {_FORM}."
        raise AgentDefinitionError(message)


def _is_yield_stream(hint: object) -> bool:
    if typing.get_origin(hint) not in _STREAM_ORIGINS:
        return False
    item, *send_type = typing.get_args(hint)
    if send_type not in ([], [types.NoneType], [None]):
        return False
    return item is AgentYield or typing.get_origin(item) is AgentYield
