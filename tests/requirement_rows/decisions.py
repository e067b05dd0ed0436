"""Promises about points that the documents leave open, as they were decided."""

from requirement_rows.requirement import Requirement

ROWS = (
    Requirement(
        "OP-3",
        "open point 3; see docs/architecture.md",
        "A durable agent takes repositories that it does not inject from its container.",
        ("spakky-agent",),
    ),
    Requirement(
        "OP-30",
        "open point 30; see docs/architecture.md",
        "Functions may be tools, and join an agent by its spec.",
        ("spakky-agent",),
    ),
    Requirement(
        "OP-52",
        "open point 52; see docs/architecture.md",
        "A hook needs its kind to be accepted.",
        ("spakky-agent",),
    ),
    Requirement(
        "OP-54",
        "open point 54; see docs/architecture.md",
        "Reasoning is not part of the public stream.",
        ("spakky-agent",),
    ),
)
