"""Fixtures of the test kit's own tests."""

import pytest

from spakky.agent_testkit.memory import MemoryPorts


@pytest.fixture
def ports() -> MemoryPorts:
    """Ports over a fresh store whose clock stands still."""
    return MemoryPorts()
