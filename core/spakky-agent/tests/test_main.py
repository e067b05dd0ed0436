"""The plugin registers what the core gives to an application."""

from importlib.metadata import entry_points

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext

from spakky.agent.bootstrap import AgentBootstrapValidator
from spakky.agent.main import PLUGIN_NAME, initialize
from spakky.agent.runner_factory import AgentRunnerFactory, IAgentRunnerFactory


@pytest.mark.requirement("PKG-11", "LOOP-15")
def test_loading_the_plugin_binds_the_runner_factory_and_the_validation() -> None:
    app = SpakkyApplication(ApplicationContext()).load_plugins(include={PLUGIN_NAME})
    app.start()
    assert type(app.container.get(IAgentRunnerFactory)) is AgentRunnerFactory
    assert isinstance(app.container.get(AgentBootstrapValidator), AgentBootstrapValidator)
    app.stop()


@pytest.mark.requirement("PKG-11")
def test_the_entry_point_names_the_plugin() -> None:
    (entry,) = (
        found for found in entry_points(group="spakky.plugins") if found.name == PLUGIN_NAME.name
    )
    assert entry.load() is initialize


def test_an_application_without_the_plugin_has_neither() -> None:
    app = SpakkyApplication(ApplicationContext())
    app.start()
    assert not app.container.contains(IAgentRunnerFactory)
    app.stop()
