"""The choice of what carries the requests."""

import ssl
from importlib.machinery import ModuleSpec

import httpx
import pytest

from spakky.plugins.vllm import (
    HttpTransport,
    VllmAgentModel,
    VllmConfigurationError,
    VllmSettings,
    transports,
)
from spakky.plugins.vllm.transports import make_transport


def test_httpx_makes_its_own_transport() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    assert make_transport(HttpTransport.HTTPX, tls, httpx.Limits()) is None


def test_a_transport_that_is_not_installed_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find_nothing(_: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(transports, "find_spec", find_nothing)

    with pytest.raises(VllmConfigurationError, match=r"install spakky-vllm\[aiohttp\]"):
        VllmAgentModel(model="m", transport=HttpTransport.AIOHTTP)


def test_the_settings_choose_the_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPAKKY_VLLM__MODEL", "m")
    monkeypatch.setenv("SPAKKY_VLLM__TRANSPORT", "aiohttp")

    assert VllmSettings.load().transport is HttpTransport.AIOHTTP

    monkeypatch.setenv("SPAKKY_VLLM__TRANSPORT", "carrier pigeon")
    with pytest.raises(VllmConfigurationError, match="SPAKKY_VLLM__TRANSPORT"):
        VllmSettings.load()


def test_a_transport_alone_configures_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPAKKY_VLLM__TRANSPORT", "httpx")

    with pytest.raises(VllmConfigurationError, match="SPAKKY_VLLM__MODEL is not set"):
        VllmSettings.load()
