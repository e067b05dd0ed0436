"""The entry point through which an application loads this plugin."""

from spakky.core.application.application import SpakkyApplication

from spakky.plugins.typer.application import CliApplication


def initialize(app: SpakkyApplication) -> None:
    """Register what the plugin gives to every application.

    Args:
        app: The application that loads the plugin.
    """
    app.add(CliApplication)
