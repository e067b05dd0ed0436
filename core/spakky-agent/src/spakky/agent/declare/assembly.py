"""Puts together every tool that an agent offers."""

from collections.abc import Callable

from spakky.agent.declare.catalog import AgentToolCatalog, discover_agent_tools, merge_catalogs
from spakky.agent.declare.spec import AgentExecutionSpec
from spakky.agent.declare.teammate import AgentTeammate
from spakky.agent.declare.teammate_tool import describe_teammate_tool


def assemble_tool_catalog(
    owner: type[object],
    spec: AgentExecutionSpec,
    describe: Callable[[AgentTeammate], str | None] = lambda _: None,
) -> AgentToolCatalog:
    """Give the tools of an agent: its own methods, then the spec's tools, then its teammates.

    Args:
        owner: The agent's class.
        spec: Its spec.
        describe: Gives a description for a teammate that has none, for example its objective.

    Raises:
        AgentDefinitionError: A signature cannot be offered to a model, or two tools have the same
            schema name. A hint that cannot be resolved yet is read by the catalog's ``validate``.
    """
    delegates = tuple(
        describe_teammate_tool(teammate, owner, describe(teammate)) for teammate in spec.teammates
    )
    return merge_catalogs(
        discover_agent_tools(owner), spec.component_tools(), AgentToolCatalog(delegates)
    )
