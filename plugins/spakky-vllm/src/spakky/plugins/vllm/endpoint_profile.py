"""A profile: one model server with everything that is particular to it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Self
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SecretStr,
    field_validator,
    model_validator,
)

from spakky.agent.contracts.model_request import ModelCapability

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
PositiveCount = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]

# What the adapter itself writes into a request; an extra body that set one of these would break the conversation.
_OWN_FIELDS = frozenset(
    {
        "messages",
        "model",
        "n",
        "response_format",
        "stream",
        "stream_options",
        "tool_choice",
        "tools",
    }
)
_OWN_HEADERS = frozenset(
    {"authorization", "accept", "accept-encoding", "content-length", "content-type", "host"}
)


class ProfilePart(BaseModel):
    """Base of the parts of a profile: read-only, closed, and silent about the values in its errors."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True
    )


class VllmTimeouts(ProfilePart):
    """How long a request may wait, in seconds; None waits without end.

    Attributes:
        connect_seconds: For the connection.
        first_delta_seconds: From the request to the first event of a stream, the server's queue included.
        idle_seconds: Between two events of a stream. Comments that keep the connection alive are no events.
        usage_seconds: For the token counts that come after the end of the text; without them the answer is complete too.
        total_seconds: For the whole request, all attempts and waits included.
    """

    connect_seconds: Seconds | None = 10.0
    first_delta_seconds: Seconds | None = 120.0
    idle_seconds: Seconds | None = 60.0
    usage_seconds: Seconds = 5.0
    total_seconds: Seconds | None = 600.0


class VllmRetry(ProfilePart):
    """When a failed request is sent again; never after something of the answer was handed out.

    Attributes:
        max_attempts: The most requests for one answer; 1 never retries.
        base_seconds: The wait before the second request; it doubles with each further one, and half of it is random.
        max_seconds: The longest such wait.
        max_retry_after_seconds: The longest wait that a server may ask for; when it asks for more, the request fails at once.
    """

    max_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    base_seconds: Seconds = 0.5
    max_seconds: Seconds = 8.0
    max_retry_after_seconds: Annotated[float, Field(ge=0, le=86_400)] = 60.0


class VllmCapability(ProfilePart):
    """What a model can do; the fields are those of ``ModelCapability``."""

    supports_reasoning: bool = False
    context_window_tokens: PositiveCount | None = None
    supports_token_counting: bool = False

    def to_model_capability(self) -> ModelCapability:
        """Give it as the port's value."""
        return ModelCapability(
            self.supports_reasoning, self.context_window_tokens, self.supports_token_counting
        )


