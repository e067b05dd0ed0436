import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.error import AgentValueError
from spakky.agent.guards.sensitive import (
    PII,
    REDACTED_TEXT,
    CredentialRef,
    DataSensitivity,
    MaskingPolicy,
    RedactionPolicy,
    SecretField,
    SecretRef,
    SensitiveField,
    SensitiveFieldDescriptor,
    mask_text,
)


def wrong(value: object) -> Any:
    """Give a value of a type that the checker would refuse."""
    return value


@pytest.mark.requirement("SAFE-1")
def test_the_markers_are_built_as_the_documents_write_them() -> None:
    field = SensitiveField(PII.EMAIL)

    assert field.category is PII.EMAIL
    assert field.category_name == "email"
    assert field.sensitivity is DataSensitivity.PII
    assert SecretField().sensitivity is DataSensitivity.SECRET


def test_a_category_that_is_a_sensitivity_is_its_own_sensitivity() -> None:
    field = SensitiveField(DataSensitivity.CONFIDENTIAL)

    assert field.sensitivity is DataSensitivity.CONFIDENTIAL
    assert field.category_name == "confidential"


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: SensitiveField(wrong("email")), "category"),
        (lambda: SensitiveField(PII.EMAIL, masking=wrong("redact")), "masking"),
        (lambda: SensitiveField(PII.EMAIL, redaction=wrong("drop")), "redaction"),
        (lambda: SensitiveField(PII.EMAIL, label=" "), "label"),
        (lambda: SecretField(redaction=wrong("drop")), "redaction"),
        (lambda: SecretField(label=""), "label"),
        (lambda: SensitiveFieldDescriptor(wrong("token"), SecretField()), "path"),
        (lambda: SensitiveFieldDescriptor(wrong((1,)), SecretField()), "path"),
        (lambda: SensitiveFieldDescriptor(("token",), wrong("secret")), "field"),
        (lambda: CredentialRef(" "), "CredentialRef.id"),
        (lambda: CredentialRef("id", ""), "CredentialRef.provider"),
        (lambda: SecretRef(""), "SecretRef.id"),
    ],
)
@pytest.mark.requirement("SAFE-1", "SAFE-2")
def test_a_marker_or_reference_built_from_bad_input_is_refused_by_name(
    build: Callable[[], object], word: str
) -> None:
    with pytest.raises(AgentValueError, match=word):
        build()


@pytest.mark.requirement("SAFE-2")
def test_a_reference_shows_names_only() -> None:
    reference = SecretRef("mail-password", CredentialRef("vault", "corp"))

    assert repr(reference) == (
        "SecretRef(id='mail-password', credential=CredentialRef(id='vault', provider='corp'))"
    )


@pytest.mark.parametrize(
    ("text", "masking", "shown"),
    [
        ("anything", MaskingPolicy.REDACT, REDACTED_TEXT),
        ("", MaskingPolicy.REDACT, REDACTED_TEXT),
        ("4111111111111234", MaskingPolicy.LAST_FOUR, "****1234"),
        ("abcdef", MaskingPolicy.LAST_FOUR, "****def"),
        ("a", MaskingPolicy.LAST_FOUR, "****"),
        ("", MaskingPolicy.LAST_FOUR, "****"),
        ("anna", MaskingPolicy.FIRST_LAST, "a****a"),
        ("bob", MaskingPolicy.FIRST_LAST, "****"),
        ("****1234", MaskingPolicy.LAST_FOUR, REDACTED_TEXT),
        ("value", MaskingPolicy.HASH, f"sha256:{sha256(b'value').hexdigest()[:16]}"),
    ],
)
@pytest.mark.requirement("SAFE-4")
def test_a_masked_text_shows_what_its_policy_says(
    text: str, masking: MaskingPolicy, shown: str
) -> None:
    assert SensitiveField(PII.NAME, masking=masking).guard_text(text) == shown


@given(st.text(min_size=1), st.sampled_from(MaskingPolicy))
@pytest.mark.requirement("SAFE-4")
def test_at_most_half_of_a_text_survives_its_mask(text: str, masking: MaskingPolicy) -> None:
    masked = mask_text(text, masking)

    assert masked == mask_text(text, masking)
    if masking is MaskingPolicy.LAST_FOUR and masked.startswith("****"):
        assert len(masked) - 4 <= min(4, len(text) // 2)
    if masked not in {REDACTED_TEXT, "****"}:
        assert text not in masked


def test_the_hash_of_a_text_with_a_lone_surrogate_is_given() -> None:
    assert mask_text("\ud800", MaskingPolicy.HASH).startswith("sha256:")


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (SecretField(), "[REFERENCE:secret]"),
        (SecretField(label="API key"), "[REFERENCE:API key]"),
        (SecretField(RedactionPolicy.REDACT), REDACTED_TEXT),
        (SecretField(RedactionPolicy.DROP), ""),
        (SensitiveField(PII.PHONE, redaction=RedactionPolicy.REFERENCE_ONLY), "[REFERENCE:phone]"),
        (SensitiveField(PII.PHONE, redaction=RedactionPolicy.DROP), ""),
    ],
)
@pytest.mark.requirement("SAFE-4")
def test_the_text_in_place_of_a_value_is_fixed_by_the_redaction_policy(
    field: SensitiveField | SecretField, text: str
) -> None:
    assert field.guard_text("raw-value-1") == text
    assert field.guard_text("raw-value-2") == text


def test_the_description_of_a_descriptor_is_json_and_names_path_and_field() -> None:
    secret = SensitiveFieldDescriptor(("keys", "*"), SecretField(label="key"))
    mail = SensitiveFieldDescriptor((), SensitiveField(PII.EMAIL, metadata={"source": "crm"}))

    assert json.loads(json.dumps(secret.to_metadata())) == {
        "path": ["keys", "*"],
        "field": {
            "kind": "secret",
            "sensitivity": "secret",
            "redaction": "reference_only",
            "label": "key",
            "metadata": {},
        },
    }
    assert json.loads(json.dumps(mail.to_metadata())) == {
        "path": [],
        "field": {
            "kind": "sensitive",
            "category": "email",
            "sensitivity": "pii",
            "masking": "redact",
            "redaction": "redact",
            "label": None,
            "metadata": {"source": "crm"},
        },
    }


def test_a_path_given_as_a_list_is_kept_as_a_tuple() -> None:
    assert SensitiveFieldDescriptor(wrong(["a", "b"]), SecretField()).path == ("a", "b")
