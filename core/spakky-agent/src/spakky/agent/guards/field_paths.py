"""The paths of sensitive-field descriptors: as a tree to walk a value with, or tried on it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spakky.agent.guards.sensitive import (
    ANY_KEY,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import JsonValue


@dataclass(slots=True)
class PathNode:
    """One step of the descriptors' paths, merged into a tree; read-only once it is built.

    Attributes:
        marker: The marker that hides the value here; None when only values below are marked.
        children: The next steps by key.
    """

    marker: SensitiveField | SecretField | None = None
    children: "dict[str, PathNode]" = field(default_factory=dict)

    def first_marker(self) -> SensitiveField | SecretField:
        """Give the marker here or the first one below; there is one, since each path ends in one."""
        node = self
        while node.marker is None:
            node = next(iter(node.children.values()))
        return node.marker

    def named_only(self) -> "PathNode | None":
        """Give the node without its step for any key; None when nothing is left."""
        named = {key: child for key, child in self.children.items() if key != ANY_KEY}
        return PathNode(None, named) if named else None


def build_path_tree(descriptors: Iterable[SensitiveFieldDescriptor]) -> PathNode | None:
    """Merge descriptors into a tree; None without any. Of two with one path a secret one stays."""
    root: PathNode | None = None
    for descriptor in descriptors:
        root = root or PathNode()
        node = root
        for key in descriptor.path:
            node = node.children.setdefault(key, PathNode())
        is_stricter = isinstance(descriptor.field, SecretField) and not isinstance(
            node.marker, SecretField
        )
        if node.marker is None or is_stricter:
            node.marker = descriptor.field
    return root


def marker_at(nodes: tuple[PathNode, ...]) -> SensitiveField | SecretField | None:
    """Give the marker that hides the value at these nodes; a secret one wins."""
    markers = [node.marker for node in nodes if node.marker is not None]
    secrets = [marker for marker in markers if isinstance(marker, SecretField)]
    return next(iter(secrets or markers), None)


def nodes_for_key(nodes: tuple[PathNode, ...], key: str) -> tuple[PathNode, ...]:
    """Give the nodes for the value under a key: those that name it and those for any key."""
    steps = (key,) if key == ANY_KEY else (key, ANY_KEY)
    return tuple(node.children[step] for node in nodes for step in steps if step in node.children)


def nodes_for_item(nodes: tuple[PathNode, ...]) -> tuple[tuple[PathNode, ...], bool]:
    """Give the nodes for a list's items, and whether a named key was expected in its place."""
    named = tuple(rest for node in nodes if (rest := node.named_only()) is not None)
    expected = tuple(node.children[ANY_KEY] for node in nodes if ANY_KEY in node.children)
    return expected + named, bool(named)


def path_reaches_value(value: JsonValue, path: Sequence[str]) -> bool:
    """Tell whether a descriptor's path fits a value's shape and leads to at least one value.

    Under ``"*"`` every branch must fit and one must lead to a value; an empty list or object under
    ``"*"`` and a null on the way count as fitting. A text or number in the place of a container, a
    list in the place of an object and a key that is missing everywhere do not.
    """
    return _follow(value, path) is True


def _follow(value: JsonValue, path: Sequence[str]) -> bool | None:
    """Tell whether a path fits: True, None when only a key is missing, False otherwise."""
    if not path or value is None:
        return True
    branches = _branches(value, path[0])
    if branches is None:
        return False
    if not branches:
        return True if path[0] == ANY_KEY else None
    fits = [_follow(item, path[1:]) for item in branches]
    if False in fits:
        return False
    return True if True in fits else None


def _branches(value: JsonValue, key: str) -> Sequence[JsonValue] | None:
    """Give the values that a path element leads to; None when the value is no container for it."""
    if isinstance(value, Mapping):
        return tuple(value.values()) if key == ANY_KEY else (value[key],) if key in value else ()
    if isinstance(value, Sequence) and not isinstance(value, str) and key == ANY_KEY:
        return value
    return None
