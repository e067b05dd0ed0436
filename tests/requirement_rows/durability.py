"""Promises about checkpoints, evidence and stores."""

from requirement_rows.requirement import Requirement

ROWS = (
    Requirement(
        "RECOV-1",
        "000 §Surface L49; §Custom L209",
        "Each model call, tool call and approval wait leaves evidence before and after it.",
        ("spakky-agent",),
    ),
    Requirement(
        "RECOV-2",
        "000 §Surface L49; §Custom L209",
        "State, signals and evidence alone are enough to plan a resume.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "RECOV-3",
        "000 §Custom L209",
        "A completed boundary is not done again.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "RECOV-4",
        "000 §Custom L209",
        "An open action that may be repeated is repeated.",
        (
            "examples",
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "RECOV-5",
        "000 §Custom L209",
        "An open action that may not be repeated waits for a person.",
        (
            "examples",
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "RECOV-6",
        "000 §Custom L209",
        "An undecided approval is not acted on; a pending decision resolves it.",
        (
            "examples",
            "spakky-agent",
        ),
    ),
    Requirement(
        "RECOV-7",
        "000 §Custom L209, implied",
        "The result of a completed call survives and reaches the next request.",
        (
            "spakky-agent",
            "workspace",
        ),
    ),
    Requirement(
        "RECOV-8",
        "000 §Surface L28; §Custom L209, implied",
        "A resumed run sends the requests that an uninterrupted one would have sent.",
        ("spakky-agent",),
    ),
    Requirement(
        "RECOV-9",
        "000 §Custom L209, implied",
        "Checkpoint, evidence and state are one transaction.",
        (
            "spakky-agent",
            "spakky-sqlalchemy",
        ),
    ),
    Requirement(
        "RECOV-10",
        "000 §Surface L30",
        "The input says that a paused run is to go on.",
        ("spakky-agent",),
    ),
    Requirement(
        "RECOV-11",
        "000 §Custom L209, implied",
        "A run that needs a person pauses and does not go on by itself.",
        ("spakky-agent",),
    ),
    Requirement(
        "EVID-1",
        "000 §Surface L47",
        "Evidence is immutable, and its port only adds and reads.",
        (
            "spakky-agent",
            "spakky-agent-testkit",
        ),
    ),
    Requirement(
        "EVID-2",
        "000 §Surface L48",
        "Results and decisions become candidates for evidence.",
        ("spakky-agent",),
    ),
    Requirement(
        "EVID-3",
        "000 §Ctx L295",
        "Sensitive values of a tool result are replaced before the candidate is made.",
        ("spakky-agent",),
    ),
    Requirement(
        "EVID-4",
        "000 §Surface L47; §Custom L207, L209; §Deleg L245; §Ctx L293",
        "Evidence has the kinds that the documents name.",
        ("spakky-agent",),
    ),
    Requirement(
        "EVID-5",
        "000 §Deps L73",
        "The evidence port has methods to append and to read, and no others.",
        (
            "spakky-agent-testkit",
            "spakky-sqlalchemy",
        ),
    ),
    Requirement(
        "EVID-6",
        "000 §Deps L73; §Ctx L287, L293",
        "A correction is another piece of evidence; stored evidence stays as it is.",
        (
            "spakky-agent",
            "spakky-agent-testkit",
            "spakky-sqlalchemy",
        ),
    ),
    Requirement(
        "EVID-7",
        "000 §Surface L62; §Meta L251, L265",
        "What is kept of a result follows the tool's declared capture.",
        ("spakky-agent",),
    ),
    Requirement(
        "EVID-8",
        "000 §Custom L213; §Ctx L295, implied",
        "The loop guards tool evidence and items by itself.",
        ("spakky-agent",),
    ),
    Requirement(
        "STORE-1",
        "000 §Surface L55",
        "The three repositories are abstract classes with coroutines.",
        (
            "spakky-agent-testkit",
            "spakky-sqlalchemy",
        ),
    ),
    Requirement(
        "STORE-2",
        "000 §Deps L73; §Custom L205; §Demo L283",
        "The repositories have the methods that the documents name.",
        (
            "spakky-agent-testkit",
            "spakky-sqlalchemy",
        ),
    ),
    Requirement(
        "STORE-3",
        "000 §Surface L56",
        "The conversation store gives turns back in order.",
        (
            "spakky-agent",
            "spakky-agent-testkit",
            "spakky-sqlalchemy",
        ),
    ),
    Requirement(
        "STORE-4",
        "000 §Surface L56",
        "A turn is a user's or an assistant's.",
        ("spakky-agent",),
    ),
    Requirement(
        "STORE-5",
        "000 §Surface L56",
        "A turn becomes a message when history is replayed.",
        ("spakky-agent",),
    ),
    Requirement(
        "STORE-8",
        "000 §Surface L56",
        "Turns are recorded when a run completes.",
        ("spakky-agent",),
    ),
    Requirement(
        "STORE-9",
        "000 §Surface L56; §Deps L69, implied",
        "The durable store keeps conversations too.",
        ("spakky-sqlalchemy",),
    ),
    Requirement(
        "SQL-1",
        "000 §Install L19, L23; §Deps L69, L71",
        "The SQLAlchemy contribution gives the three durable repositories.",
        ("spakky-sqlalchemy",),
    ),
    Requirement(
        "SQL-2",
        "000 §Surface L55, implied",
        "The repositories pass the contract suites on both databases without blocking the loop.",
        ("spakky-sqlalchemy",),
    ),
    Requirement(
        "SQL-3",
        "000 §Custom L207, L209, implied",
        "A boundary is committed when the call returns.",
        (
            "spakky-sqlalchemy",
            "workspace",
        ),
    ),
    Requirement(
        "SQL-4",
        "000 §Custom L205, implied",
        "The queue's order grows strictly, and each signal is consumed once.",
        ("spakky-sqlalchemy",),
    ),
    Requirement(
        "SQL-5",
        "000 §Deps L73, implied",
        "Evidence tables refuse changes, and migrations ship.",
        ("spakky-sqlalchemy",),
    ),
)
