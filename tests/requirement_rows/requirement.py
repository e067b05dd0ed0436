"""One promise of the documents, as a row."""

import re
from dataclasses import dataclass

_ID = re.compile(r"[A-Z0-9]+-[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise, and where it is shown.

    Attributes:
        id: Its stable id, which tests carry as a mark.
        source: Where it was asked for: document, section and lines.
        sentence: What must hold, in one sentence.
        packages: The distributions whose tests show it; ``workspace`` for the checks across packages.
    """

    id: str
    source: str
    sentence: str
    packages: tuple[str, ...]

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            message = f"{self.id!r} is no requirement id; write it like HITL-7."
            raise ValueError(message)
        if not (self.source.strip() and self.packages):
            message = f"{self.id} lacks its source or its packages."
            raise ValueError(message)
        if not self.sentence.endswith(".") or "\n" in self.sentence:
            message = f"The sentence of {self.id} is not one sentence in one line."
            raise ValueError(message)
