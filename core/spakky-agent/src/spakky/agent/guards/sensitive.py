"""Markers for sensitive data: what a value is, and the fixed text that stands in its place.

The markers are metadata for ``typing.Annotated``. They hold no value of the data they mark, and
every substitution is a fixed rule: the same value always gives the same text.
"""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import assert_never

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, freeze_object

REDACTED_TEXT = "[REDACTED]"
"""What stands in the place of a text that must not be seen."""

ANY_KEY = "*"
"""The path element that stands for every item of a list and every value of a mapping."""

_MASK = "****"
_HASH_DIGITS = 16


SECRET_SCHEME = "secret://"  # noqa: S105 - the scheme of references, not a secret
"""How a model names a secret in an argument: the scheme and the secret's id, for example ``secret://payments-key``."""


class PII(StrEnum):
    """Kinds of personal data."""

    NAME = "name"
    EMAIL = "email"
    PHONE = "phone"
    ADDRESS = "address"
    ACCOUNT_ID = "account_id"
    IDENTIFIER = "identifier"
    LOCATION = "location"


class DataSensitivity(StrEnum):
    """How sensitive data is, from harmless to secret."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    PII = "pii"
    SECRET = "secret"  # noqa: S105  # the name of a class of data, not a password


class MaskingPolicy(StrEnum):
    """How a redacted text looks.

    ``REDACT`` shows nothing. ``LAST_FOUR`` shows the last four characters and ``FIRST_LAST`` the
    first and the last one, of a short text never more than half. ``HASH`` gives the start of the
    SHA-256, so that equal values can be told to be equal; whoever can guess the value can check the
    guess, so it hides only values that cannot be guessed.
    """

    REDACT = "redact"
    LAST_FOUR = "last_four"
    FIRST_LAST = "first_last"
    HASH = "hash"


class RedactionPolicy(StrEnum):
    """What happens to a value that must not be seen.

    ``REDACT`` puts the masked text in its place, ``DROP`` takes the value out, ``REFERENCE_ONLY``
    leaves a reference that names the field and never holds any part of the value.
    """

    REDACT = "redact"
    DROP = "drop"
    REFERENCE_ONLY = "reference_only"


@dataclass(frozen=True, slots=True)
class SensitiveField:
    """Marks data that is personal or confidential.

    Attributes:
        category: Which kind of data it is.
        masking: How the redacted text looks; used with ``RedactionPolicy.REDACT``.
        redaction: What happens to a value that must not be seen.
        label: A name for people, for example ``customer e-mail``; None stands for the category. It
            is shown.
        metadata: Extra data of the application. It may be shown; keep values out of it.

    Raises:
        AgentValueError: The category is no member of ``PII`` or ``DataSensitivity``, or the label
            is blank.
    """

    category: PII | DataSensitivity
    masking: MaskingPolicy = MaskingPolicy.REDACT
    redaction: RedactionPolicy = RedactionPolicy.REDACT
    label: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        if not isinstance(self.category, PII | DataSensitivity):
            kind = type(self.category).__name__
            message = (
                f"SensitiveField.category must be a member of PII or DataSensitivity, not {kind}."
            )
            raise AgentValueError(message)
        if not isinstance(self.masking, MaskingPolicy):
            kind = type(self.masking).__name__
            message = f"SensitiveField.masking must be a member of MaskingPolicy, not {kind}."
            raise AgentValueError(message)
        _check_marker(self.redaction, self.label, "SensitiveField")
        object.__setattr__(self, "metadata", freeze_object(self.metadata))

    @property
    def sensitivity(self) -> DataSensitivity:
        """How sensitive the data is; every kind of personal data is ``DataSensitivity.PII``."""
        return DataSensitivity.PII if isinstance(self.category, PII) else self.category

    @property
    def category_name(self) -> str:
        """The category's value, for example ``email``."""
        return self.category.value

    @property
    def reference_name(self) -> str:
        """The label, or without one the category: how a reference names the field."""
        return self.label or self.category_name

    def guard_text(self, value: str) -> str:
        """Give the text that stands in the place of a value; empty when the field is dropped."""
        return _guard_text(value, self.redaction, self.masking, self.reference_name)

    def to_metadata(self) -> JsonObject:
        """Describe the marker as a JSON object; no value of the data is in it."""
        return freeze_object(
            {
                "kind": "sensitive",
                "category": self.category_name,
                "sensitivity": self.sensitivity.value,
                "masking": self.masking.value,
                "redaction": self.redaction.value,
                "label": self.label,
                "metadata": self.metadata,
            }
        )


