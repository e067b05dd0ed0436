"""Descriptions are read from Google-style docstrings."""

import pytest

from spakky.agent.declare.docstring import entries_of, summary_of


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (None, None),
        ("", None),
        ("  \n ", None),
        ("One line.", "One line."),
        ("Two\n    lines.\n\n    More.", "Two lines."),
    ],
)
def test_the_first_paragraph_is_the_summary(text: str | None, summary: str | None) -> None:
    assert summary_of(text) == summary


DOCUMENTED = """Do it.

    Args:
        path: The file.
        mode (str, optional): How to open it:
            read or write.

            Still the mode.
        bare:
        no entry here
    Returns:
        size: Not a parameter.

    Attributes:
        size: How large.
"""


def test_entries_of_both_sections_are_read() -> None:
    assert entries_of(DOCUMENTED) == {
        "path": "The file.",
        "mode": "How to open it: read or write. Still the mode.",
        "bare": "no entry here",
        "size": "How large.",
    }


@pytest.mark.parametrize("text", [None, "", "Args:", "Args:\n    stray text"])
def test_without_entries_there_are_none(text: str | None) -> None:
    assert entries_of(text) == {}
