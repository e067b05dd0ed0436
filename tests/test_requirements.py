"""Every promise has a test, and every mark of a test has its promise."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT, is_test_code, members, name_of, parse, python_files
from requirement_rows.requirement import Requirement
from requirements import REQUIREMENTS


def marks(tree: ast.Module) -> Iterator[str]:
    """Give the ids of ``pytest.mark.requirement`` in a module of tests."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            for argument in node.args:
                yield str(ast.literal_eval(argument))


def package_of(path: Path) -> str:
    """Give the distribution whose tests a file belongs to."""
    for name, folder in members().items():
        if path.is_relative_to(folder):
            return name
    return "examples" if path.is_relative_to(ROOT / "examples") else "workspace"


def shown() -> dict[str, set[str]]:
    """Give the packages whose tests carry each id."""
    found: dict[str, set[str]] = {}
    for path in python_files():
        if is_test_code(path):
            for mark in marks(parse(path)):
                found.setdefault(mark, set()).add(package_of(path))
    return found


def test_marks_are_read_from_decorators_parameters_and_lists() -> None:
    tree = ast.parse(
        "@pytest.mark.requirement('A-1', 'A-2')\n"
        "def test_a(): ...\n"
        "pytestmark = [pytest.mark.requirement('B-1')]\n"
        "case = pytest.param(1, marks=pytest.mark.requirement('C-1'))\n"
        "other = pytest.mark.asyncio('D-1')\n"
    )
    assert sorted(marks(tree)) == ["A-1", "A-2", "B-1", "C-1"]


def test_no_two_rows_have_the_same_id() -> None:
    ids = [row.id for row in REQUIREMENTS]
    assert sorted(set(ids)) == sorted(ids)


def test_every_mark_of_a_test_has_a_row() -> None:
    missing = sorted(shown().keys() - {row.id for row in REQUIREMENTS})
    assert not missing, f"Add rows for {', '.join(missing)} below tests/requirement_rows/."


def test_every_row_has_a_test_that_shows_it() -> None:
    idle = sorted({row.id for row in REQUIREMENTS} - shown().keys())
    assert not idle, f"No test carries {', '.join(idle)}; mark one, or take the row out."


def test_every_row_names_packages_whose_tests_show_it() -> None:
    found = shown()
    wrong = [
        f"{row.id}: {', '.join(sorted(found[row.id]))}"
        for row in REQUIREMENTS
        if row.id in found and not set(row.packages) <= found[row.id]
    ]
    assert not wrong, "These rows name packages without the mark; it is in: " + "; ".join(wrong)


def test_rows_stand_in_the_order_of_their_ids_within_a_section() -> None:
    numbers: dict[str, list[int]] = {}
    for row in REQUIREMENTS:
        section, _, number = row.id.rpartition("-")
        numbers.setdefault(section, []).append(int(number))
    assert all(found == sorted(found) for found in numbers.values())


@pytest.mark.parametrize(
    ("requirement_id", "source", "sentence", "packages"),
    [
        ("hitl-7", "000 §Custom L203", "It holds.", ("spakky-agent",)),
        ("HITL-7", " ", "It holds.", ("spakky-agent",)),
        ("HITL-7", "000 §Custom L203", "It holds", ("spakky-agent",)),
        ("HITL-7", "000 §Custom L203", "It holds.\nAlways.", ("spakky-agent",)),
        ("HITL-7", "000 §Custom L203", "It holds.", ()),
    ],
)
def test_a_row_that_is_not_whole_is_refused(
    requirement_id: str, source: str, sentence: str, packages: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=requirement_id):
        Requirement(requirement_id, source, sentence, packages)


def test_marks_stand_in_files_that_pytest_collects() -> None:
    stray = [
        name_of(path)
        for path in python_files()
        if not is_test_code(path) and list(marks(parse(path)))
    ]
    assert not stray, f"Marks outside of a tests folder show nothing: {', '.join(stray)}"
