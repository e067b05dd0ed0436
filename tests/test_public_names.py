"""The public names of the core are a list that changes on purpose only."""

import ast
import importlib
import inspect
import subprocess
import sys

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


def test_type_checkers_are_told_the_same_names_from_the_same_modules() -> None:
    stub = ast.parse(read(ROOT / "core/spakky-agent/src/spakky/agent/__init__.pyi"))
    imported = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(imported) == sorted(PINNED)
    for name, module in imported.items():
        assert module is not None
        assert getattr(spakky.agent, name) is getattr(importlib.import_module(module), name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        spakky.agent.no_such_name  # type: ignore[attr-defined]  # noqa: B018 - that is what is tested
    assert set(PINNED) <= set(dir(spakky.agent))


def test_importing_the_package_loads_none_of_its_modules() -> None:
    program = (
        "import sys, spakky.agent; print([m for m in sys.modules if m.startswith('spakky.agent.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


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
