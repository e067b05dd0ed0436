"""Checks an ``execute()`` that an author wrote: it streams ``AgentYield`` items, or gives a direct result."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from types import NoneType
from typing import get_args, get_origin, get_type_hints

from spakky.agent.contracts.yields import AgentYield
from spakky.agent.error import AgentDefinitionError, AgentValueError

_STREAMS = (AsyncGenerator, Generator, AsyncIterator, Iterator)


def check_execute(owner: type[object]) -> None:
    """Check the class's ``execute()``, when the class is defined.

    A generator must yield ``AgentYield`` and take nothing by ``send``. Any other function is a direct result and may
    return what it likes.

    Raises:
        AgentDefinitionError: It is no function, or a generator of something else.
    """
    function = inspect.getattr_static(owner, "execute")
    if not inspect.isfunction(function):
        message = f"{owner.__qualname__}.execute must be a method, not {type(function).__name__}."
        raise AgentDefinitionError(message)
    hint = _return_hint(owner, function)
    origin = get_origin(hint) or hint
    if origin not in _STREAMS:
        return
    item, *rest = get_args(hint) or (None,)
    if (get_origin(item) or item) is not AgentYield:
        message = f"{owner.__qualname__}.execute streams {item!r}; a streaming execute() yields AgentYield items."
        raise AgentDefinitionError(message)
    # The generators of collections.abc give None as it was written, those of typing its type.
    if rest and rest[0] not in {None, NoneType}:
        message = f"{owner.__qualname__}.execute takes {rest[0]!r} by send(); the send type of a streaming execute() is None."
        raise AgentDefinitionError(message)


def _return_hint(owner: type[object], function: Callable[..., object]) -> object:
    try:
        return get_type_hints(function).get("return")
    except (NameError, TypeError) as error:
        message = f"The return type of {owner.__qualname__}.execute cannot be resolved: {error}."
        raise AgentDefinitionError(message) from error


def require_streaming(instance: object) -> None:
    """Refuse an agent whose ``execute()`` does not stream; for adapters that show progress at once.

    Raises:
        AgentValueError: Its ``execute()`` gives a direct result.
    """
    function = inspect.getattr_static(type(instance), "execute", None)
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        return
    message = f"{type(instance).__qualname__}.execute gives a direct result and cannot be streamed; write it as a generator of AgentYield, or call it directly."
    raise AgentValueError(message)
