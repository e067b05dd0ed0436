"""Contract suites of the persistence ports: every implementation runs the same tests.

A suite is a class. A test module names a fixture ``ports`` (see ``PortsUnderTest``) and subclasses the suite with a
name that starts with ``Test``::

    @pytest.fixture
    def ports() -> MemoryPorts:
        return MemoryPorts()


    class TestStates(StateRepositoryContract):
        pass

The suites are coroutines; they need pytest and pytest-asyncio in auto mode.
"""

import pytest

# The suites are no test modules by name, so pytest has to be told to explain their assertions, before it sees them.
_SUITES = ("evidence", "leases", "signals", "states", "task_store", "transcripts", "unit_of_work")
pytest.register_assert_rewrite(*(f"{__name__}.{suite}" for suite in _SUITES))

from spakky.agent_testkit.contracts.evidence import EvidenceRepositoryContract  # noqa: E402  # after the registration
from spakky.agent_testkit.contracts.shared import PortsUnderTest  # noqa: E402  # likewise
from spakky.agent_testkit.contracts.signals import SignalRepositoryContract  # noqa: E402  # likewise
from spakky.agent_testkit.contracts.states import StateRepositoryContract  # noqa: E402  # likewise
from spakky.agent_testkit.contracts.task_store import TaskStoreContract  # noqa: E402  # likewise
from spakky.agent_testkit.contracts.transcripts import TranscriptRepositoryContract  # noqa: E402  # likewise
from spakky.agent_testkit.contracts.unit_of_work import UnitOfWorkContract  # noqa: E402  # likewise

__all__ = [
    "EvidenceRepositoryContract",
    "PortsUnderTest",
    "SignalRepositoryContract",
    "StateRepositoryContract",
    "TaskStoreContract",
    "TranscriptRepositoryContract",
    "UnitOfWorkContract",
]
