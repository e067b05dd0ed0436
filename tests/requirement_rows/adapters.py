"""Promises about inbound adapters and examples."""

from requirement_rows.requirement import Requirement

ROWS = (
    Requirement(
        "WEB-1",
        "000 §Demo L283",
        "Controllers and commands are declared on classes.",
        ("spakky-typer",),
    ),
    Requirement(
        "WEB-2",
        "000 §Demo L283",
        "An adapter resolves the agent from the container and shows its items.",
        ("spakky-typer",),
    ),
    Requirement(
        "WEB-4",
        "000 §Custom L199",
        "Items are shown as they come.",
        ("spakky-typer",),
    ),
    Requirement(
        "DEMO-3",
        "000 §Decl L115-L139",
        "The steering hook of the documents yields its progress item.",
        ("spakky-agent",),
    ),
    Requirement(
        "DEMO-5",
        "000 §Custom L215-L225",
        "The sample tool with sensitive arguments keeps its markers.",
        ("spakky-agent",),
    ),
    Requirement(
        "DEMO-6",
        "000 §Custom L231-L237",
        "The dispatcher sample of the documents runs as written.",
        ("spakky-agent",),
    ),
    Requirement(
        "DEMO-7",
        "000 §Meta L253-L269",
        "The risky sample tool asks, and is not repeated.",
        ("spakky-agent",),
    ),
    Requirement(
        "DEMO-10",
        "000 §Demo L279",
        "The code assistant reads without asking, asks before it changes, and resumes.",
        ("examples",),
    ),
)