class MaxTokensField(StrEnum):
    """The name under which a server takes the limit of the answer."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class StructuredOutputForm(StrEnum):
    """How a server is told the schema of the answer.

    Attributes:
        JSON_SCHEMA: ``response_format`` of type ``json_schema``.
        JSON_OBJECT: ``response_format`` of type ``json_object``: any object; the schema is not sent.
        STRUCTURED_OUTPUTS: The field ``structured_outputs`` of newer vLLM servers.
        GUIDED_JSON: The field ``guided_json`` of older vLLM servers.
        NONE: Nothing is sent; the caller's prompt has to do.
    """

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    STRUCTURED_OUTPUTS = "structured_outputs"
    GUIDED_JSON = "guided_json"
    NONE = "none"


class SystemRole(StrEnum):
    """The role under which a server takes directives."""

    SYSTEM = "system"
    DEVELOPER = "developer"


class VllmDialect(ProfilePart):
    """In what a server differs from the others.

    Attributes:
        max_tokens_field: The name of the token limit.
        structured_output: How it is told the schema of the answer.
        system_role: Its role for directives.
        stream_usage: Whether it knows ``stream_options.include_usage``.
        strict_tools: Whether it is sent ``"strict": true`` for the tools whose schemas allow it.
        api_key_header: The header for the key; ``Authorization`` takes it as a bearer token, any other one as it is.
    """

    max_tokens_field: MaxTokensField = MaxTokensField.MAX_TOKENS
    structured_output: StructuredOutputForm = StructuredOutputForm.JSON_SCHEMA
    system_role: SystemRole = SystemRole.SYSTEM
    stream_usage: bool = True
    strict_tools: bool = True
    api_key_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")] = "Authorization"


class VllmOptions(ProfilePart):
    """Defaults of a request; what the request itself says comes first. None sends nothing.

    Attributes:
        temperature: Zero or above.
        top_p: From 0 to 1.
        max_tokens: The most tokens of an answer.
        seed: For repeatable answers.
        stop: Texts that end the answer.
        presence_penalty: From -2 to 2.
        frequency_penalty: From -2 to 2.
        reasoning_effort: In the server's words, for example ``low``.
        parallel_tool_calls: Whether the model may ask for several calls at once.
        logprobs: Whether the probabilities of the tokens are asked for; they come as metadata of the last event.
        top_logprobs: For how many alternatives of each token.
    """

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: PositiveCount | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    reasoning_effort: Text | None = None
    parallel_tool_calls: bool | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None


class VllmProfile(ProfilePart):
    """One model server.

    Attributes:
        base_url: Its address up to and without ``/chat/completions``. Credentials in it become ``url_credentials``.
        model: The model's name on the wire.
        api_key: Sent as ``Authorization: Bearer ...``, unless the dialect names another header.
        url_credentials: ``user:password`` for HTTP basic authentication.
        provider: The name by which a ``ModelSelection`` finds the server.
        capability: What the model can do.
        models: What other models at the same server can do, by their names on the wire.
        headers: Further headers; their values are taken as secrets.
        query: Query parameters of every request, for example an API version. Not for credentials: addresses are logged.
        extra_body: Further fields of every request; a field that the adapter writes itself is refused.
        options: Defaults of a request.
        dialect: In what the server differs.
        timeouts: How long a request may wait.
        retry: When a failed request is sent again.
        max_concurrency: The most requests at a time, per event loop; further ones wait. None sets no bound.
        fallbacks: Profiles that are tried in order, when this one fails before its answer began and may be retried.
    """

    base_url: str = "http://127.0.0.1:8000/v1"
    model: Text
    api_key: SecretStr | None = None
    url_credentials: SecretStr | None = None
    provider: Text = "vllm"
    capability: VllmCapability = VllmCapability()
    models: dict[str, VllmCapability] = {}
    headers: dict[str, SecretStr] = {}
    query: dict[str, str] = {}
    extra_body: dict[str, JsonValue] = {}
    options: VllmOptions = VllmOptions()
    dialect: VllmDialect = VllmDialect()
    timeouts: VllmTimeouts = VllmTimeouts()
    retry: VllmRetry = VllmRetry()
    max_concurrency: PositiveCount | None = None
    fallbacks: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _split_credentials(cls, data: object) -> object:
        if not isinstance(data, Mapping) or not isinstance(data.get("base_url"), str):
            return data
        return {**data, **split_base_url(data["base_url"])}

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, value: str) -> str:
        return check_base_url(value)

    @field_validator("api_key", "url_credentials")
    @classmethod
    def _check_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            check_header_value(value.get_secret_value())
        return value

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        return check_headers(value)

    @field_validator("extra_body")
    @classmethod
    def _check_extra_body(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        taken = sorted(_OWN_FIELDS & set(value))
        if taken:
            message = f"the adapter writes {', '.join(taken)} itself; remove it"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _check_key_header(self) -> Self:
        header = self.dialect.api_key_header.lower()
        if self.api_key is not None and header in {name.lower() for name in self.headers}:
            message = f"headers sets {header} and so does api_key; keep one"
            raise ValueError(message)
        return self

    def secrets(self) -> tuple[str, ...]:
        """Give the values that no message may show."""
        values = [self.api_key, self.url_credentials, *self.headers.values()]
        texts = [value.get_secret_value() for value in values if value is not None]
        if self.url_credentials is not None:
            texts.append(self.url_credentials.get_secret_value().partition(":")[2])
        texts.extend(text.removeprefix("Bearer ") for text in tuple(texts))
        # Words of one or two letters are no secrets, and replacing them would leave nothing to read.
        return tuple(dict.fromkeys(text for text in texts if len(text) > 2))


def split_base_url(base_url: str) -> dict[str, str]:
    """Take the credentials out of an address, so that nothing that shows the address shows them.

    Returns:
        The fields ``base_url`` and, when there were any, ``url_credentials``.
    """
    try:
        parts = urlsplit(base_url.strip())
    except ValueError:
        return {}
    if "@" not in parts.netloc:
        return {"base_url": base_url.strip()}
    credentials, _, host = parts.netloc.rpartition("@")
    return {
        "base_url": urlunsplit(parts._replace(netloc=host)),
        "url_credentials": unquote(credentials),
    }


def check_base_url(value: str) -> str:
    """Refuse an address that no request can be sent to.

    Raises:
        ValueError: It is no http or https address, or has a query or fragment.
    """
    message = "must be an address like http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        httpx.URL(value)
    except (ValueError, httpx.InvalidURL):
        # The parsers' own words may quote the address.
        raise ValueError(message) from None
    if not usable or not value.isascii() or any(character.isspace() for character in value):
        raise ValueError(message)
    if parts.query or parts.fragment:
        message = "must have no query and no fragment; use query for parameters"
        raise ValueError(message)
    return value.rstrip("/")


def check_header_value(value: str) -> None:
    """Refuse what cannot stand in a header, a blank text included.

    Raises:
        ValueError: The value holds a line break or another character outside printable ASCII, or is blank.
    """
    if not value.strip() or not value.isascii() or not value.isprintable():
        message = "must be printable ASCII and not blank"
        raise ValueError(message)


def check_headers(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    """Refuse headers that cannot be sent or that the adapter writes itself.

    Raises:
        ValueError: A name or value is not allowed.
    """
    for name, value in headers.items():
        if not name.isascii() or not name.replace("-", "a").replace("_", "a").isalnum():
            message = f"{name!r} is no name of a header"
            raise ValueError(message)
        if name.lower() in _OWN_HEADERS - {"authorization"}:
            message = f"the adapter writes {name} itself; remove it"
            raise ValueError(message)
        check_header_value(value.get_secret_value())
    return headers
