"""Which HTTP library carries the requests: httpx's own transport, or aiohttp below the interface of httpx."""

import ssl
from enum import StrEnum
from importlib.util import find_spec
from typing import assert_never

import httpx

from spakky.plugins.vllm.error import VllmConfigurationError


class HttpTransport(StrEnum):
    """What carries the requests."""

    HTTPX = "httpx"
    AIOHTTP = "aiohttp"


def require_installed(kind: HttpTransport) -> None:
    """Refuse a transport whose library is not there.

    Raises:
        VllmConfigurationError: The extra is not installed.
    """
    if kind is HttpTransport.AIOHTTP and find_spec("aiohttp") is None:
        message = "The transport aiohttp needs the package aiohttp; install spakky-vllm[aiohttp]."
        raise VllmConfigurationError(message)


def make_transport(
    kind: HttpTransport, tls: ssl.SSLContext, limits: httpx.Limits
) -> httpx.AsyncBaseTransport | None:
    """Make the transport of one client; None stands for the one that httpx makes for itself."""
    match kind:
        case HttpTransport.HTTPX:
            return None
        case HttpTransport.AIOHTTP:
            # Optional, so imported where it is used.
            from spakky.plugins.vllm.aiohttp_transport import AiohttpTransport

            return AiohttpTransport(tls, limits)
        case _:
            assert_never(kind)
