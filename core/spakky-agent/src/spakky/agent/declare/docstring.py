"""Descriptions for a model, read from Google-style docstrings."""

import inspect
import re

_SECTIONS = frozenset({"Args:", "Arguments:", "Parameters:", "Attributes:"})
_ENTRY = re.compile(r"(?P<name>\w+)(?:\s*\([^)]*\))?:\s*(?P<text>.*)")


def summary_of(docstring: str | None) -> str | None:
    """Give the first paragraph of a docstring as one line, or None when there is no text.

    Args:
        docstring: As written, indentation included.
    """
    if docstring is None:
        return None
    first = inspect.cleandoc(docstring).split("\n\n", 1)[0]
    return " ".join(first.split()) or None


def entries_of(docstring: str | None) -> dict[str, str]:
    """Give the entries of the Args and Attributes sections.

    Args:
        docstring: As written, indentation included.

    Returns:
        The text of each entry as one line, by the name of the parameter or attribute.
    """
    entries: dict[str, list[str]] = {}
    if docstring is None:
        return {}
    inside = False
    entry_indent: int | None = None
    current: list[str] = []
    for line in inspect.cleandoc(docstring).splitlines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if text and indent == 0:
            inside, entry_indent = text in _SECTIONS, None
            continue
        if not inside or not text:
            continue
        entry_indent = indent if entry_indent is None else entry_indent
        match = _ENTRY.fullmatch(text) if indent == entry_indent else None
        if match is not None:
            current = entries.setdefault(match["name"], [])
            text = match["text"]
        current.append(text)
    return {name: joined for name, lines in entries.items() if (joined := " ".join(lines).strip())}
