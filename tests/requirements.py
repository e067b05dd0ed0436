"""The promises of the documents, one row each; ``test_requirements.py`` holds them against the marks of all tests."""

from requirement_rows import (
    adapters,
    context,
    decisions,
    declaring,
    durability,
    models,
    packages,
    people,
    running,
    safety,
)
from requirement_rows.requirement import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    *packages.ROWS,
    *declaring.ROWS,
    *running.ROWS,
    *decisions.ROWS,
    *people.ROWS,
    *durability.ROWS,
    *safety.ROWS,
    *context.ROWS,
    *models.ROWS,
    *adapters.ROWS,
)
