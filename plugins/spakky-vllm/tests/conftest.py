"""Fixtures of the adapter's tests."""

import os
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# The helpers of these tests are modules beside them; the folder is no package, so it is made known here.
sys.path.insert(0, str(Path(__file__).parent))

from vllm_server import ModelServer

from spakky.plugins.vllm import HttpTransport, VllmAgentModel, VllmRuntime

HAS_AIOHTTP = find_spec("aiohttp") is not None
TRANSPORTS = [kind for kind in HttpTransport if HAS_AIOHTTP or kind is not HttpTransport.AIOHTTP]
OVER_EVERY_TRANSPORT = {
    "test_agent_run",
    "test_captures",
    "test_client",
    "test_exchange",
    "test_operations",
    "test_retries",
    "test_timeouts",
    "test_traps",
}

# The live tests need a server of their own; without one there is nothing to collect. Likewise the extra.
collect_ignore = [] if os.environ.get("SPAKKY_VLLM_TEST_BASE_URL") else ["test_live.py"]
if not HAS_AIOHTTP:
    collect_ignore.append("test_aiohttp_transport.py")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what talks to a server over every transport."""
    if metafunc.module.__name__.rpartition(".")[2] in OVER_EVERY_TRANSPORT:
        metafunc.parametrize("transport", TRANSPORTS, indirect=True, ids=str)


@pytest.fixture(autouse=True)
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> HttpTransport:
    """What carries the requests of every model of the test that does not name a transport itself."""
    # Only a test that is run over every transport has a parameter.
    kind = HttpTransport(getattr(request, "param", HttpTransport.HTTPX))
    defaults = VllmAgentModel.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "transport", kind)
    return kind


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep settings and proxies of the machine out of the tests."""
    for name in tuple(os.environ):
        ours = name.upper().startswith("SPAKKY_VLLM__")
        if ours or name.lower() in {"http_proxy", "https_proxy", "all_proxy"}:
            monkeypatch.delenv(name)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """A running server on 127.0.0.1."""
    running = ModelServer()
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[VllmAgentModel]:
    """A model that asks that server, and asks again without a wait."""
    runtime = VllmRuntime(sleep=_wait_for_nothing)
    asking = VllmAgentModel(base_url=server.base_url, model="m", runtime=runtime)
    yield asking
    await asking.aclose()


async def _wait_for_nothing(_: float) -> None:
    """Take the place of the wait between two attempts."""
