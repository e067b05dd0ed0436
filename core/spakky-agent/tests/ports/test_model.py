"""The model port: what an adapter gets without writing it."""

from collections.abc import AsyncIterator
from typing import override

from spakky.agent import (
    IAgentModel,
    ModelCapability,
    ModelRequest,
    ModelResponse,
    ModelSelection,
    ModelStreamEvent,
)

CAPABILITY = ModelCapability(context_window_tokens=4096)


class OneBackend(IAgentModel):
    @property
    @override
    def capability(self) -> ModelCapability:
        return CAPABILITY

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        raise NotImplementedError

    @override
    def stream(self, request: ModelRequest) -> AsyncIterator[ModelStreamEvent]:
        raise NotImplementedError


def test_an_adapter_with_one_backend_can_do_the_same_under_every_selection() -> None:
    model = OneBackend()
    assert model.capability_for() is CAPABILITY
    assert model.capability_for(ModelSelection(model="other")) is CAPABILITY
