"""Extractive summaries pick by word frequency, not by position."""

from code_assistant.summary import summarise, to_markdown

TEXT = """\
# Lighthouses

<!-- a comment that is never shown to anybody -->
[![badge](x.svg)](y)

An opening line that says little of interest.

A **lighthouse** guides ships, and every [lighthouse](l.md) has a keeper.

```
code = "a lighthouse keeper guides ships in code"
```

- The keeper of a lighthouse lights the lamp for ships.
- Bread is baked elsewhere by other people.

## Keepers

| a | table |
|---|-------|

Keepers watch ships. Ships trust the lighthouse and its keeper at night.
"""


def test_the_sentences_with_the_texts_own_words_are_picked_in_its_order() -> None:
    summary = summarise(TEXT, max_sentences=3)

    assert summary.title == "Lighthouses"
    assert summary.sentences == (
        "A lighthouse guides ships, and every lighthouse has a keeper.",
        "The keeper of a lighthouse lights the lamp for ships.",
        "Ships trust the lighthouse and its keeper at night.",
    )
    assert summary.headings == ("Keepers",)


def test_code_comments_badges_and_tables_are_left_out() -> None:
    everything = " ".join(summarise(TEXT, max_sentences=50).sentences)
    for part in ("code =", "comment", "badge", "table"):
        assert part not in everything


def test_a_text_without_sentences_gives_none() -> None:
    assert summarise("x = 1\ny = 2\n").sentences == ()
    assert "(no sentences found)" in to_markdown(summarise(""), "a.py")


def test_the_document_says_how_it_came_about() -> None:
    document = to_markdown(summarise(TEXT, max_sentences=1), "l.md")
    assert document.startswith("# Summary of l.md\n\n**Lighthouses**\n\n- ")
    assert "Sections: Keepers." in document
    assert document.endswith("word frequency._\n")
