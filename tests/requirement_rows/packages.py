"""Promises about packaging, start-up, errors and development."""

from requirement_rows.requirement import Requirement

ROWS = (
    Requirement(
        "PKG-1",
        "000 §Intro L1, L3; §Decl L81-L233",
        "Every public name of the core can be imported from `spakky.agent`.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "PKG-2",
        "000 §When L7-L11",
        "An agent serves all five uses: inside the container, with the provided loop, behind inbound adapters, over any model adapter, and on a contributed store.",
        ("spakky-vllm",),
    ),
    Requirement(
        "PKG-3",
        "000 §Install L15-L17",
        "The core installed alone runs a stateless agent with a model that the application wrote.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "PKG-5",
        "000 §Install L23; §Deps L69, L71; §Demo L281",
        "The core brings no store of its own that could stand in for a real one.",
        ("workspace",),
    ),
    Requirement(
        "PKG-6",
        "000 §Install L23; §Deps L69, L71",
        "The durable repositories arrive through the agent feature's contribution group.",
        (
            "spakky-sqlalchemy",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "PKG-7",
        "000 §Deps L67",
        "The core requires and imports nothing but the container and the standard library.",
        ("workspace",),
    ),
    Requirement(
        "PKG-8",
        "000 §Deps L67",
        "No infrastructure package is imported by the core.",
        ("workspace",),
    ),
    Requirement(
        "PKG-9",
        "000 §Meta L273",
        "The core has no model implementation for production.",
        ("workspace",),
    ),
    Requirement(
        "PKG-10",
        "000 §Demo L283",
        "There is no separate agent package for FastAPI or Typer.",
        ("workspace",),
    ),
    Requirement(
        "PKG-11",
        "000 §Install L23; §Surface L29, implied",
        "Loading the plugins registers the default runner factory and the validation at start-up.",
        ("spakky-agent",),
    ),
    Requirement(
        "PKG-12",
        "000 §Install L19; §Surface L28, L29, L40, L56; §Deleg L243; §Meta L273; §Demo L281, L283; 002, implied",
        "The workspace builds a wheel for each package that the documents name and that exists so far.",
        (
            "spakky-vllm",
            "workspace",
        ),
    ),
    Requirement(
        "PKG-13",
        "000 §Install L23; §Deps L69, implied",
        "The base part of a plugin works where the agent feature is not installed.",
        (
            "spakky-sqlalchemy",
            "spakky-typer",
        ),
    ),
    Requirement(
        "PKG-14",
        "000 §Lic L310-L312",
        "Every package is licensed under MIT, in its files and in its metadata.",
        ("workspace",),
    ),
    Requirement(
        "BOOT-1",
        "000 §Deps L71",
        "The start of a durable agent looks for each of the three repositories.",
        ("spakky-agent",),
    ),
    Requirement(
        "BOOT-2",
        "000 §Deps L69, L71",
        "A missing repository fails the start with an error of our own.",
        ("spakky-agent",),
    ),
    Requirement(
        "BOOT-3",
        "000 §Deps L71",
        "The error names what is missing and what to install.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "BOOT-4",
        "000 §Install L23; §Deps L69, L71; §Demo L281",
        "Nothing takes the place of a missing repository.",
        ("spakky-agent",),
    ),
    Requirement(
        "BOOT-5",
        "000 §Install L15; §Surface L28, implied",
        "A stateless agent starts without any repository.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "BOOT-6",
        "000 §Surface L28; §Deleg L247, implied",
        "An agent with the provided loop does not start without a model.",
        ("spakky-agent",),
    ),
    Requirement(
        "ERR-1",
        "000 §Surface L27, L31, L44, L62, L63; §Custom L211, L227, L229; §Deleg L243, L247; §Ctx L297",
        "All errors have a common base and are public.",
        ("workspace",),
    ),
    Requirement(
        "ERR-2",
        "000 §Deps L71, implied",
        "A message says what was wrong, where, and what to do.",
        ("spakky-agent",),
    ),
    Requirement(
        "DX-3",
        "000 (samples), implied",
        "Every code sample of the documents is run.",
        (
            "spakky-agent-testkit",
            "spakky-typer",
            "workspace",
        ),
    ),
    Requirement(
        "DX-4",
        "000 §Intro L3; §Surface L27, L28, L30, L32, L44, L56; §Custom L199; §Deleg L245, implied",
        "The decisions that the documents cite have records.",
        ("workspace",),
    ),
)
