"""The model adapter: ``IAgentModel`` over any OpenAI-compatible HTTP server."""

from collections.abc import AsyncGenerator, Mapping
from typing import Self, override

from spakky.agent.contracts.model_request import ModelCapability, ModelRequest, ModelSelection
from spakky.agent.contracts.model_stream import (
    ModelResponse,
    ModelStreamEvent,
    ModelStreamEventKind,
)
from spakky.agent.ports.model import IAgentModel
from spakky.plugins.vllm.client import ClientPool
from spakky.plugins.vllm.config import VllmSettings, build_profile
from spakky.plugins.vllm.endpoint_profile import VllmProfile
from spakky.plugins.vllm.error import VllmModelError
from spakky.plugins.vllm.opening import AnswerOpener
from spakky.plugins.vllm.operations import ServedModel, ServerOperations
from spakky.plugins.vllm.request_body import prepare_token_count
from spakky.plugins.vllm.response import ResponseCollector
from spakky.plugins.vllm.router import DEFAULT_PROFILE, ProfileCatalog, Route
from spakky.plugins.vllm.runtime import VllmRuntime
from spakky.plugins.vllm.transports import HttpTransport, require_installed


class VllmAgentModel(IAgentModel):
    """Models behind OpenAI-compatible HTTP servers: vLLM, llama.cpp, SGLang, Ollama, OpenRouter, OpenAI and others.

    For one server, name it::

        VllmAgentModel(base_url="http://127.0.0.1:8000/v1", model="qwen")

    For several, or for anything beyond a key, give profiles; a run chooses one with its ``ModelSelection``::

        VllmAgentModel(profiles={"small": VllmProfile(...), "large": VllmProfile(...)}, default_profile="small")

    Nothing is opened before the first request. One model may be used from any number of event loops.

    Args:
        base_url: The address of the server of the profile ``default``, up to and without ``/chat/completions``.
        model: The name of its model on the wire.
        api_key: Its key.
        capability: What its model can do.
        profiles: Further servers by name.
        default_profile: The profile that is asked when a run selects nothing.
        transport: What carries the requests. AIOHTTP takes less time for each delta; it needs the extra ``aiohttp``.
        runtime: What to take from the surroundings; for tests and for an HTTP transport of your own.

    Raises:
        VllmConfigurationError: A value is wrong, no server is named, or the transport is not installed.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        model: str | None = None,
        api_key: str | None = None,
        capability: ModelCapability | None = None,
        profiles: Mapping[str, VllmProfile] | None = None,
        default_profile: str = DEFAULT_PROFILE,
        transport: HttpTransport = HttpTransport.HTTPX,
        runtime: VllmRuntime | None = None,
    ) -> None:
        named = dict(profiles or {})
        given = {
            "base_url": base_url,
            "model": model,
            "api_key": api_key,
            "capability": None if capability is None else _to_fields(capability),
        }
        own = {name: value for name, value in given.items() if value is not None}
        if own:
            named = {DEFAULT_PROFILE: build_profile(own), **named}
        self._catalog = ProfileCatalog(named, default_profile)
        self._runtime = VllmRuntime() if runtime is None else runtime
        require_installed(transport)
        self._pool = ClientPool(self._catalog.profiles, self._runtime.transport, transport)
        self._opener = AnswerOpener(self._catalog, self._pool, self._runtime)

    @classmethod
    def from_settings(cls, settings: VllmSettings, runtime: VllmRuntime | None = None) -> Self:
        """Make a model from settings.

        Raises:
            VllmConfigurationError: No server is configured.
        """
        catalog = settings.to_catalog()
        return cls(
            profiles=catalog.profiles,
            default_profile=catalog.default,
            transport=settings.transport,
            runtime=runtime,
        )

    @property
    @override
    def capability(self) -> ModelCapability:
        return self.capability_for(None)

    @override
    def capability_for(self, selection: ModelSelection | None = None) -> ModelCapability:
        """Give what the selected model can do.

        Raises:
            VllmModelError: The selection names a profile or provider that is not configured.
        """
        return self._route(selection).capability

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer in one piece. Cancelling the call cuts the request.

        Returns:
            The answer; its metadata holds ``finish_reason``, ``model``, ``response_id`` and, where there was any, ``reasoning``.

        Raises:
            VllmModelError: The answer failed, or is not complete.
        """
        collected = ResponseCollector()
        answer = await self._opener.open(request, streamed=False)
        try:
            while events := await answer.read():
                collected.add(events)
        finally:
            await answer.aclose()
        return collected.to_response()

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent]:
        """Answer piece by piece, as the port says. Closing the iterator cuts the request.

        The last event is DONE, with the token counts and the same metadata as in ``complete``, or ERROR.
        """
        answer = None
        failure: VllmModelError | None = None
        try:
            answer = await self._opener.open(request, streamed=True)
            while events := await answer.read():
                for event in events:
                    yield event
        except VllmModelError as error:
            failure = error
        finally:
            if answer is not None:
                await answer.aclose()
        if failure is not None:
            yield ModelStreamEvent(ModelStreamEventKind.ERROR, error=failure.to_model_error())

    async def count_tokens(self, request: ModelRequest) -> int:
        """Give the number of tokens of a request, by the server's own count (vLLM's ``/tokenize``).

        Raises:
            VllmModelError: The server has no token counter, or the question failed.
        """
        route = self._route(request.model_selection)
        return await self._operations(route).count_tokens(prepare_token_count(request, route))

    async def check_health(self, profile: str | None = None) -> None:
        """Return when a profile's server is well.

        Args:
            profile: The profile's name; None for the default one.

        Raises:
            VllmModelError: The profile is not configured, or its server cannot be reached or is not well.
        """
        await self._operations(self._route(ModelSelection(profile=profile))).check_health()

    async def list_models(self, profile: str | None = None) -> tuple[ServedModel, ...]:
        """Give the models that a profile's server offers.

        Args:
            profile: The profile's name; None for the default one.

        Raises:
            VllmModelError: The profile is not configured, or the question failed.
        """
        return await self._operations(self._route(ModelSelection(profile=profile))).list_models()

    async def aclose(self) -> None:
        """Close the connections; a later request opens new ones."""
        await self._pool.aclose()

    def __repr__(self) -> str:
        names = ", ".join(self._catalog.profiles)
        return f"{type(self).__name__}(profiles: {names}; default: {self._catalog.default})"

    def _route(self, selection: ModelSelection | None) -> Route:
        return self._catalog.plan_routes(selection)[0]

    def _operations(self, route: Route) -> ServerOperations:
        return ServerOperations(route, self._opener.endpoint(route), self._pool)


def _to_fields(capability: ModelCapability) -> dict[str, object]:
    return {
        "supports_reasoning": capability.supports_reasoning,
        "context_window_tokens": capability.context_window_tokens,
        "supports_token_counting": capability.supports_token_counting,
    }
