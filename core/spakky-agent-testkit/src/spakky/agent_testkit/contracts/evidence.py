"""The contract of ``IAgentEvidenceRepository``."""
# ruff: noqa: S101  # a suite asserts

import asyncio

import pytest

from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.error import AgentPersistenceError, AgentRecordNotFoundError
from spakky.agent.guards.sensitive import (
    PII,
    DataSensitivity,
    MaskingPolicy,
    RedactionPolicy,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import JsonObject
from spakky.agent_testkit.contracts.shared import (
    AWKWARD_TEXT,
    EARLY,
    PortContract,
    PortsUnderTest,
    deep_object,
    make_evidence,
    random_ids,
)


class EvidenceRepositoryContract(PortContract):
    """Evidence is appended and read, in the order of appends, and never changed."""

    async def test_unknown_evidence_is_an_error_and_unknown_lists_are_empty(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """By id, by run and by manifest."""
        with pytest.raises(AgentRecordNotFoundError):
            await ports.evidence.get(key)
        assert not await ports.evidence.list_by_state(key)
        assert not await ports.evidence.list_by_manifest_ref(key)

    @pytest.mark.parametrize("kind", list(AgentEvidenceKind))
    async def test_evidence_comes_back_as_it_was_appended(
        self, ports: PortsUnderTest, key: str, kind: AgentEvidenceKind
    ) -> None:
        """Every field, with the markers of sensitive parts."""
        fields = (
            SensitiveFieldDescriptor(
                ("to", "*"),
                SensitiveField(PII.EMAIL, MaskingPolicy.HASH, RedactionPolicy.DROP, label="mail"),
            ),
            SensitiveFieldDescriptor(("note",), SensitiveField(DataSensitivity.CONFIDENTIAL)),
            SensitiveFieldDescriptor((), SecretField(label="key", metadata={"vault": "main"})),
        )
        evidence = AgentEvidence(
            f"{key}-1",
            key,
            kind,
            payload=deep_object(),
            summary=AWKWARD_TEXT,
            digest="sha256:00",
            manifest_ref=f"{key}-manifest",
            reference="reference",
            sensitive_fields=fields,
            created_at=EARLY,
        )
        assert await ports.evidence.append(evidence) == evidence
        assert await ports.evidence.get(f"{key}-1") == evidence
        assert list(await ports.evidence.list_by_state(key)) == [evidence]
        assert list(await ports.evidence.list_by_manifest_ref(f"{key}-manifest")) == [evidence]

    async def test_evidence_without_a_time_gets_the_stores(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """With a zone; what is returned is what is stored."""
        stored = await ports.evidence.append(make_evidence(f"{key}-1", key))
        assert stored.created_at is not None
        assert stored.created_at.tzinfo is not None
        assert await ports.evidence.get(f"{key}-1") == stored

    async def test_a_nul_character_does_not_stop_evidence(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A store may replace it; then the returned value shows it."""
        stored = await ports.evidence.append(
            make_evidence(f"{key}-1", key, payload={"k": "a\x00b"})
        )
        assert await ports.evidence.get(f"{key}-1") == stored

    async def test_evidence_of_a_run_is_listed_in_append_order(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """A hundred with equal times and random ids."""
        ids = random_ids(key, 100)
        for evidence_id in ids:
            await ports.evidence.append(make_evidence(evidence_id, key, created_at=EARLY))
        await ports.evidence.append(make_evidence(f"{key}-other", f"{key}-other-run"))
        assert [item.id for item in await ports.evidence.list_by_state(key)] == ids

    async def test_evidence_of_a_manifest_is_listed_in_append_order_over_all_runs(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Without times; other manifests and none are not among it."""
        ids = random_ids(key, 20)
        for number, evidence_id in enumerate(ids):
            reference = (f"{key}-even", f"{key}-odd", None)[number % 3]
            run = f"{key}-run-{number % 2}"
            await ports.evidence.append(make_evidence(evidence_id, run, manifest_ref=reference))
        listed = await ports.evidence.list_by_manifest_ref(f"{key}-even")
        assert [item.id for item in listed] == ids[::3]

    async def test_a_second_piece_with_an_id_is_refused(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """The first stays as it is."""
        first = await ports.evidence.append(make_evidence(f"{key}-1", key, payload={"n": 1}))
        with pytest.raises(AgentPersistenceError):
            await ports.evidence.append(make_evidence(f"{key}-1", key, payload={"n": 2}))
        assert await ports.evidence.get(f"{key}-1") == first
        assert list(await ports.evidence.list_by_state(key)) == [first]

    async def test_a_correction_is_an_append_and_leaves_the_first_unchanged(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Both are kept, in order."""
        first = await ports.evidence.append(make_evidence(f"{key}-1", key, payload={"n": 1}))
        payload: JsonObject = {"corrects": f"{key}-1", "n": 2}
        second = await ports.evidence.append(make_evidence(f"{key}-2", key, payload=payload))
        assert await ports.evidence.get(f"{key}-1") == first
        assert list(await ports.evidence.list_by_state(key)) == [first, second]

    async def test_appends_of_several_tasks_are_all_kept(
        self, ports: PortsUnderTest, key: str
    ) -> None:
        """Each task's own order too."""

        async def append(writer: int) -> None:
            for number in range(10):
                await ports.evidence.append(make_evidence(f"{key}-{writer}-{number}", key))

        await asyncio.gather(*(append(writer) for writer in range(4)))
        ids = [item.id for item in await ports.evidence.list_by_state(key)]
        assert len(ids) == 40
        for writer in range(4):
            own = [item_id for item_id in ids if item_id.startswith(f"{key}-{writer}-")]
            assert own == [f"{key}-{writer}-{number}" for number in range(10)]
