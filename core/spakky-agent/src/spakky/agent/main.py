"""The plugin entry point of spakky-agent: registers the runner factory and the start-up validation."""

from spakky.core.application.application import SpakkyApplication
from spakky.core.application.plugin import Plugin

from spakky.agent.bootstrap import AgentBootstrapValidator
from spakky.agent.runner_factory import AgentRunnerFactory

PLUGIN_NAME = Plugin(name="spakky-agent")
"""How the application names this plugin."""


def initialize(app: SpakkyApplication) -> None:
    """Register what the core gives to an application."""
    app.add(AgentRunnerFactory)
    app.add(AgentBootstrapValidator)
