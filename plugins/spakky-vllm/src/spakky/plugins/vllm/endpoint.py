"""The addresses and headers of a profile: pure."""

from base64 import b64encode
from dataclasses import dataclass, field

import httpx

from spakky.plugins.vllm.endpoint_profile import VllmProfile

_AUTHORIZATION = "authorization"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests to a profile go, and what they carry.

    Attributes:
        chat: The address of chat completions.
        models: That of the list of models.
        health: That of the health check, beside the versioned part of the base address.
        tokenize: That of vLLM's token counter, beside it likewise.
        headers: The headers of every request, credentials included.
    """

    chat: httpx.URL
    models: httpx.URL
    health: httpx.URL
    tokenize: httpx.URL
    headers: dict[str, str] = field(repr=False)


def build_endpoint(profile: VllmProfile) -> Endpoint:
    """Give the addresses and headers of a profile."""
    base = profile.base_url
    root = base.removesuffix("/v1")
    return Endpoint(
        chat=_url(profile, f"{base}/chat/completions"),
        models=_url(profile, f"{base}/models"),
        health=_url(profile, f"{root}/health"),
        tokenize=_url(profile, f"{root}/tokenize"),
        headers=_build_headers(profile),
    )


def _url(profile: VllmProfile, address: str) -> httpx.URL:
    url = httpx.URL(address)
    return url.copy_merge_params(profile.query) if profile.query else url


def _build_headers(profile: VllmProfile) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        # A compressed stream arrives in lumps; servers and proxies that compress all the same are understood.
        "accept-encoding": "identity",
    }
    if profile.url_credentials is not None:
        credentials = profile.url_credentials.get_secret_value().encode()
        headers[_AUTHORIZATION] = f"Basic {b64encode(credentials).decode()}"
    for name, value in profile.headers.items():
        headers[name.lower()] = value.get_secret_value()
    if profile.api_key is not None:
        key = profile.api_key.get_secret_value()
        name = profile.dialect.api_key_header.lower()
        headers[name] = f"Bearer {key}" if name == _AUTHORIZATION else key
    return headers
