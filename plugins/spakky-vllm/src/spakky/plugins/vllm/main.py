"""The plugin's entry: registers the settings."""

from spakky.core.application.application import SpakkyApplication
from spakky.core.pod.annotations.pod import Pod

from spakky.plugins.vllm.config import VllmSettings, is_configured


@Pod(name="spakky.vllm.settings")
def vllm_settings() -> VllmSettings:
    """Read the settings from the environment.

    Raises:
        VllmConfigurationError: A variable is missing, wrong or unknown.
    """
    return VllmSettings.load()


def initialize(app: SpakkyApplication) -> None:
    """Register what the plugin gives without any feature: its settings, when there are any."""
    if is_configured():
        app.add(vllm_settings)
