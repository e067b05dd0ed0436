"""Turns the arguments of a tool call, as decoded from JSON, into a call that can be made."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import override
from weakref import WeakKeyDictionary

from spakky.agent.declare.decode import compile_decoder
from spakky.agent.declare.decode_containers import require_keys, require_object
from spakky.agent.declare.decode_error import DecodeMismatch
from spakky.agent.declare.decode_leaves import Decoder
from spakky.agent.declare.hints import read_parameters
from spakky.agent.declare.signature import (
    NO_DEFAULT,
    SignatureSource,
    ToolParameter,
    ToolReceiver,
    ToolSignature,
)
from spakky.agent.error import AgentToolBindingError
from spakky.agent.json_value import JsonObject, JsonValue, freeze_object

_ROOT = "arguments"
_STRUCTURED_KEYS = frozenset({"args", "kwargs"})
_NO_KWARGS: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AgentToolBoundInvocation:
    """The arguments of one call, decoded and with defaults filled in. Not shown by ``repr``.

    Attributes:
        args: By position, in the order of the signature.
        kwargs: By name: keyword-only parameters, and those behind one that the framework fills.
    """

    args: tuple[object, ...] = field(default=(), repr=False)
    kwargs: Mapping[str, object] = field(default=_NO_KWARGS, repr=False)


class ToolBinder(ABC):
    """Binds the calls of one tool."""

    @abstractmethod
    def bind(self, payload: JsonObject) -> AgentToolBoundInvocation:
        """Check and decode the arguments of a call.

        Args:
            payload: The arguments as JSON.

        Raises:
            AgentToolBindingError: They do not fit; the message names the path and types, no value.
        """

    @abstractmethod
    def flatten(self, payload: JsonObject) -> JsonObject:
        """Give the arguments by name, neither decoded nor complete.

        Args:
            payload: The arguments as JSON, in any form that ``bind`` takes.

        Raises:
            AgentToolBindingError: An argument is unknown or given twice.
        """

    @abstractmethod
    def injected(self) -> tuple[ToolParameter, ...]:
        """Give the parameters that the framework fills."""

    @abstractmethod
    def resolve(self) -> None:
        """Read everything that binding needs, to find a wrong declaration before the first call.

        Raises:
            AgentDefinitionError: The signature cannot be offered to a model.
        """


class SignatureBinder(ToolBinder):
    """Binds calls by the signature of a Python function.

    Two forms are taken: the arguments by name, and ``{"args": [...], "kwargs": {...}}``. The second
    is recognised only where no parameter has one of these two names.

    Args:
        source: The signature.
        tool_name: The tool's name, for messages.
    """

    def __init__(self, source: SignatureSource, tool_name: str) -> None:
        self._source = source
        self._tool_name = tool_name
        self._plan: _BindingPlan | None = None

    @override
    def bind(self, payload: JsonObject) -> AgentToolBoundInvocation:
        plan = self._plan or self._make_plan()
        try:
            return plan.bind(plan.flatten(payload))
        except DecodeMismatch as mismatch:
            problem = mismatch.tell(_ROOT)
        except RecursionError:
            problem = f"{_ROOT}: nested too deeply."
        raise AgentToolBindingError(_tell(self._tool_name, problem))

    @override
    def flatten(self, payload: JsonObject) -> JsonObject:
        plan = self._plan or self._make_plan()
        try:
            flat = plan.flatten(payload)
            require_keys(flat, plan.decoders, ())
        except DecodeMismatch as mismatch:
            problem = mismatch.tell(_ROOT)
        else:
            return freeze_object(flat)
        raise AgentToolBindingError(_tell(self._tool_name, problem))

    @override
    def injected(self) -> tuple[ToolParameter, ...]:
        return (self._plan or self._make_plan()).injected

    @override
    def resolve(self) -> None:
        self._make_plan()

    def _make_plan(self) -> "_BindingPlan":
        self._plan = _BindingPlan(self._source.resolve())
        return self._plan


def _tell(tool_name: str, problem: str) -> str:
    return f"The arguments do not fit the tool {tool_name!r}, which was not run. {problem}"


class _BindingPlan:
    """What binding needs to know about a signature, worked out once."""

    __slots__ = (
        "_by_name",
        "_by_position",
        "_positions",
        "_required",
        "_required_set",
        "_structured",
        "decoders",
        "injected",
    )

    def __init__(self, signature: ToolSignature) -> None:
        arguments = [item for item in signature.parameters if item.field is not None]
        self.decoders: dict[str, Decoder] = {
            item.name: compile_decoder(item.field.form)
            for item in arguments
            if item.field is not None
        }
        self.injected = signature.injected
        required = [item.name for item in arguments if item.default is NO_DEFAULT]
        self._required = tuple(required)
        self._required_set = frozenset(required)
        self._positions = tuple(item.name for item in arguments if not item.keyword_only)
        self._structured = _STRUCTURED_KEYS.isdisjoint(self.decoders)
        self._by_position, self._by_name = _split(signature.parameters)

    def flatten(self, payload: JsonObject) -> Mapping[str, JsonValue]:
        payload = require_object(payload)
        if not (payload and self._structured and payload.keys() <= _STRUCTURED_KEYS):
            return payload
        args = payload.get("args", ())
        kwargs = payload.get("kwargs", {})
        if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
            return payload
        return self._join(args, kwargs)

    def _join(
        self, args: Sequence[JsonValue], kwargs: Mapping[str, JsonValue]
    ) -> Mapping[str, JsonValue]:
        if len(args) > len(self._positions):
            most = len(self._positions)
            problem = f"expected at most {most} arguments by position, got {len(args)}."
            raise DecodeMismatch(problem)
        flat: dict[str, JsonValue] = dict(zip(self._positions, args, strict=False))
        twice = [name for name in kwargs if name in flat]
        if twice:
            problem = f"given both by position and by name: {', '.join(twice)}."
            raise DecodeMismatch(problem)
        flat.update(kwargs)
        return flat

    def bind(self, flat: Mapping[str, JsonValue]) -> AgentToolBoundInvocation:
        decoders = self.decoders
        values: dict[str, object] = {}
        for name, item in flat.items():
            decoder = decoders.get(name)
            if decoder is None:
                break
            try:
                values[name] = decoder(item)
            except DecodeMismatch as mismatch:
                raise mismatch.under(name) from None
        if len(values) != len(flat) or not self._required_set <= values.keys():
            require_keys(flat, decoders, self._required)
        args = tuple([values.get(name, default) for name, default in self._by_position])
        if not self._by_name:
            return AgentToolBoundInvocation(args)
        kwargs = {name: values.get(name, default) for name, default in self._by_name}
        return AgentToolBoundInvocation(args, kwargs)


type _Defaults = tuple[tuple[str, object], ...]


def _split(parameters: tuple[ToolParameter, ...]) -> tuple[_Defaults, _Defaults]:
    """Tell which arguments go by position: those before the first that cannot."""
    by_position: list[tuple[str, object]] = []
    by_name: list[tuple[str, object]] = []
    positional = True
    for parameter in parameters:
        if parameter.field is None:
            positional = False
            continue
        positional = positional and not parameter.keyword_only
        (by_position if positional else by_name).append((parameter.name, parameter.default))
    return tuple(by_position), tuple(by_name)


class ForeignBinder(ToolBinder):
    """Binds calls by an input schema that came from elsewhere; values are left to the tool's owner.

    Args:
        input_schema: The schema of the arguments.
        tool_name: The tool's name, for messages.
    """

    def __init__(self, input_schema: JsonObject, tool_name: str) -> None:
        self._tool_name = tool_name
        properties = input_schema.get("properties")
        required = input_schema.get("required")
        self._known: Mapping[str, object] = properties if isinstance(properties, Mapping) else {}
        listed = required if isinstance(required, list | tuple) else ()
        self._required = tuple(str(name) for name in listed)
        extra = input_schema.get("additionalProperties", not isinstance(properties, Mapping))
        self._is_open = extra is not False or "patternProperties" in input_schema

    @override
    def bind(self, payload: JsonObject) -> AgentToolBoundInvocation:
        return AgentToolBoundInvocation((), self._check(payload, self._required))

    @override
    def flatten(self, payload: JsonObject) -> JsonObject:
        return self._check(payload, ())

    @override
    def injected(self) -> tuple[ToolParameter, ...]:
        return ()

    @override
    def resolve(self) -> None:
        """Nothing is left to read."""

    def _check(self, payload: JsonObject, required: Sequence[str]) -> JsonObject:
        try:
            require_object(payload)
            known = {**payload, **self._known} if self._is_open else self._known
            require_keys(payload, known, required)
        except DecodeMismatch as mismatch:
            raise AgentToolBindingError(_tell(self._tool_name, mismatch.tell(_ROOT))) from None
        return freeze_object(payload)


_BINDERS: WeakKeyDictionary[Callable[..., object], SignatureBinder] = WeakKeyDictionary()


def bind_agent_tool_invocation(
    function: Callable[..., object], payload: JsonObject
) -> AgentToolBoundInvocation:
    """Bind the arguments of a call to a function that need not be a declared tool.

    Args:
        function: A function or bound method. A first parameter named ``self`` or ``cls`` is not an
            argument of the call.
        payload: The arguments by name, or ``{"args": [...], "kwargs": {...}}``.

    Raises:
        AgentDefinitionError: The signature cannot be offered to a model.
        AgentToolBindingError: The arguments do not fit; the function was not called.
    """
    plain = function.__func__ if inspect.ismethod(function) else function
    binder = _BINDERS.get(plain)
    if binder is None:
        receiver = guess_receiver(plain)
        # getattr: a callable object has no name of its own.
        name = getattr(plain, "__name__", type(plain).__name__)
        binder = SignatureBinder(SignatureSource(plain, receiver), name)
        _BINDERS[plain] = binder
    return binder.bind(payload)


def guess_receiver(function: Callable[..., object]) -> ToolReceiver:
    """Tell from the name of its first parameter what a function takes before the arguments.

    Args:
        function: A plain function.
    """
    first = next((parameter.name for parameter in read_parameters(function)), None)
    receivers = {"self": ToolReceiver.INSTANCE, "cls": ToolReceiver.CLASS}
    return receivers.get(first or "", ToolReceiver.NONE)
