import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.guards import pattern_program
from spakky.agent.guards.pattern_program import PatternProgram
from spakky.agent.guards.pattern_scanner import PatternScanner, make_beginning_finder

EXPRESSIONS = [
    "a|ab",
    "(?:ab|a)(?:c|bcd)d*",
    "ab(?:c*d)?",
    "a+?b|c",
    "(a+)+c",
    "(?:ab)+",
    "(?:a*)*b",
    "(?:a*?b?)*c",
    "a{2,3}?b?",
    "(?:a?){3}b",
    "a{0,2}b",
    "[^a]b|[a-c-]d",
    "[^ab]c",
    r"\d\D|\s\S|\w\W",
    "(?i:A)b(?-i:c)",
    "(?i)aB",
    "a.c",
    "(?s:a.c)",
    "a.*?b",
    r"\bab\b",
    r"(?a:\bab\B)",
    r"\Bb\B",
    r"\Aab",
    "^ab",
    r"ab\Z",
    "(?m)^ab$",
    "(?<!a)b+(?!c)",
    "(?<=a)b(?=c)",
    r"a(?=b|\Z)",
    r"(?<=\A)a",
    r"(?<!\A)a",
    r"a\b(?: +b)?",
    r"a(?=(?i:B|c))",
    r"a(?=(?i:B))",
    r"(?a:\d)a",
    "sk-[a-c]{2,}",
    "a{1,3}b",
    "a{2,5}",
    "aaab|ab",
    "(?:ab|ba){2,4}c?",
]


def scan(expression: str, text: str, cuts: list[int]) -> list[tuple[int, int]]:
    scanner = PatternScanner(PatternProgram(expression))
    begin = 0
    for end in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        scanner.feed(text[begin:end], 0, end - begin, begin, text[begin - 1] if begin else None)
        begin = end
    scanner.close(None, len(text))
    return list(scanner.matches)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@given(
    st.text(alphabet="abcdABsk- \n1é", max_size=16),
    st.lists(st.integers(min_value=0, max_value=16), max_size=4),
)
@pytest.mark.requirement("STREAM-1")
def test_the_matches_are_those_of_re_however_the_text_is_cut(
    expression: str, text: str, cuts: list[int]
) -> None:
    assert scan(expression, text, cuts) == [found.span() for found in re.finditer(expression, text)]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_long_text_in_small_pieces_has_the_matches_of_re(expression: str) -> None:
    choose = random.Random(7)
    text = "".join(choose.choice("aabbccdA k-s\n1é") for _ in range(3000))
    cuts = [choose.randrange(3000) for _ in range(1000)]

    assert scan(expression, text, cuts) == [found.span() for found in re.finditer(expression, text)]


@given(st.text(alphabet="ab@. ", max_size=30), st.lists(st.integers(0, 30), max_size=3))
def test_a_program_that_forgets_its_steps_finds_the_same(text: str, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_program, "_MAX_MOVES", 2)
        found = scan(r"[ab]+@[ab]+(?:\.[ab])+", text, cuts)

    assert found == [match.span() for match in re.finditer(r"[ab]+@[ab]+(?:\.[ab])+", text)]


def test_many_different_characters_cost_a_bounded_memory() -> None:
    program = PatternProgram(r"[^!]{2,}!")
    text = "".join(map(chr, range(0x100, 0xD800)))
    scanner = PatternScanner(program)

    scanner.feed(text, 0, len(text), 0, None)

    kept = sum(len(state.moves) for state in program._states.values())
    assert kept <= pattern_program._MAX_MOVES
    assert scanner.starts[0] == 0


def test_an_expression_that_makes_backtracking_explode_is_followed_in_linear_steps() -> None:
    scanner = PatternScanner(PatternProgram("(?:a+)+c"))
    text = "a" * 20_000 + "b"

    scanner.feed(text, 0, len(text), 0, None)

    assert not scanner.starts
    assert not scanner.matches


def test_a_match_is_final_only_when_no_longer_or_earlier_one_can_come() -> None:
    scanner = PatternScanner(PatternProgram("ab(?:c*d)?"))

    scanner.feed("xabcc", 0, 5, 0, None)
    assert (scanner.starts, list(scanner.matches), scanner.has_final) == ([1], [(1, 3)], False)
    assert scanner.first_open(5) == 1

    scanner.feed("ab", 0, 2, 5, "c")
    assert (scanner.starts, list(scanner.matches)) == ([5], [(1, 3), (5, 7)])
    assert scanner.has_final

    scanner.feed("!", 0, 1, 7, "b")
    scanner.matches.clear()
    assert scanner.first_open(8) == 8
    assert not scanner.has_final


def test_a_longer_match_takes_the_place_of_those_that_it_covers() -> None:
    scanner = PatternScanner(PatternProgram("ab(?:.*d)?"))

    scanner.feed("ab ab ab ", 0, 9, 0, None)
    assert list(scanner.matches) == [(0, 2), (3, 5), (6, 8)]

    scanner.feed("d", 0, 1, 9, " ")
    assert list(scanner.matches) == [(0, 10)]


@pytest.mark.parametrize(
    ("expressions", "length", "text", "place"),
    [
        (["sk-[a-z]+"], 3, "ask sk-", 4),
        (["sk-[a-z]+"], 3, "ask s", 4),
        (["sk-[a-z]+"], 1, "ask s", 1),
        (["sk-[a-z]+", r"\d{6}"], 3, "ask 12", 4),
        (["sk-[a-z]+", r"\d{6}"], 3, "ask 1x2 skk", None),
        (["(?i:sk)-", "(?s:.)z"], 2, "qaSK", 2),
        (["a"], 3, "bba", 2),
        (["[^b]c"], 3, "bbbd", 3),
        (["|".join(f"a{letter}x" for letter in "bcd") + "|(?i:ae)|a[^f]"], 3, "xxag", 2),
    ],
)
def test_a_place_where_a_match_may_begin_is_found(
    expressions: list[str], length: int, text: str, place: int | None
) -> None:
    finder = make_beginning_finder([PatternProgram(item) for item in expressions], length)

    found = finder(text, 0, len(text))

    assert (found.start() if found else None) == place


def test_a_choice_of_many_second_characters_is_not_searched_for() -> None:
    many = "|".join(f"a(?i:{letter})" for letter in "bcdefghijk")

    assert len(PatternProgram(many).prefix_sets(3)) == 1
