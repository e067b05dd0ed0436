"""Guards for JSON values and plain texts: values are replaced where descriptors say they lie.

Pure and deterministic. A value that needs no change is returned as it is; otherwise only the
containers on the way to a change are copied. When a value does not have the shape that a path
expects, the guard hides rather than shows: a list is gone through item by item, and a text or
number in the place of a container is replaced.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from spakky.agent.guards.field_paths import (
    PathNode,
    build_path_tree,
    marker_at,
    nodes_for_item,
    nodes_for_key,
)
from spakky.agent.guards.sensitive import (
    REDACTED_TEXT,
    MaskingPolicy,
    RedactionPolicy,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import JsonValue

_MAX_STRAY_LISTS = 32
"""How many nested lists without a path element are gone through; below, all is replaced."""


class _Dropped:
    """The type of ``_DROPPED``, which marks a value that is taken out."""


_DROPPED: Final = _Dropped()


def redact_fields(
    value: JsonValue,
    descriptors: Iterable[SensitiveFieldDescriptor],
    can_expose: Callable[[SensitiveField | SecretField], bool],
) -> JsonValue:
    """Replace the marked values of a JSON value that may not be seen.

    ``RedactionPolicy.REDACT`` puts the field's masked text in the value's place (of an object or a
    list nothing but a hash is ever shown), ``DROP`` takes out the key or the list item,
    ``REFERENCE_ONLY`` leaves ``{"$ref": name}``. A marked value that is null stays null, and a key
    that is missing stays missing. Where several descriptors meet, the outer one wins, and of two
    with the same path a secret one, then the first.

    Args:
        value: Any JSON value; it is not changed.
        descriptors: Where marked values lie.
        can_expose: Tells whether the value of a marker may be seen, usually
            ``policy.can_expose_value``.

    Returns:
        The guarded value: ``value`` itself when nothing had to be hidden, None when the root itself
        is dropped.
    """
    root = build_path_tree(item for item in descriptors if not can_expose(item.field))
    if root is None:
        return value
    guarded = _redact(value, (root,), 0)
    return None if isinstance(guarded, _Dropped) else guarded


def sensitive_values(
    value: JsonValue, descriptors: Iterable[SensitiveFieldDescriptor]
) -> tuple[str, ...]:
    """Collect the texts that must not occur in a text about a value, for ``redact_text``.

    Args:
        value: The value that holds the raw data.
        descriptors: Where marked values lie.

    Returns:
        Each text, and each number as text, that ``redact_fields`` would hide, once, the longest
        first. Empty texts, true, false and null are left out.
    """
    root = build_path_tree(descriptors)
    if root is None:
        return ()
    found: dict[str, None] = {}
    _collect(value, (root,), 0, found)
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def redact_text(text: str, values: Sequence[str], replacement: str = REDACTED_TEXT) -> str:
    """Replace every occurrence of some values in a text, as they are, as they look inside JSON and
    in a Python ``repr``.

    Occurrences that overlap are replaced together, and the replacement is not looked at again. Only
    exact occurrences are found: not a value in another case, encoded for a URL, or split by other
    characters.

    Args:
        text: Any text, for example an error message of a tool.
        values: The raw values; empty ones are ignored.
        replacement: What stands in the place of each occurrence.
    """
    spans = merge_spans(span for form in _written_forms(values) for span in _find_all(text, form))
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts.append(text[position:start])
        parts.append(replacement)
        position = end
    parts.append(text[position:])
    return "".join(parts)


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give the spans, as start and end, in order, with those that overlap joined."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _redact(value: JsonValue, nodes: tuple[PathNode, ...], stray: int) -> JsonValue | _Dropped:
    marker = marker_at(nodes)
    if marker is not None:
        return _replace(value, marker)
    if isinstance(value, Mapping):
        return _redact_object(value, nodes, stray)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _redact_list(value, nodes, stray)
    return _replace(value, nodes[0].first_marker())


def _redact_object(
    value: Mapping[str, JsonValue], nodes: tuple[PathNode, ...], stray: int
) -> JsonValue:
    changed: dict[str, JsonValue] | None = None
    for key, item in value.items():
        below = nodes_for_key(nodes, key)
        guarded = _redact(item, below, stray) if below else item
        if guarded is item:
            continue
        changed = dict(value) if changed is None else changed
        if isinstance(guarded, _Dropped):
            del changed[key]
        else:
            changed[key] = guarded
    return value if changed is None else changed


def _redact_list(
    value: Sequence[JsonValue], nodes: tuple[PathNode, ...], stray: int
) -> JsonValue | _Dropped:
    below, is_stray = nodes_for_item(nodes)
    if is_stray and stray >= _MAX_STRAY_LISTS:
        return _replace(value, nodes[0].first_marker())
    guarded = [_redact(item, below, stray + is_stray) for item in value]
    if all(new is old for new, old in zip(guarded, value, strict=True)):
        return value
    return [item for item in guarded if not isinstance(item, _Dropped)]


def _replace(value: JsonValue, marker: SensitiveField | SecretField) -> JsonValue | _Dropped:
    if value is None:
        return None
    if marker.redaction is RedactionPolicy.DROP:
        return _DROPPED
    if marker.redaction is RedactionPolicy.REFERENCE_ONLY:
        return {"$ref": marker.reference_name}
    if isinstance(value, str):
        return marker.guard_text(value)
    is_hashed = isinstance(marker, SensitiveField) and marker.masking is MaskingPolicy.HASH
    # Masking shows a part of a text; of anything else only the hash of the whole may be shown.
    return marker.guard_text(_dump(value)) if is_hashed else REDACTED_TEXT


def _dump(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=dict)


def _collect(
    value: JsonValue, nodes: tuple[PathNode, ...], stray: int, found: dict[str, None]
) -> None:
    if marker_at(nodes) is not None:
        _collect_all(value, found)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            below = nodes_for_key(nodes, key)
            if below:
                _collect(item, below, stray, found)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        below, is_stray = nodes_for_item(nodes)
        if is_stray and stray >= _MAX_STRAY_LISTS:
            _collect_all(value, found)
            return
        for item in value:
            _collect(item, below, stray + is_stray, found)
    else:
        _collect_all(value, found)


def _collect_all(value: JsonValue, found: dict[str, None]) -> None:
    """Collect every text and number of a value, keys too. A stack, not recursion: the value's depth
    is not ours.
    """
    waiting: list[JsonValue] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.update({item: None} if item else {})
        elif isinstance(item, Mapping):
            waiting.extend(item.keys())
            waiting.extend(item.values())
        elif isinstance(item, Sequence):
            waiting.extend(item)
        elif item is not None and not isinstance(item, bool):
            found[repr(item)] = None


def _written_forms(values: Iterable[str]) -> set[str]:
    forms: set[str] = set()
    for value in values:
        if value:
            forms.add(value)
            forms.add(json.dumps(value)[1:-1])
            forms.add(json.dumps(value, ensure_ascii=False)[1:-1])
            forms.add(repr(value)[1:-1])
    return forms


def _find_all(text: str, form: str) -> Iterable[tuple[int, int]]:
    position = text.find(form)
    while position >= 0:
        yield position, position + len(form)
        position = text.find(form, position + 1)
