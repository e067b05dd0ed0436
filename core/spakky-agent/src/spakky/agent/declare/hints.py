"""Type hints of functions and classes, resolved in the scope in which they were written.

Hints may be objects, texts (postponed evaluation) or hold forward references. Each is resolved on
its own, so that an error can name the parameter or field.
"""

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spakky.agent.error import AgentDefinitionError

if sys.version_info >= (3, 14):  # pragma: no cover  # coverage is measured on Python 3.13
    import annotationlib

READ_ONLY: tuple[object, ...]
"""The qualifier of read-only ``TypedDict`` keys, where Python has it."""
if sys.version_info >= (3, 13):
    READ_ONLY = (typing.ReadOnly,)
else:  # pragma: no cover  # Python 3.12 has no such qualifier
    READ_ONLY = ()

_MEMBERS_THAT_ARE_NO_TYPES = (
    type(lambda: None),
    staticmethod,
    classmethod,
    property,
    str,
    int,
    float,
)


class UnresolvedHintError(AgentDefinitionError):
    """A hint names something that does not exist, or not yet: it may be defined further down."""

    message = "A type hint names something that cannot be found."


@dataclass(frozen=True, slots=True)
class HintScope:
    """The names that a hint can see.

    Attributes:
        global_names: Of the module in which the hint was written.
        local_names: Of the class body and enclosing functions; they win over ``global_names``.
    """

    global_names: dict[str, object]
    local_names: Mapping[str, object]


def own_annotations(holder: type[object] | Callable[..., object]) -> Mapping[str, object]:
    """Give the annotations written on a class or function itself, not those that it inherits.

    Args:
        holder: The class or function.

    Returns:
        The hints by name, unresolved: objects, texts, or objects with forward references.
    """
    if sys.version_info >= (3, 14):  # pragma: no cover  # coverage is measured on Python 3.13
        return annotationlib.get_annotations(holder, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(holder)


def read_parameters(function: Callable[..., object]) -> tuple[inspect.Parameter, ...]:
    """Give a function's parameters without evaluating their annotations.

    Args:
        function: The function; wrappers made with ``functools.wraps`` show the wrapped signature.
    """
    if sys.version_info >= (3, 14):  # pragma: no cover  # coverage is measured on Python 3.13
        forward = annotationlib.Format.FORWARDREF
        return tuple(inspect.signature(function, annotation_format=forward).parameters.values())
    return tuple(inspect.signature(function).parameters.values())


def scope_of_function(
    function: Callable[..., object], owner: type[object] | None = None
) -> HintScope:
    """Give the names that the hints of a function can see.

    Args:
        function: A function, wrapped or not.
        owner: The class whose body holds the function; None for a function outside a class.
    """
    inner = inspect.unwrap(function)
    if inspect.ismethod(inner):
        inner = inner.__func__
    if not inspect.isfunction(inner):
        return HintScope({}, {})
    names: dict[str, object] = {}
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            # The enclosing function has not assigned the variable yet.
            continue
    if owner is not None:
        names.update(_types_in(owner))
    return HintScope(inner.__globals__, names)


def scope_of_class(owner: type[object], outer: HintScope | None = None) -> HintScope:
    """Give the names that the hints in a class body can see.

    Args:
        owner: The class.
        outer: The scope that led to the class. Its local names serve where the class's module has
            no such name, which lets classes inside functions refer to each other.
    """
    module = sys.modules.get(owner.__module__)
    global_names = {} if module is None else vars(module)
    names: dict[str, object] = {}
    if outer is not None:
        names.update(
            (name, value) for name, value in outer.local_names.items() if name not in global_names
        )
    names.update(_types_in(owner))
    return HintScope(global_names, names)


def _types_in(owner: type[object]) -> dict[str, object]:
    # A method may have the name of a builtin type ("list"); a hint never means the method.
    names = {
        name: value
        for name, value in vars(owner).items()
        if not isinstance(value, _MEMBERS_THAT_ARE_NO_TYPES) and not name.startswith("__")
    }
    return {owner.__name__: owner, **names}


def resolve_hint(annotation: object, scope: HintScope, where: str) -> object:
    """Resolve one annotation.

    Args:
        annotation: As written: a type, a text, or a type that holds forward references.
        scope: The names that it can see.
        where: The parameter or field, for the message.

    Returns:
        The type, with ``Annotated`` kept.

    Raises:
        UnresolvedHintError: A name cannot be found.
        AgentDefinitionError: The annotation is no type.
    """
    # ``get_type_hints`` is the public way to evaluate nested references; it wants a holder, and a
    # class is the holder that allows every qualifier.
    holder = type("HintHolder", (), {"__annotations__": {"hint": annotation}})
    try:
        hints = typing.get_type_hints(
            holder, scope.global_names, dict(scope.local_names), include_extras=True
        )
    except (NameError, AttributeError) as error:
        message = (
            f"{where}: the name {error.name!r} in the type hint cannot be found. Define or import "
            "it at module level, and not only for type checkers."
        )
        raise UnresolvedHintError(message) from error
    except (SyntaxError, TypeError) as error:
        message = f"{where}: the type hint {annotation!r} cannot be read ({error})."
        raise AgentDefinitionError(message) from error
    return hints["hint"]


def resolve_class_hint(
    owner: type[object], name: str, where: str, outer: HintScope | None = None
) -> object:
    """Resolve the hint of one attribute of a class in the scope of the base that declares it.

    Args:
        owner: The class.
        name: The attribute.
        where: The field, for the message.
        outer: The scope that led to the class.

    Raises:
        AgentDefinitionError: No class of the hierarchy annotates the attribute, or the hint cannot
            be resolved.
    """
    for base in owner.__mro__:
        annotations = own_annotations(base)
        if name in annotations:
            return resolve_hint(annotations[name], scope_of_class(base, outer), where)
    message = f"{where}: no type hint was found; annotate the field."
    raise AgentDefinitionError(message)
