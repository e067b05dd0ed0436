"""Evidence keeps what the capture setting allows, and nothing raw that is marked."""

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.context import (
    ContextHealthSignal,
    ContextOptimizationAction,
    ContextOptimizationActionKind,
    ContextOptimizationEvidenceStage,
    ContextRotSymptom,
)
from spakky.agent.contracts.evidence import (
    AgentEvidence,
    AgentEvidenceCandidate,
    AgentEvidenceKind,
)
from spakky.agent.contracts.tool_metadata import EvidenceCapture
from spakky.agent.error import AgentValueError
from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.sensitive import PII, SecretField, SensitiveField, SensitiveFieldDescriptor
from spakky.agent.json_value import JsonObject, digest_value

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MAIL = SensitiveFieldDescriptor(("email",), SensitiveField(PII.EMAIL))
KEY = SensitiveFieldDescriptor(("keys", "*"), SecretField())
RESULT: JsonObject = {"email": "ann@example.org", "keys": ["k-123"], "rows": 7}
FIELDS = (MAIL, KEY)


def capture_result(
    capture: EvidenceCapture,
    policy: EvidenceExposurePolicy | None = None,
    summary: str | None = None,
) -> AgentEvidenceCandidate:
    return AgentEvidenceCandidate.tool_result(
        tool_identity="app:Crm.find",
        tool_schema_name="crm.find",
        result=RESULT,
        capture=capture,
        sensitive_fields=FIELDS,
        exposure_policy=policy,
        summary=summary,
    )


@pytest.mark.requirement("EVID-1")
def test_evidence_cannot_be_changed() -> None:
    payload = {"a": 1}
    evidence = AgentEvidence("e1", "r1", AgentEvidenceKind.TOOL, payload)
    payload["a"] = 2
    assert evidence.payload == {"a": 1}
    with pytest.raises(FrozenInstanceError):
        # The assignment is what must fail.
        evidence.summary = "x"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"id": " "}, "AgentEvidence.id"),
        ({"agent_state_id": ""}, "AgentEvidence.agent_state_id"),
        ({"kind": "tool"}, "AgentEvidence.kind"),
        ({"digest": " "}, "AgentEvidence.digest"),
        ({"manifest_ref": ""}, "AgentEvidence.manifest_ref"),
        ({"reference": ""}, "AgentEvidence.reference"),
        ({"payload": "x"}, "AgentEvidence.payload"),
        ({"created_at": NOON.replace(tzinfo=None)}, "AgentEvidence.created_at"),
    ],
)
def test_evidence_that_no_store_could_give_back_is_refused(
    wrong: dict[str, Any], part: str
) -> None:
    given_fields: dict[str, Any] = {
        "id": "e1",
        "agent_state_id": "r1",
        "kind": AgentEvidenceKind.TOOL,
        **wrong,
    }
    with pytest.raises(AgentValueError, match=part):
        AgentEvidence(**given_fields)


@pytest.mark.parametrize("name", ["kind", "digest", "manifest_ref", "reference"])
def test_a_candidate_is_checked_like_evidence(name: str) -> None:
    given_fields: dict[str, Any] = {"kind": AgentEvidenceKind.TOOL, name: " "}
    with pytest.raises(AgentValueError, match=f"AgentEvidenceCandidate.{name}"):
        AgentEvidenceCandidate(**given_fields)


@pytest.mark.requirement("EVID-2")
def test_a_candidate_becomes_evidence_with_an_id_a_run_and_a_time() -> None:
    candidate = AgentEvidenceCandidate(
        AgentEvidenceKind.MODEL, {"a": 1}, "sum", "sha256:0", "m1", "ref", FIELDS
    )
    evidence = candidate.to_evidence(evidence_id="e1", agent_state_id="r1", created_at=NOON)
    assert evidence == AgentEvidence(
        "e1", "r1", AgentEvidenceKind.MODEL, {"a": 1}, "sum", "sha256:0", "m1", "ref", FIELDS, NOON
    )


@pytest.mark.requirement("EVID-7")
def test_capture_none_keeps_only_that_the_tool_answered() -> None:
    candidate = capture_result(EvidenceCapture.NONE)
    assert candidate.payload == {
        "tool_identity": "app:Crm.find",
        "tool_schema_name": "crm.find",
        "capture": "none",
    }
    assert (candidate.digest, candidate.summary) == (None, None)


@pytest.mark.requirement("EVID-7")
def test_capture_by_reference_keeps_only_a_digest() -> None:
    candidate = capture_result(EvidenceCapture.REFERENCE_ONLY)
    assert candidate.payload["digest"] == candidate.digest
    assert set(candidate.payload) == {"tool_identity", "tool_schema_name", "capture", "digest"}


@pytest.mark.requirement("EVID-7")
def test_a_summary_stores_no_result_and_repeats_no_marked_value() -> None:
    written = capture_result(EvidenceCapture.SUMMARY, summary="found ann@example.org with k-123")
    assert written.summary == "found [REDACTED] with [REDACTED]"
    assert written.payload["summary"] == written.summary
    own = capture_result(EvidenceCapture.SUMMARY)
    assert own.summary == f"crm.find answered with {own.payload['size']} characters of JSON."
    for candidate in (written, own):
        assert "rows" not in repr(candidate.payload)


