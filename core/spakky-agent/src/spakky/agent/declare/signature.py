"""The signature of a tool: what a model fills in, what the framework fills in, what comes back."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from spakky.agent.declare.docstring import entries_of
from spakky.agent.declare.hints import (
    HintScope,
    own_annotations,
    read_parameters,
    resolve_hint,
    scope_of_function,
)
from spakky.agent.declare.injection import find_injected_type
from spakky.agent.declare.type_form import RecordField, TypeForm
from spakky.agent.declare.type_reader import TypeReader
from spakky.agent.error import AgentDefinitionError

NO_DEFAULT: object = inspect.Parameter.empty
"""Stands for the default of a parameter that has none."""

_REFUSED_KINDS: dict[object, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but a model names its arguments",
    inspect.Parameter.VAR_POSITIONAL: "takes any positional arguments, which no schema can list",
    inspect.Parameter.VAR_KEYWORD: "takes any keyword arguments, which no schema can list",
}


class ToolReceiver(StrEnum):
    """What a tool's function takes as its first argument, before those of the call."""

    NONE = "none"
    INSTANCE = "instance"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter of a tool.

    Attributes:
        name: Its name.
        keyword_only: Whether it cannot be given by position.
        default: Its default, or ``NO_DEFAULT``.
        field: Its name and form as a property of the input schema; None when the framework fills it.
        injected_type: The type that the framework fills in; None for a model's argument.
        accepts_none: Whether an injected parameter may be None.
    """

    name: str
    keyword_only: bool
    default: object
    field: RecordField | None = None
    injected_type: type[object] | None = None
    accepts_none: bool = False


@dataclass(frozen=True, slots=True)
class ToolSignature:
    """A tool's signature.

    Attributes:
        parameters: In their order, without the receiver.
        output: The form of the result.
    """

    parameters: tuple[ToolParameter, ...]
    output: TypeForm

    @property
    def fields(self) -> tuple[RecordField, ...]:
        """The properties of the input schema."""
        return tuple(item.field for item in self.parameters if item.field is not None)

    @property
    def injected(self) -> tuple[ToolParameter, ...]:
        """The parameters that the framework fills."""
        return tuple(item for item in self.parameters if item.injected_type is not None)


class SignatureSource:
    """A function whose signature is read when it is first needed, and once.

    Reading may have to wait: while a class is being defined, a hint may name a class that is
    defined further down in the module.

    Args:
        function: The function.
        receiver: What it takes before the arguments of a call.
        defined_in: The class whose body holds it; None outside a class.
    """

    def __init__(
        self,
        function: Callable[..., object],
        receiver: ToolReceiver,
        defined_in: type[object] | None = None,
    ) -> None:
        self._read: Callable[[], ToolSignature]
        self._read = lambda: read_signature(function, receiver, defined_in)
        self._signature: ToolSignature | None = None

    def resolve(self) -> ToolSignature:
        """Give the signature.

        Raises:
            UnresolvedHintError: A hint names something that cannot be found, or not yet.
            AgentDefinitionError: The signature cannot be offered to a model.
        """
        signature = self._signature
        if signature is None:
            signature = self._signature = self._read()
            # Lets go of the function, so that a cache keyed by it can drop it.
            self._read = lambda: signature
        return signature


def read_signature(
    function: Callable[..., object],
    receiver: ToolReceiver,
    defined_in: type[object] | None = None,
) -> ToolSignature:
    """Read the signature of a tool.

    Args:
        function: The function.
        receiver: What it takes before the arguments of a call.
        defined_in: The class whose body holds it; None outside a class.

    Raises:
        UnresolvedHintError: A hint names something that cannot be found.
        AgentDefinitionError: A parameter or the result has no type hint or one that JSON cannot
            express, or a parameter is positional-only, ``*args`` or ``**kwargs``.
    """
    where = name_function(function)
    scope = scope_of_function(function, defined_in)
    reader = TypeReader(scope)
    annotations = own_annotations(inspect.unwrap(function))
    described = entries_of(function.__doc__)
    skipped = 0 if receiver is ToolReceiver.NONE else 1
    parameters: list[ToolParameter] = []
    for parameter in read_parameters(function)[skipped:]:
        parameter_where = f"parameter '{parameter.name}' of {where}"
        hint = _hint_of(parameter, annotations, scope, parameter_where)
        description = described.get(parameter.name)
        parameters.append(_to_parameter(parameter, hint, reader, parameter_where, description))
    if "return" not in annotations:
        message = f"result of {where}: no type hint; annotate what the tool returns."
        raise AgentDefinitionError(message)
    output_where = f"result of {where}"
    output = reader.read(resolve_hint(annotations["return"], scope, output_where), output_where)
    return ToolSignature(tuple(parameters), output)


def name_function(function: Callable[..., object]) -> str:
    """Give the name of a function as messages show it.

    Args:
        function: The function.
    """
    inner = inspect.unwrap(function)
    # getattr: a callable object has no names of its own.
    module = getattr(inner, "__module__", None) or "?"
    # getattr: as above.
    return f"{module}.{getattr(inner, '__qualname__', type(inner).__qualname__)}"


def _hint_of(
    parameter: inspect.Parameter, annotations: object, scope: HintScope, where: str
) -> object:
    reason = _REFUSED_KINDS.get(parameter.kind)
    if reason is not None:
        message = f"{where}: it {reason}; declare ordinary parameters."
        raise AgentDefinitionError(message)
    if parameter.annotation is inspect.Parameter.empty:
        message = f"{where}: no type hint; annotate it."
        raise AgentDefinitionError(message)
    return resolve_hint(parameter.annotation, scope, where)


def _to_parameter(
    parameter: inspect.Parameter,
    hint: object,
    reader: TypeReader,
    where: str,
    description: str | None,
) -> ToolParameter:
    keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    found = find_injected_type(hint)
    if found is not None:
        injected_type, accepts_none = found
        return ToolParameter(
            parameter.name,
            keyword_only,
            parameter.default,
            injected_type=injected_type,
            accepts_none=accepts_none,
        )
    field = RecordField(
        name=parameter.name,
        form=reader.read(hint, where),
        required=parameter.default is inspect.Parameter.empty,
        description=description,
    )
    return ToolParameter(parameter.name, keyword_only, parameter.default, field)
