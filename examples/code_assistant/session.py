"""What one command of the demo works on: a workspace folder and a model server. The run remembers both."""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, override

from spakky.core.pod.annotations.pod import Pod

from code_assistant.exits import refuse_usage
from code_assistant.offline_model import OFFLINE_MODEL, OfflineModelServer
from spakky.agent import (
    AgentModelConfigurationError,
    IAgentModel,
    JsonObject,
    JsonValue,
    ModelCapability,
    ModelRequest,
    ModelResponse,
    ModelSelection,
    ModelStreamEvent,
)
from spakky.plugins.vllm import VllmAgentModel

_SETTINGS_KEY = "code_assistant"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model behind an OpenAI-compatible server.

    Attributes:
        base_url: The server's address, up to and without ``/chat/completions``.
        model: The model's name there.
        api_key_env: The environment variable that holds the key; the key itself is stored nowhere.
    """

    base_url: str
    model: str
    api_key_env: str | None = None

    def open_model(self) -> VllmAgentModel:
        """Make the adapter; nothing is sent yet. The command ends when the variable of the key is not set."""
        key = None
        if self.api_key_env is not None:
            key = os.environ.get(self.api_key_env)
            if not key:
                refuse_usage(
                    f"The variable {self.api_key_env} is not set; put the server's key into it, or correct --api-key-env."
                )
        return VllmAgentModel(base_url=self.base_url, model=self.model, api_key=key)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run needs to be resumed without any option.

    Attributes:
        workspace: The absolute path of the workspace folder.
        server: The model server; None for the offline one.
        instruction: What the run was asked, for lists.
    """

    workspace: Path
    server: ModelServer | None
    instruction: str

    def to_metadata(self) -> JsonObject:
        """Give it as the metadata of a ``RunAgentInput``."""
        server: JsonValue = None
        if self.server is not None:
            server = {
                "base_url": self.server.base_url,
                "model": self.server.model,
                "api_key_env": self.server.api_key_env,
            }
        stored: JsonObject = {
            "workspace": str(self.workspace),
            "server": server,
            "instruction": self.instruction,
        }
        return {_SETTINGS_KEY: stored}

    @classmethod
    def from_metadata(cls, metadata: object) -> Self | None:
        """Read it back; None when there is nothing of the kind."""
        match metadata:
            case {
                "code_assistant": {
                    "workspace": str(workspace),
                    "server": server,
                    "instruction": str(instruction),
                }
            }:
                return cls(Path(workspace), _read_server(server), instruction)
            case _:
                return None


def _read_server(stored: object) -> ModelServer | None:
    match stored:
        case {"base_url": str(base_url), "model": str(model), "api_key_env": str() | None as env}:
            return ModelServer(base_url, model, env)
        case _:
            return None


@Pod(name="code_assistant.session")
class Session:
    """The workspace and the model of the command that is being carried out; open while its run is driven."""

    def __init__(self) -> None:
        self._workspace: Path | None = None
        self._model: IAgentModel | None = None

    @property
    def workspace(self) -> Path:
        """The workspace folder.

        Raises:
            AgentModelConfigurationError: No session is open.
        """
        if self._workspace is None:
            raise _not_open()
        return self._workspace

    @property
    def model(self) -> IAgentModel:
        """The model.

        Raises:
            AgentModelConfigurationError: No session is open.
        """
        if self._model is None:
            raise _not_open()
        return self._model

    @asynccontextmanager
    async def open(self, settings: RunSettings) -> AsyncGenerator[None]:
        """Open workspace and model for the block; the offline server runs for as long.

        The command ends when the workspace is no folder, or a key is missing.
        """
        if not settings.workspace.is_dir():
            refuse_usage(
                f"The workspace folder {settings.workspace} does not exist; name one that does with --workspace."
            )
        self._workspace = settings.workspace
        try:
            if settings.server is not None:
                async with self._use(settings.server):
                    yield
                return
            async with (
                OfflineModelServer() as offline,
                self._use(ModelServer(offline.base_url, OFFLINE_MODEL)),
            ):
                yield
        finally:
            self._workspace = self._model = None

    @asynccontextmanager
    async def _use(self, server: ModelServer) -> AsyncGenerator[None]:
        model = server.open_model()
        self._model = model
        try:
            yield
        finally:
            await model.aclose()


def _not_open() -> AgentModelConfigurationError:
    return AgentModelConfigurationError("No session is open; open one with Session.open() first.")


@Pod(name="code_assistant.model")
class SessionModel(IAgentModel):
    """Hands each request to the model of the open session, so that an agent is injected once and works with any server.

    Args:
        session: What the command works on.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    @override
    def capability(self) -> ModelCapability:
        return self._session.model.capability

    @override
    def capability_for(self, selection: ModelSelection | None = None) -> ModelCapability:
        return self._session.model.capability_for(selection)

    @override
    async def complete(self, request: ModelRequest) -> ModelResponse:
        return await self._session.model.complete(request)

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent]:
        events = self._session.model.stream(request)
        if not isinstance(events, AsyncGenerator):
            async for event in events:
                yield event
            return
        async with aclosing(events):
            async for event in events:
                yield event
