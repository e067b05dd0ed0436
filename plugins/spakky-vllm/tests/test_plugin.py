"""The plugin in the container."""

import asyncio
import os
import sys
from importlib.metadata import entry_points

import pytest
from spakky.core.application.application import SpakkyApplication
from spakky.core.application.application_context import ApplicationContext
from vllm_server import ModelServer, Reply
from vllm_wire import DONE, ask, finish, listen, text

from spakky.agent.ports.model import IAgentModel
from spakky.plugins.vllm import VllmAgentModel, VllmConfigurationError, VllmSettings
from spakky.plugins.vllm.contributions import agent
from spakky.plugins.vllm.main import initialize


def build() -> SpakkyApplication:
    app = SpakkyApplication(ApplicationContext())
    initialize(app)
    agent.initialize(app)
    return app


@pytest.mark.requirement("PKG-6", "PKG-12")
def test_the_entry_points_name_the_base_part_and_the_contribution() -> None:
    (base,) = entry_points(group="spakky.plugins", name="spakky-vllm")
    (contribution,) = entry_points(group="spakky.contributions.spakky.agent", name="spakky-vllm")

    assert base.load() is initialize
    assert contribution.load() is agent.initialize


@pytest.mark.requirement("VLLM-1", "MODEL-1")
async def test_the_container_gives_a_model_that_works_and_closes_it_at_the_end(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPAKKY_VLLM__BASE_URL", server.base_url)
    monkeypatch.setenv("SPAKKY_VLLM__MODEL", "qwen")
    server.reply(Reply([text("ok"), finish("stop"), DONE]))
    app = build()
    await asyncio.to_thread(app.start)

    model = app.container.get(IAgentModel)
    assert isinstance(model, VllmAgentModel)
    assert app.container.get(VllmSettings).model == "qwen"
    assert (await listen(model, ask())).text == "ok"
    client = (await model._pool.acquire()).http

    await asyncio.to_thread(app.stop)
    async with asyncio.timeout(5):
        while not client.is_closed:
            await asyncio.sleep(0)


def test_a_wrong_setting_stops_the_start_with_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPAKKY_VLLM__MODEL", "qwen")
    monkeypatch.setenv("SPAKKY_VLLM__MAX_CONCURRENCY", "none")
    app = build()

    with pytest.raises(VllmConfigurationError, match="SPAKKY_VLLM__MAX_CONCURRENCY"):
        app.start()


def test_every_public_name_is_there() -> None:
    package = sys.modules["spakky.plugins.vllm"]

    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


def test_without_any_variable_nothing_is_registered_and_the_application_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in list(os.environ):
        if name.startswith("SPAKKY_VLLM__"):
            monkeypatch.delenv(name)
    app = build()

    app.start()

    assert not app.container.contains(IAgentModel)
    assert not app.container.contains(VllmSettings)
    app.stop()