@pytest.mark.requirement("EVID-2", "EVID-3", "SAFE-6")
@pytest.mark.parametrize(
    "capture", [EvidenceCapture.STRUCTURED, EvidenceCapture.RAW, EvidenceCapture.REDACTED]
)
def test_a_kept_result_holds_substitutes_for_marked_values(capture: EvidenceCapture) -> None:
    candidate = capture_result(capture)
    assert candidate.kind is AgentEvidenceKind.TOOL
    assert "ann@example.org" not in repr(candidate)
    assert "k-123" not in repr(candidate)
    result: Any = candidate.payload["result"]
    assert result["rows"] == 7
    assert candidate.sensitive_fields == FIELDS
    assert candidate.digest == digest_value(result)


@pytest.mark.parametrize("capture", [EvidenceCapture.STRUCTURED, EvidenceCapture.RAW])
def test_a_policy_shows_personal_data_but_never_a_secret(capture: EvidenceCapture) -> None:
    policy = EvidenceExposurePolicy(include_pii_values=True, include_sensitive_values=True)
    result: Any = capture_result(capture, policy).payload["result"]
    assert result["email"] == "ann@example.org"
    assert "k-123" not in repr(result)


def test_a_redacted_capture_shows_nothing_marked_under_any_policy() -> None:
    policy = EvidenceExposurePolicy(include_pii_values=True, include_sensitive_values=True)
    assert "ann@example.org" not in repr(capture_result(EvidenceCapture.REDACTED, policy))


def test_the_digest_says_nothing_about_a_secret() -> None:
    def digest_with(secret: str) -> str | None:
        return AgentEvidenceCandidate.tool_result(
            tool_identity="t",
            tool_schema_name="t",
            result={"keys": [secret]},
            capture=EvidenceCapture.REFERENCE_ONLY,
            sensitive_fields=(KEY,),
        ).digest

    assert digest_with("k-1") == digest_with("k-2")


def test_descriptors_are_left_out_where_the_policy_says_so() -> None:
    policy = EvidenceExposurePolicy(include_sensitive_metadata=False)
    assert capture_result(EvidenceCapture.RAW, policy).sensitive_fields == ()


@pytest.mark.requirement("EVID-3", "SAFE-4")
@given(
    secret=st.integers(10**11, 10**12).map("s{}".format),
    capture=st.sampled_from(EvidenceCapture),
    summary=st.none() | st.text(max_size=5),
)
def test_no_candidate_holds_a_raw_secret(
    secret: str, capture: EvidenceCapture, summary: str | None
) -> None:
    candidate = AgentEvidenceCandidate.tool_result(
        tool_identity="t",
        tool_schema_name="t",
        result={"keys": {"a": secret, "b": [secret]}, "n": 1},
        capture=capture,
        sensitive_fields=(KEY,),
        summary=None if summary is None else summary + secret,
    )
    assert secret not in repr(candidate)


@pytest.mark.parametrize("wrong", [float("nan"), {1, 2}, object(), {1: 2, "a": 3}])
def test_a_result_that_is_no_json_is_refused_by_the_tools_name(wrong: Any) -> None:
    with pytest.raises(AgentValueError, match=r"result of tool 'crm\.find' is not JSON"):
        AgentEvidenceCandidate.tool_result(
            tool_identity="app:Crm.find",
            tool_schema_name="crm.find",
            result={"x": wrong},
            capture=EvidenceCapture.RAW,
        )


@pytest.mark.requirement("EVID-2")
def test_decisions_of_models_and_about_tools_become_candidates() -> None:
    decision: JsonObject = {"calls": ["crm.find"]}
    of_model = AgentEvidenceCandidate.model_decision(model="m", decision=decision, summary="s")
    of_tool = AgentEvidenceCandidate.tool_decision(tool_identity="t", decision=decision)
    assert (of_model.kind, of_tool.kind) == (AgentEvidenceKind.MODEL, AgentEvidenceKind.TOOL)
    assert of_model.payload == {"model": "m", "decision": decision}
    assert of_tool.payload == {"tool_identity": "t", "decision": decision}
    assert of_model.digest == of_tool.digest == digest_value(decision)
    assert (of_model.summary, of_tool.summary) == ("s", None)


def test_a_decision_that_is_no_json_is_refused() -> None:
    wrong: Any = {"x": object()}
    with pytest.raises(AgentValueError, match="decision of model 'm' is not JSON"):
        AgentEvidenceCandidate.model_decision(model="m", decision=wrong)
    with pytest.raises(AgentValueError, match="decision about tool 't' is not JSON"):
        AgentEvidenceCandidate.tool_decision(tool_identity="t", decision=wrong)


def test_an_optimisation_of_the_context_becomes_a_candidate_with_its_signals() -> None:
    action = ContextOptimizationAction(
        "o1",
        ContextOptimizationActionKind.COMPRESSION,
        manifest_ref="m1",
        result_evidence_ref="e9",
    )
    signal = ContextHealthSignal("h1", ContextRotSymptom.OVER_BUDGET)
    candidate = AgentEvidenceCandidate.context_optimization(
        action=action,
        stage=ContextOptimizationEvidenceStage.BEFORE,
        signals=(signal,),
        summary="too long",
    )
    assert candidate.kind is AgentEvidenceKind.CONTEXT_OPTIMIZATION
    assert candidate.payload["stage"] == "before"
    assert candidate.payload["action"] == action.evidence_payload()
    assert candidate.payload["signals"] == (signal.evidence_payload(),)
    assert (candidate.manifest_ref, candidate.reference) == ("m1", "e9")
