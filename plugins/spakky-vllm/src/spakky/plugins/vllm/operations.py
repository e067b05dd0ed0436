"""What an operator asks a server: whether it is well, which models it serves, and how many tokens a request has."""

from dataclasses import dataclass

import httpx
import msgspec

from spakky.plugins.vllm.client import ClientPool
from spakky.plugins.vllm.deadline import Deadline, DeadlinePassedError
from spakky.plugins.vllm.endpoint import Endpoint
from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError
from spakky.plugins.vllm.faults import plan_http_fault, plan_transport_fault
from spakky.plugins.vllm.router import Route
from spakky.plugins.vllm.target import Target

_MAX_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server offers.

    Attributes:
        name: Its name on the wire.
        context_window_tokens: The size of its window, where the server tells it.
    """

    name: str
    context_window_tokens: int | None = None


class _ModelMeta(msgspec.Struct):
    n_ctx: int | None = None


class _ModelEntry(msgspec.Struct):
    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    meta: _ModelMeta | None = None


class _ModelList(msgspec.Struct):
    data: list[_ModelEntry]


class _TokenCount(msgspec.Struct):
    count: int


class ServerOperations:
    """The questions to one server.

    Args:
        route: The server, and the model that messages name.
        endpoint: Its addresses and headers.
        pool: The HTTP clients.
    """

    def __init__(self, route: Route, endpoint: Endpoint, pool: ClientPool) -> None:
        self._route = route
        self._endpoint = endpoint
        self._pool = pool
        self._target: Target = route.to_target()

    async def check_health(self) -> None:
        """Return when the server is well; a server without a health route is well when it lists its models.

        Raises:
            VllmModelError: It cannot be reached, refuses the credentials, or says that it is not well.
        """
        try:
            await self._ask("GET", self._endpoint.health)
        except VllmModelError as error:
            if error.error_code != ModelErrorCode.NOT_FOUND:
                raise
            await self._ask("GET", self._endpoint.models)

    async def list_models(self) -> tuple[ServedModel, ...]:
        """Give the models that the server offers.

        Raises:
            VllmModelError: It cannot be reached, refuses the credentials, or answers with something else.
        """
        body = await self._ask("GET", self._endpoint.models)
        entries = self._decode(body, _ModelList).data
        return tuple(ServedModel(entry.id, _window_of(entry)) for entry in entries)

    async def count_tokens(self, body: bytes) -> int:
        """Give the number of tokens of a prepared body.

        Raises:
            VllmModelError: The server has no token counter, cannot be reached, or refuses the request.
        """
        return self._decode(
            await self._ask("POST", self._endpoint.tokenize, body), _TokenCount
        ).count

    async def _ask(self, method: str, url: httpx.URL, body: bytes | None = None) -> bytes:
        client = await self._pool.acquire()
        timeouts = self._route.profile.timeouts
        deadline = Deadline(min(timeouts.total_seconds or _MAX_SECONDS, _MAX_SECONDS))
        request = client.http.build_request(
            method,
            url,
            headers=self._endpoint.headers,
            content=body,
            timeout=httpx.Timeout(None, connect=timeouts.connect_seconds),
        )
        try:
            response = await deadline.wait(client.http.send(request))
        except DeadlinePassedError as error:
            what = f"Waited {error.seconds:g} s for an answer, in vain,"
            raise self._target.fault(
                ModelErrorCode.TIMEOUT, what, "Check that the server is well.", retryable=True
            ) from error
        except (httpx.HTTPError, OSError) as error:
            raise plan_transport_fault(error, self._target, answering=False) from error
        finally:
            deadline.close()
        if response.status_code != 200:
            raise plan_http_fault(response.status_code, response.content, self._target)
        return response.content

    def _decode[T](self, body: bytes, shape: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._target.fault(
                ModelErrorCode.PROTOCOL,
                "The server answered with something else than was asked for",
                "Check that the base URL is that of an OpenAI-compatible server.",
            ) from error


def _window_of(entry: _ModelEntry) -> int | None:
    own = entry.meta.n_ctx if entry.meta is not None else None
    return entry.max_model_len or entry.context_length or own