@dataclass(frozen=True, slots=True)
class SecretField:
    """Marks a secret: a key, a password, a token. No exposure policy ever shows its value.

    Attributes:
        redaction: What happens to the value.
        label: A name for people, for example ``API key``; None stands for ``secret``. It is shown.
        metadata: Extra data of the application. It may be shown; keep values out of it.

    Raises:
        AgentValueError: The label is blank.
    """

    redaction: RedactionPolicy = RedactionPolicy.REFERENCE_ONLY
    label: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        _check_marker(self.redaction, self.label, "SecretField")
        object.__setattr__(self, "metadata", freeze_object(self.metadata))

    @property
    def sensitivity(self) -> DataSensitivity:
        """Always ``DataSensitivity.SECRET``."""
        return DataSensitivity.SECRET

    @property
    def reference_name(self) -> str:
        """The label, or without one ``secret``: how a reference names the field."""
        return self.label or DataSensitivity.SECRET.value

    def guard_text(self, value: str) -> str:
        """Give the text that stands in the place of a value; it never holds a part of it. Empty
        when dropped.
        """
        return _guard_text(value, self.redaction, MaskingPolicy.REDACT, self.reference_name)

    def to_metadata(self) -> JsonObject:
        """Describe the marker as a JSON object; no value of the data is in it."""
        return freeze_object(
            {
                "kind": "secret",
                "sensitivity": self.sensitivity.value,
                "redaction": self.redaction.value,
                "label": self.label,
                "metadata": self.metadata,
            }
        )


@dataclass(frozen=True, slots=True)
class CredentialRef:
    """Names a credential that is kept elsewhere; holds no value.

    Attributes:
        id: The credential's name where it is kept.
        provider: Who keeps it, or whom it is for.

    Raises:
        AgentValueError: A blank text.
    """

    id: str
    provider: str | None = None

    def __post_init__(self) -> None:
        require_text(self.id, "CredentialRef.id")
        require_optional_text(self.provider, "CredentialRef.provider")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Names a secret that is kept elsewhere, in place of its value; holds no value.

    Attributes:
        id: The secret's name where it is kept.
        credential: The credential with which it is read, when one is needed.

    Raises:
        AgentValueError: A blank id.
    """

    id: str
    credential: CredentialRef | None = None

    def __post_init__(self) -> None:
        require_text(self.id, "SecretRef.id")


@dataclass(frozen=True, slots=True)
class SensitiveFieldDescriptor:
    """Says where in a JSON value a marked field lies.

    Attributes:
        path: The keys from the value's root. ``"*"`` stands for every item of a list and every
            value of a mapping. The empty path is the value itself.
        field: The marker.

    Raises:
        AgentValueError: A path element is no text, or the field is no marker.
    """

    path: tuple[str, ...]
    field: SensitiveField | SecretField

    def __post_init__(self) -> None:
        if isinstance(self.path, str) or not all(isinstance(key, str) for key in self.path):
            message = (
                "SensitiveFieldDescriptor.path must be a tuple of texts, "
                "one for each key from the root."
            )
            raise AgentValueError(message)
        if not isinstance(self.field, SensitiveField | SecretField):
            kind = type(self.field).__name__
            message = (
                "SensitiveFieldDescriptor.field must be a SensitiveField or a SecretField, "
                f"not {kind}."
            )
            raise AgentValueError(message)
        object.__setattr__(self, "path", tuple(self.path))

    def to_metadata(self) -> JsonObject:
        """Describe the descriptor as a JSON object: ``path`` and ``field``."""
        return freeze_object({"path": self.path, "field": self.field.to_metadata()})


def mask_text(value: str, masking: MaskingPolicy) -> str:
    """Give the masked form of a text; only ``LAST_FOUR`` and ``FIRST_LAST`` show a part of it.

    A masked form that would still hold the whole value (a value that looks masked already) is
    replaced entirely.
    """
    masked = _mask(value, masking)
    return REDACTED_TEXT if value and value in masked else masked


def _mask(value: str, masking: MaskingPolicy) -> str:
    match masking:
        case MaskingPolicy.REDACT:
            return REDACTED_TEXT
        case MaskingPolicy.LAST_FOUR:
            shown = min(4, len(value) // 2)
            return _MASK + value[len(value) - shown :]
        case MaskingPolicy.FIRST_LAST:
            return f"{value[0]}{_MASK}{value[-1]}" if len(value) >= 4 else _MASK
        case MaskingPolicy.HASH:
            digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
            return f"sha256:{digest[:_HASH_DIGITS]}"
        case _:
            assert_never(masking)


def _guard_text(value: str, redaction: RedactionPolicy, masking: MaskingPolicy, name: str) -> str:
    match redaction:
        case RedactionPolicy.REDACT:
            return mask_text(value, masking)
        case RedactionPolicy.DROP:
            return ""
        case RedactionPolicy.REFERENCE_ONLY:
            return f"[REFERENCE:{name}]"
        case _:
            assert_never(redaction)


def _check_marker(redaction: object, label: object, where: str) -> None:
    if not isinstance(redaction, RedactionPolicy):
        kind = type(redaction).__name__
        message = f"{where}.redaction must be a member of RedactionPolicy, not {kind}."
        raise AgentValueError(message)
    require_optional_text(label, f"{where}.label")
