import subprocess
import sys

import pytest

from spakky.agent.guards.exposure import ContextExposurePolicy, EvidenceExposurePolicy
from spakky.agent.guards.sensitive import PII, DataSensitivity, SecretField, SensitiveField

type Field = SensitiveField | SecretField

SECRETS: list[Field] = [SecretField(), SensitiveField(DataSensitivity.SECRET)]
PERSONAL: list[Field] = [SensitiveField(PII.EMAIL), SensitiveField(DataSensitivity.PII)]
OTHER: list[Field] = [
    SensitiveField(DataSensitivity.CONFIDENTIAL),
    SensitiveField(DataSensitivity.PUBLIC),
]


@pytest.mark.parametrize("policy_type", [ContextExposurePolicy, EvidenceExposurePolicy])
@pytest.mark.requirement("SAFE-3")
def test_a_default_policy_exposes_no_value(
    policy_type: type[ContextExposurePolicy | EvidenceExposurePolicy],
) -> None:
    policy = policy_type()

    assert not any(policy.can_expose_value(field) for field in SECRETS + PERSONAL + OTHER)


@pytest.mark.parametrize("policy_type", [ContextExposurePolicy, EvidenceExposurePolicy])
@pytest.mark.requirement("SAFE-3")
def test_each_flag_exposes_its_own_kind_and_never_a_secret(
    policy_type: type[ContextExposurePolicy | EvidenceExposurePolicy],
) -> None:
    personal = policy_type(include_pii_values=True)
    other = policy_type(include_sensitive_values=True)
    both = policy_type(include_pii_values=True, include_sensitive_values=True)

    assert [personal.can_expose_value(field) for field in PERSONAL + OTHER] == [
        True,
        True,
        False,
        False,
    ]
    assert [other.can_expose_value(field) for field in PERSONAL + OTHER] == [
        False,
        False,
        True,
        True,
    ]
    assert not any(both.can_expose_value(field) for field in SECRETS)


@pytest.mark.requirement("SAFE-3")
def test_the_guarded_value_is_the_same_in_another_process() -> None:
    code = (
        "from spakky.agent.guards.exposure import EvidenceExposurePolicy as P\n"
        "from spakky.agent.guards.redact import redact_fields\n"
        "from spakky.agent.guards.sensitive import *\n"
        "d = [SensitiveFieldDescriptor(('a',), SensitiveField(PII.NAME, MaskingPolicy.HASH)),"
        " SensitiveFieldDescriptor(('b', '*'), SecretField())]\n"
        "print(redact_fields({'a': 'Anna', 'b': ['x', 'y']}, d, P().can_expose_value))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for _ in range(2)
    }

    assert len(outputs) == 1
    assert "Anna" not in outputs.pop()
