"""The public names of the core are a list that changes on purpose only."""

import inspect

import pytest
from repository import ROOT, read

import spakky.agent
from spakky.agent import error
from spakky.agent.error import AbstractSpakkyAgentError

PINNED = tuple(read(ROOT / "tests" / "public_names.txt").split())


def test_the_public_names_are_those_of_the_list() -> None:
    assert sorted(spakky.agent.__all__) == sorted(PINNED), (
        "Change tests/public_names.txt too, if it is meant."
    )


def test_the_list_is_sorted_and_has_no_name_twice() -> None:
    assert list(PINNED) == sorted(set(PINNED))


@pytest.mark.requirement("PKG-1")
@pytest.mark.parametrize("name", PINNED)
def test_every_public_name_is_there(name: str) -> None:
    assert hasattr(spakky.agent, name)


@pytest.mark.requirement("ERR-1")
def test_every_error_is_public_and_has_the_common_base() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(error, inspect.isclass)
        if kind.__module__ == error.__name__
    ]
    assert len(kinds) > 20
    for kind in kinds:
        assert issubclass(kind, AbstractSpakkyAgentError)
        assert kind.__name__ in spakky.agent.__all__


def test_no_two_errors_share_a_code() -> None:
    codes = [
        kind.code
        for _, kind in inspect.getmembers(error, inspect.isclass)
        if issubclass(kind, AbstractSpakkyAgentError)
    ]
    # A model's and a tool's failure are the defaults of their families.
    assert sorted(set(codes)) == sorted(codes)
