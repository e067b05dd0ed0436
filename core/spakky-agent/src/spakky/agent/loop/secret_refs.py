"""Puts secrets in the place of the references that a model gave, for the one call that needs them."""

from collections.abc import Mapping
from dataclasses import replace

from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.declare.catalog import AgentToolDescriptor
from spakky.agent.guards.field_paths import (
    PathNode,
    build_path_tree,
    marker_at,
    nodes_for_item,
    nodes_for_key,
)
from spakky.agent.guards.redact import sensitive_values
from spakky.agent.guards.sensitive import SECRET_SCHEME, SecretRef
from spakky.agent.json_value import FrozenObject, JsonValue
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.plan_calls import named_arguments, secret_fields
from spakky.agent.loop.progress import CallState


async def resolve_secrets(
    kit: RunKit, tool: AgentToolDescriptor, call: CallState
) -> tuple[ModelToolCall, tuple[str, ...]]:
    """Give the call with its secrets, and all secrets among its arguments, so that what the tool says can be cleaned of them.

    Raises:
        AgentToolError: The resolver refuses a reference.
    """
    fields = secret_fields(tool)
    named = named_arguments(tool, call.call.arguments)
    values = sensitive_values(named, fields)
    root = build_path_tree(fields)
    if kit.secrets is None or root is None:
        return call.call, values
    found: dict[str, str] = {}
    for reference in values:
        if reference.startswith(SECRET_SCHEME):
            secret_id = reference.removeprefix(SECRET_SCHEME)
            found[reference] = await kit.secrets.resolve(SecretRef(secret_id))
    if not found:
        return call.call, values
    # Only where the tool declares a secret: the same reference in an open argument would carry the secret out.
    arguments = {
        key: _place(item, nodes_for_key((root,), key), found) for key, item in named.items()
    }
    return replace(call.call, arguments=FrozenObject(arguments)), (*values, *found.values())


def _place(value: JsonValue, nodes: tuple[PathNode, ...], found: Mapping[str, str]) -> JsonValue:
    marked = marker_at(nodes) is not None
    if isinstance(value, str):
        return found.get(value, value) if marked else value
    if isinstance(value, Mapping):
        return {
            key: _place(item, nodes if marked else nodes_for_key(nodes, key), found)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        below = nodes if marked else nodes_for_item(nodes)[0]
        return [_place(item, below, found) for item in value]
    return value
