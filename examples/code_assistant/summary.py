"""Extractive summaries: the sentences of a text whose words occur most often in it. No model is involved."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

_WORD = re.compile(r"[^\W\d_]{3,}")
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_DROPPED_LINE = re.compile(r"^\s*(?:\||\[!\[|!\[|<|[-=*_]{3,}\s*$|\[[^\]]+\]:)")
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|`)")
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=\S)")
_MAX_SENTENCE_CHARACTERS = 400
# Words that stand in every English text and so say nothing about this one.
_COMMON_TEXT = """
about above after again all also and any are because been before being below between both but can could did
does doing down during each few for from further had has have having her here hers him his how into its itself
just more most not now off once only other our out over own same she should some such than that the their them
then there these they this those through too under until use used uses using very was were what when where
which while who whom why will with would you your may one two
"""
_COMMON = frozenset(_COMMON_TEXT.split())


@dataclass(frozen=True, slots=True)
class Summary:
    """What was picked from a text.

    Attributes:
        title: The first heading; None when there is none.
        sentences: The sentences, in the order of the text.
        headings: Further headings, in the order of the text.
    """

    title: str | None
    sentences: tuple[str, ...]
    headings: tuple[str, ...]


def summarise(text: str, max_sentences: int = 4, max_headings: int = 6) -> Summary:
    """Pick the sentences that say most about a text.

    A sentence weighs what its words occur in the whole text, divided by the root of its length, so that long sentences
    do not win by length alone.

    Args:
        text: Plain text or Markdown.
        max_sentences: How many are picked at most.
        max_headings: How many headings are kept at most.
    """
    text = _COMMENT.sub("", _FENCE.sub("", text))
    headings = [found[2] for line in text.split("\n") if (found := _HEADING.match(line))]
    headings = [_plain(heading) for heading in headings]
    sentences = list(dict.fromkeys(_sentences(text)))
    frequency = Counter(word for sentence in sentences for word in _words(sentence))
    frequency.update(word for heading in headings for word in _words(heading))

    def weigh(position: int) -> float:
        words = _words(sentences[position])
        return sum(frequency[word] for word in set(words)) / sqrt(max(len(words), 4))

    ranked = sorted(range(len(sentences)), key=lambda p: (-weigh(p), p))
    chosen = sorted(ranked[:max_sentences])
    return Summary(
        title=headings[0] if headings else None,
        sentences=tuple(sentences[position] for position in chosen),
        headings=tuple(headings[1 : 1 + max_headings]),
    )


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        for sentence in _SENTENCE_END.split(paragraph):
            plain = _plain(sentence)
            if len(_WORD.findall(plain)) >= 4:
                yield plain[:_MAX_SENTENCE_CHARACTERS]


def _paragraphs(text: str) -> Iterator[str]:
    gathered: list[str] = []
    for line in text.split("\n"):
        ends = not line.strip() or _HEADING.match(line) or _DROPPED_LINE.match(line)
        begins = _LIST_MARK.match(line)
        if (ends or begins) and gathered:
            yield " ".join(gathered)
            gathered = []
        if not ends:
            gathered.append(_LIST_MARK.sub("", line).strip())
    if gathered:
        yield " ".join(gathered)


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", _LINK.sub(r"\1", text)).strip()


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _COMMON]


def to_markdown(summary: Summary, source: str) -> str:
    """Write a summary as a Markdown document that says how it came about."""
    lines = [f"# Summary of {source}", ""]
    if summary.title is not None:
        lines += [f"**{summary.title}**", ""]
    lines += [f"- {sentence}" for sentence in summary.sentences] or ["(no sentences found)"]
    if summary.headings:
        lines += ["", f"Sections: {', '.join(summary.headings)}."]
    lines += ["", "_Sentences picked by word frequency._", ""]
    return "\n".join(lines)
