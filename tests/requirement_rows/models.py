"""Promises about models and their adapters."""

from requirement_rows.requirement import Requirement

ROWS = (
    Requirement(
        "MODEL-1",
        "000 §When L10; §Surface L57, L36; §Custom L187",
        "The model port can be implemented by a backend or a router.",
        ("spakky-vllm",),
    ),
    Requirement(
        "MODEL-2",
        "000 §Surface L57; §Meta L273",
        "The default backend's abilities are known before a run.",
        ("spakky-vllm",),
    ),
    Requirement(
        "MODEL-3",
        "000 §Surface L57",
        "The abilities of a selection can be asked for.",
        ("spakky-vllm",),
    ),
    Requirement(
        "MODEL-4",
        "000 §Surface L58; §Meta L273",
        "A capability tells reasoning, window and counting.",
        (
            "spakky-agent",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "MODEL-5",
        "000 §Surface L59",
        "One agent runs with different models at once.",
        (
            "spakky-agent",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "MODEL-6",
        "000 §Surface L60",
        "Request, response and stream event belong to no provider.",
        ("spakky-agent",),
    ),
    Requirement(
        "MODEL-7",
        "000 §Custom L184-L186",
        "A request can be made from one message alone.",
        (
            "spakky-agent",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "MODEL-8",
        "000 §Surface L35, L36, L56; §Custom L185",
        "Messages have the roles that the documents use.",
        (
            "spakky-agent",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "MODEL-9",
        "000 §Custom L188; §Meta L273",
        "Stream events tell all their kinds apart, and the loop handles each.",
        (
            "spakky-agent",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "MODEL-10",
        "000 §Custom L188, L191",
        "A stream event has a kind and an optional text piece.",
        ("spakky-agent",),
    ),
    Requirement(
        "MODEL-11",
        "000 §Meta L273",
        "A backend without reasoning works without it.",
        ("spakky-vllm",),
    ),
    Requirement(
        "MODEL-12",
        "000 §Surface L32",
        "Usage counts tokens, and reaches compaction.",
        (
            "spakky-agent",
            "spakky-vllm",
        ),
    ),
    Requirement(
        "VLLM-1",
        "000 §Meta L273; §Demo L281",
        "An agent runs over HTTP by injecting the adapter's model.",
        (
            "examples",
            "spakky-vllm",
            "workspace",
        ),
    ),
    Requirement(
        "VLLM-2",
        "000 §Meta L273",
        "The adapter talks to an OpenAI-compatible server over HTTP.",
        ("spakky-vllm",),
    ),
    Requirement(
        "VLLM-3",
        "000 §Meta L273, implied",
        "Everything that the wire can carry comes out as its kind of event.",
        ("spakky-vllm",),
    ),
    Requirement(
        "VLLM-4",
        "000 §Decl L99; §Meta L273, implied",
        "Tool names with dots survive the wire and come back.",
        ("spakky-vllm",),
    ),
    Requirement(
        "VLLM-5",
        "000 §Ctx L289, implied",
        "Context packs and roles are put into what the wire knows.",
        ("spakky-vllm",),
    ),
    Requirement(
        "VLLM-6",
        "000 §Meta L273, implied",
        "Faults of the transport are typed, and half a stream is never a whole one.",
        ("spakky-vllm",),
    ),
    Requirement(
        "VLLM-7",
        "000 §Surface L57, L59, L60, implied",
        "The adapter follows the run's model selection.",
        ("spakky-vllm",),
    ),
)
