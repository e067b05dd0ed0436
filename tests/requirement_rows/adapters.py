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
        (
            "examples",
            "spakky-typer",
        ),
    ),
    Requirement(
        "WEB-3",
        "000 §Demo L283; §Custom L205",
        "Adapters append decisions and input as signals.",
        ("examples",),
    ),
    Requirement(
        "WEB-4",
        "000 §Custom L199",
        "Items are shown as they come.",
        (
            "examples",
            "spakky-typer",
        ),
    ),
    Requirement(
        "DEMO-1",
        "000 §Decl L81-L103",
        "The declarative sample of the documents runs as written.",
        ("examples",),
    ),
    Requirement(
        "DEMO-2",
        "000 §Decl L105-L111",
        "The caller of the declarative sample gets a summary that uses the file.",
        ("examples",),
    ),
    Requirement(
        "DEMO-3",
        "000 §Decl L115-L139",
        "The steering hook of the documents yields its progress item.",
        (
            "examples",
            "spakky-agent",
        ),
    ),
    Requirement(
        "DEMO-4",
        "000 §Custom L145-L197",
        "The hand-written sample of the documents runs as written.",
        ("examples",),
    ),
    Requirement(
        "DEMO-5",
        "000 §Custom L215-L225",
        "The sample tool with sensitive arguments keeps its markers.",
        (
            "examples",
            "spakky-agent",
        ),
    ),
    Requirement(
        "DEMO-6",
        "000 §Custom L231-L237",
        "The dispatcher sample of the documents runs as written.",
        (
            "examples",
            "spakky-agent",
        ),
    ),
    Requirement(
        "DEMO-7",
        "000 §Meta L253-L269",
        "The risky sample tool asks, and is not repeated.",
        (
            "examples",
            "spakky-agent",
        ),
    ),
    Requirement(
        "DEMO-8",
        "000 §Demo L277",
        "The code assistant is put together from the framework's parts by injection.",
        ("examples",),
    ),
    Requirement(
        "DEMO-9",
        "000 §Demo L279",
        "The code assistant has its seven tools and no others.",
        ("examples",),
    ),
    Requirement(
        "DEMO-10",
        "000 §Demo L279",
        "The code assistant reads without asking, asks before it changes, and resumes.",
        ("examples",),
    ),
    Requirement(
        "DEMO-12",
        "000 §Demo L281",
        "The code assistant is tested without a network.",
        ("examples",),
    ),
    Requirement(
        "DEMO-14",
        "000 §Demo L281",
        "The code assistant needs a durable store, and says so.",
        ("examples",),
    ),
)
