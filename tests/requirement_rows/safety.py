"""Promises about sensitive data and streaming redaction."""

from requirement_rows.requirement import Requirement

ROWS = (
    Requirement(
        "SAFE-1",
        "000 §Surface L53; §Custom L217-L223",
        "Markers of sensitive and secret values can be put into annotations.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-2",
        "000 §Surface L53",
        "References to credentials and secrets never show a value.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-3",
        "000 §Surface L53; §Custom L213",
        "Exposure policies are deterministic, and expose nothing by default.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-4",
        "000 §Surface L53; §Ctx L289, L295, L297",
        "A guarded output never holds the raw value.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-5",
        "000 §Ctx L295",
        "Model responses and stream events can be guarded in all their parts.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-6",
        "000 §Ctx L295",
        "One list of descriptors drives evidence, model output and stream.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-7",
        "000 §Ctx L297",
        "The core detects nothing by itself; patterns are supplied from outside.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-8",
        "000 §Custom L211, L213, implied",
        "Sensitive members of lists and mappings are guarded.",
        ("spakky-agent",),
    ),
    Requirement(
        "SAFE-9",
        "000 §Custom L203, L213; §Ctx L295, implied",
        "Errors, logs and stored state hold no raw secret.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-1",
        "000 §Surface L54; §Ctx L297",
        "Redaction gives the same text however the stream was cut.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-2",
        "000 §Surface L54; §Ctx L297",
        "A pattern has a name, an expression and a replacement, and a bad one is refused.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-3",
        "000 §Ctx L297",
        "The policy bounds what is held back and how much comes at once.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-4",
        "000 §Ctx L297",
        "Only text that is settled leaves the session.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-5",
        "000 §Ctx L297",
        "Every session ends with an audit.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-6",
        "000 §Ctx L297",
        "A raw match found by the audit raises by default.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-7",
        "000 §Ctx L297",
        "The audit can be reported in place of raising, without raw text.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-8",
        "000 §Surface L54; §Ctx L297, implied",
        "A match that grows with the next piece is not released early.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-9",
        "000 §Ctx L297, implied",
        "A session is used once, and its audit compares with the original text.",
        ("spakky-agent",),
    ),
    Requirement(
        "STREAM-10",
        "000 §Surface L27; §Ctx L297, implied",
        "The loop guards each channel as the spec's exposure mode says.",
        ("spakky-agent",),
    ),
)
