"""Parameters that the framework fills: one table of their types.

Such a parameter is no part of a tool's schema, and a model cannot set it. To add a type, add it to
the table and have the caller of ``invoke_tool`` supply a value under it.
"""

import types
import typing
from collections.abc import Mapping

from spakky.agent.declare.runtime_context import AgentToolRuntimeContext

INJECTED_TYPES: frozenset[type[object]] = frozenset({AgentToolRuntimeContext})
"""The types whose parameters the framework fills."""

type InjectedValues = Mapping[type[object], object]

NO_VALUES: InjectedValues = types.MappingProxyType({})
"""For calls outside a run: nothing to fill in."""

_UNION_ORIGINS: tuple[object, ...] = (typing.Union, types.UnionType)


def find_injected_type(hint: object) -> tuple[type[object], bool] | None:
    """Tell whether a parameter is filled by the framework.

    Args:
        hint: The parameter's resolved type hint: a type of the table, or that type ``| None``.

    Returns:
        The type of the table and whether None may stand in for it; None for any other hint.
    """
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if isinstance(hint, type) and hint in INJECTED_TYPES:
        return hint, False
    if typing.get_origin(hint) not in _UNION_ORIGINS:
        return None
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    if len(options) != 1:
        return None
    found = find_injected_type(options[0])
    return None if found is None else (found[0], True)
