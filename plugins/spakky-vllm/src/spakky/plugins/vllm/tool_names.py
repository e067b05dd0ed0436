"""Tool names on the wire: a reversible map from declared names to ``^[A-Za-z0-9_-]{1,64}$``.

Strict servers refuse a whole request for one name outside that form, while declared names may hold dots, any script and any
length. The map is a pure function of the set of names: neither the order of the tools nor the process matters.

    a declared name that fits the form         stays as it is, always
    any other                                  each foreign character becomes "_"
    ... and the outcome is too long, holds no
        letter or digit, or is wanted twice    it is cut and gets "_" and a piece of the name's SHA-256
"""

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

MAX_WIRE_NAME = 64
_WIRE_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_WIRE_NAME}}}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_VISIBLE = re.compile(r"[A-Za-z0-9]")


class ToolNameMap:
    """The names of one request, both ways.

    Args:
        declared: Names of the tools that the request offers.
        replayed: Names of tools in the replayed history. They may be gone from the offer; they never take a wire name from
            an offered tool.
    """

    __slots__ = ("_to_declared", "_to_wire")

    def __init__(self, declared: Iterable[str], replayed: Iterable[str] = ()) -> None:
        self._to_wire: dict[str, str] = {}
        self._to_declared: dict[str, str] = {}
        offered = set(declared)
        self._add(offered)
        self._add(set(replayed) - offered)

    def to_wire(self, name: str) -> str:
        """Give the wire name of a name that the map was built from.

        Raises:
            KeyError: The map was not built with that name.
        """
        return self._to_wire[name]

    def to_declared(self, wire_name: str) -> str:
        """Give the declared name for a name that the model wrote; a name that no tool has is given back unchanged."""
        return self._to_declared.get(wire_name, wire_name)

    def _add(self, names: set[str]) -> None:
        fitting = {name for name in names if _WIRE_NAME.fullmatch(name)}
        for name in sorted(fitting):
            self._bind(name, name if name not in self._to_declared else self._hashed(name))
        foreign = sorted(names - fitting)
        wanted = {name: _FOREIGN.sub("_", name) for name in foreign}
        uses = Counter(wanted.values())
        for name in foreign:
            wire_name = wanted[name]
            unusable = len(wire_name) > MAX_WIRE_NAME or not _VISIBLE.search(wire_name)
            if unusable or uses[wire_name] > 1 or wire_name in self._to_declared:
                wire_name = self._hashed(name)
            self._bind(name, wire_name)

    def _bind(self, name: str, wire_name: str) -> None:
        self._to_wire[name] = wire_name
        self._to_declared[wire_name] = name

    def _hashed(self, name: str) -> str:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        readable = _FOREIGN.sub("_", name)
        readable = readable if _VISIBLE.search(readable) else "tool"
        length = 8
        while True:
            suffix = f"_{digest[:length]}"
            wire_name = readable[: MAX_WIRE_NAME - len(suffix)] + suffix
            if wire_name not in self._to_declared:
                return wire_name
            # Only a tool that was named after this very digest gets here; a longer piece of it is free.
            length += 8
