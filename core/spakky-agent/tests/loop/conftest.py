"""Fixtures of the tests of whole runs."""

from collections.abc import Callable
from functools import partial

import pytest

from spakky.agent_testkit.desk import Bench, make_bench
from spakky.agent_testkit.memory import MemoryPorts


@pytest.fixture
def ports() -> MemoryPorts:
    return MemoryPorts()


@pytest.fixture
def build(ports: MemoryPorts) -> Callable[..., Bench]:
    """Give a maker of benches over one store."""
    return partial(make_bench, ports)
