"""Replaces sensitive values in what a model said: the one guard of tool calls, answers and stream events.

Paths of descriptors lead into structured values: arguments of a call and structured output. Free text has no paths, so
three rules hold for it. A text that is a JSON object or array is guarded as that value. A text that repeats a value found
in a structured part of the same answer has it replaced. Where a descriptor stands for the whole value (the empty path),
the whole text is replaced. A piece of argument text that is no whole JSON value cannot be matched with a path and is
replaced as a whole. Sensitive patterns in free text are the matter of streaming redaction.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.redact import redact_fields, redact_text, sensitive_values
from spakky.agent.guards.sensitive import (
    REDACTED_TEXT,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class ModelOutputGuard:
    """What must not be shown of one answer of a model.

    Attributes:
        hidden: The descriptors of fields that may not be shown; paths start at each structured value.
        values: The raw texts found under them, longest first.
    """

    hidden: tuple[SensitiveFieldDescriptor, ...]
    values: tuple[str, ...]

    def guard_value(self, value: JsonValue) -> JsonValue:
        """Give a structured value with the hidden fields replaced."""
        if not self.hidden or value is None:
            return value
        return self.scrub(redact_fields(value, self.hidden, _hide_all))

    def guard_object(self, value: JsonObject) -> JsonObject:
        """Give a JSON object with the hidden fields replaced; one that is hidden as a whole becomes empty."""
        guarded = self.guard_value(value)
        return guarded if isinstance(guarded, Mapping) and not self._hides_root() else EMPTY_OBJECT

    def guard_text(self, text: str) -> str:
        """Give a text, or a piece of one, as the rules of the module show it."""
        if not self.hidden or not text:
            return text
        if self._hides_root():
            return REDACTED_TEXT
        parsed, is_json = parse_json_text(text)
        if is_json:
            guarded = redact_fields(parsed, self.hidden, _hide_all)
            if guarded != parsed:
                text = json.dumps(guarded, ensure_ascii=False)
        return redact_text(text, self.values)

    def guard_argument_text(self, text: str) -> str:
        """Give a piece of argument text; one that is no whole JSON value is replaced, since it has no paths."""
        if not self.hidden or not text.strip():
            return text
        _, is_json = parse_json_text(text)
        return self.guard_text(text) if is_json else REDACTED_TEXT

    def guard_optional_text(self, text: str | None) -> str | None:
        """Give a text as ``guard_text`` does; None stays None."""
        return None if text is None else self.guard_text(text)

    def scrub_text(self, text: str) -> str:
        """Give a text of the adapter with the found values replaced."""
        return redact_text(text, self.values) if self.values else text

    def scrub_object(self, value: JsonObject) -> JsonObject:
        """Give an object with the found values replaced in every text of it, keys excepted."""
        scrubbed = {key: self.scrub(item) for key, item in value.items()}
        return value if all(scrubbed[key] is value[key] for key in value) else scrubbed

    def scrub(self, value: JsonValue) -> JsonValue:
        """Give a JSON value with the found values replaced in every text of it, keys excepted.

        Returns:
            The value itself when there was nothing to replace.
        """
        if not self.values:
            return value
        if isinstance(value, str):
            text = redact_text(value, self.values)
            return value if text == value else text
        if isinstance(value, Mapping):
            return self.scrub_object(value)
        if isinstance(value, Sequence):
            items = [self.scrub(item) for item in value]
            same = all(new is old for new, old in zip(items, value, strict=True))
            return value if same else items
        return value

    def _hides_root(self) -> bool:
        return any(not descriptor.path for descriptor in self.hidden)


def plan_output_guard(
    sensitive_fields: Sequence[SensitiveFieldDescriptor],
    policy: EvidenceExposurePolicy | None,
    parts: Sequence[JsonValue],
    texts: Sequence[str] = (),
) -> ModelOutputGuard:
    """Find out what an answer must not show.

    Args:
        sensitive_fields: Descriptors whose paths start at each of the parts.
        policy: What may be shown; None shows nothing sensitive.
        parts: The structured values of the answer.
        texts: Its texts; those that are JSON objects or arrays count as parts.
    """
    allowed = EvidenceExposurePolicy() if policy is None else policy
    hidden = tuple(item for item in sensitive_fields if not allowed.can_expose_value(item.field))
    if not hidden:
        return ModelOutputGuard((), ())
    parsed = (value for value, is_json in map(parse_json_text, texts) if is_json)
    found = {text for part in (*parts, *parsed) for text in sensitive_values(part, hidden)}
    return ModelOutputGuard(hidden, tuple(sorted(found, key=lambda text: (-len(text), text))))


def parse_json_text(text: str) -> tuple[JsonValue, bool]:
    """Read a text that is one JSON object or array.

    Returns:
        The value and True, or None and False when the text is anything else.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None, False
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None, False
    return value, True


def _hide_all(_field: SensitiveField | SecretField) -> bool:
    return False
