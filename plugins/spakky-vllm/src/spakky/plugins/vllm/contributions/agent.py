"""What the plugin gives to the agent feature: the model Pod."""

from asyncio import locks
from typing import override

from spakky.core.application.application import SpakkyApplication
from spakky.core.pod.annotations.pod import Pod
from spakky.core.service.interfaces.service import IAsyncService

from spakky.plugins.vllm.config import VllmSettings, is_configured
from spakky.plugins.vllm.model import VllmAgentModel


@Pod(name="spakky.vllm.model")
def vllm_agent_model(settings: VllmSettings) -> VllmAgentModel:
    """Make the model from the settings; it is an ``IAgentModel`` for whoever asks for one."""
    return VllmAgentModel.from_settings(settings)


@Pod(name="spakky.vllm.shutdown")
class VllmShutdown(IAsyncService):
    """Closes the model's connections when the application stops.

    Args:
        model: The model that owns them.
    """

    def __init__(self, model: VllmAgentModel) -> None:
        self._model = model

    @override
    def set_stop_event(self, stop_event: locks.Event) -> None:
        """Take no notice: there is no work of its own to be stopped."""

    @override
    async def start_async(self) -> None:
        """Open nothing: connections belong to the event loops of the requests."""

    @override
    async def stop_async(self) -> None:
        """Close the connections of every event loop."""
        await self._model.aclose()


def initialize(app: SpakkyApplication) -> None:
    """Register the model, when the plugin is configured.

    Without any variable of the plugin nothing is registered, so that an application with a model of its own can have the
    package installed.
    """
    if is_configured():
        app.add(vllm_agent_model)
        app.add(VllmShutdown)
