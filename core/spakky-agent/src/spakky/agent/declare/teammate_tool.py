"""The tool through which a model hands a task to a teammate.

It is a tool like any other as far as schemas, binding and approval go; running it is the loop's
work, since a delegated run streams, pauses and is cancelled with its parent.
"""

from spakky.agent.contracts.tool_metadata import (
    AgentToolMetadata,
    Externality,
    ToolEffects,
)
from spakky.agent.declare.binding import SignatureBinder
from spakky.agent.declare.descriptor import AgentToolDescriptor, AgentToolIdentity
from spakky.agent.declare.schema import extract_tool_schema
from spakky.agent.declare.signature import SignatureSource, ToolReceiver
from spakky.agent.declare.teammate import AgentTeammate
from spakky.agent.error import AgentToolDispatchError
from spakky.agent.json_value import JsonValue

_LOCAL = ToolEffects()
_REMOTE = ToolEffects(externality=Externality.EXTERNAL, network=True)


def teammate_tool_name(teammate: AgentTeammate) -> str:
    """Give the schema name of a teammate's delegate tool.

    Args:
        teammate: The teammate.
    """
    return f"teammate.{teammate.token}.delegate"


def describe_teammate_tool(
    teammate: AgentTeammate, fallback_description: str | None = None
) -> AgentToolDescriptor:
    """Describe the tool that delegates to a teammate.

    Delegating to a local teammate carries no risk of its own: the tools that it runs are gated
    themselves. Delegating to a remote one uses the network, so that it asks for approval unless the
    teammate says otherwise.

    Args:
        teammate: The teammate.
        fallback_description: Said about a teammate without a description, for example its
            objective.
    """
    name = teammate_tool_name(teammate)
    said = teammate.description or fallback_description
    description = f"Delegates a task to the agent {teammate.name!r} and gives its result."
    # A remote agent has no class; its tool's name alone tells it from the others of the parent.
    module, qualname = "", ""
    if teammate.pod is not None:
        module, qualname = teammate.pod.__module__, teammate.pod.__qualname__
    source = SignatureSource(_delegate, ToolReceiver.NONE)
    return AgentToolDescriptor(
        identity=AgentToolIdentity(module, qualname, name),
        owner=None,
        callable=_delegate,
        schema=extract_tool_schema(name, source.resolve()),
        description=description if said is None else f"{description} {said}",
        metadata=AgentToolMetadata(
            effects=_LOCAL if teammate.card_url is None else _REMOTE, approval=teammate.approval
        ),
        receiver=ToolReceiver.NONE,
        binder=SignatureBinder(source, name),
    )


def _delegate(
    instruction: str, task: str | None = None, context_summary: str | None = None
) -> JsonValue:
    """Stand for a delegated run, which only an agent's loop can make.

    Args:
        instruction: What the teammate is asked to do, complete in itself.
        task: The larger task that this is a part of.
        context_summary: What the teammate has to know to begin.

    Raises:
        AgentToolDispatchError: Always: a dispatcher cannot run a teammate.
    """
    del instruction, task, context_summary
    message = "A teammate is run by the agent's loop; a dispatcher cannot call its delegate tool."
    raise AgentToolDispatchError(message)
