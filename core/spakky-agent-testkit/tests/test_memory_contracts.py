"""The ports in memory keep the contracts of the ports."""

import pytest

from spakky.agent_testkit.contracts import (
    EvidenceRepositoryContract,
    SignalRepositoryContract,
    StateRepositoryContract,
    TaskStoreContract,
    TranscriptRepositoryContract,
    UnitOfWorkContract,
)


@pytest.mark.requirement("STATE-1", "STORE-1")
class TestMemoryStates(StateRepositoryContract):
    pass


@pytest.mark.requirement("SIG-7", "SIG-8", "SIG-9", "STORE-2")
class TestMemorySignals(SignalRepositoryContract):
    pass


@pytest.mark.requirement("EVID-1", "EVID-5", "EVID-6")
class TestMemoryEvidence(EvidenceRepositoryContract):
    pass


class TestMemoryTranscripts(TranscriptRepositoryContract):
    pass


@pytest.mark.requirement("STATE-7")
class TestMemoryUnitOfWork(UnitOfWorkContract):
    pass


@pytest.mark.requirement("STORE-3")
class TestMemoryTaskStore(TaskStoreContract):
    pass
