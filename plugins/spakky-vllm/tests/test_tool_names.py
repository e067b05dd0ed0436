"""The reversible map of tool names."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.plugins.vllm.tool_names import ToolNameMap

WIRE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@pytest.mark.requirement("VLLM-4")
def test_a_dotted_name_gets_a_readable_wire_name_and_comes_back() -> None:
    names = ToolNameMap(["file.read", "ping"])

    assert names.to_wire("file.read") == "file_read"
    assert names.to_declared("file_read") == "file.read"
    assert names.to_wire("ping") == "ping"


@pytest.mark.requirement("VLLM-4")
def test_names_that_would_collide_stay_apart() -> None:
    """OP-A12."""
    long = "a" * 89
    declared = [
        "workspace.read",
        "workspace_read",
        f"{long}x",
        f"{long}y",
        "w.r",
        "w r",
        "한글",
        "",
    ]
    names = ToolNameMap(declared)
    wire = [names.to_wire(name) for name in declared]

    assert len(set(wire)) == len(declared)
    assert all(WIRE_NAME.fullmatch(name) for name in wire)
    assert [names.to_declared(name) for name in wire] == declared
    assert names.to_wire("workspace_read") == "workspace_read"


def test_a_wire_name_that_is_taken_by_a_tool_of_that_very_name_is_made_longer() -> None:
    taken = ToolNameMap(["a.b", "a_b"]).to_wire("a.b")
    names = ToolNameMap(["a.b", "a_b", taken])

    assert names.to_wire(taken) == taken
    assert names.to_wire("a.b") != taken
    assert names.to_declared(names.to_wire("a.b")) == "a.b"


@pytest.mark.requirement("VLLM-4")
def test_the_map_is_the_same_in_every_process_and_for_every_order() -> None:
    """OP-A12."""
    declared = ["b.c", "b c", "x" * 90, "b_c"]
    code = (
        "from spakky.plugins.vllm.tool_names import ToolNameMap as M\n"
        f"n = {declared[::-1]!r}\nm = M(n)\nprint(*[m.to_wire(x) for x in sorted(n)])"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    names = ToolNameMap(declared)

    assert other.stdout.split() == [names.to_wire(name) for name in sorted(declared)]


def test_a_tool_of_the_history_never_takes_the_name_of_an_offered_one() -> None:
    names = ToolNameMap(["a.b"], ["a_b", "a-b", "gone.tool", "a.b"])

    assert names.to_wire("a.b") == "a_b"
    assert names.to_declared(names.to_wire("a_b")) == "a_b"
    assert names.to_wire("gone.tool") == "gone_tool"
    assert names.to_wire("a-b") == "a-b"


def test_a_name_that_no_tool_has_is_given_back_unchanged() -> None:
    assert ToolNameMap(["a.b"]).to_declared("a.b") == "a.b"
    assert ToolNameMap([]).to_declared("nothing") == "nothing"


@given(st.sets(st.text(max_size=80), max_size=12), st.sets(st.text(max_size=80), max_size=6))
@pytest.mark.requirement("VLLM-4")
def test_any_names_come_back_from_the_wire(declared: set[str], replayed: set[str]) -> None:
    names = ToolNameMap(declared, replayed)
    wire = {name: names.to_wire(name) for name in declared | replayed}

    assert len(set(wire.values())) == len(wire)
    for name, wire_name in wire.items():
        assert WIRE_NAME.fullmatch(wire_name)
        assert names.to_declared(wire_name) == name
