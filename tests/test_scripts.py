"""The scripts of the repository do what they say."""

import os
from pathlib import Path

import draw_tables
import pin
import pytest
import smoke_wheels
import typecheck
from repository import ROOT, members

from spakky.agent.contracts.state import AgentStatus
from spakky.agent.loop.progress import Phase
from spakky.agent.rules.lifecycle import TABLE

PROJECT = '[tool.uv]\nconstraint-dependencies = [\n    "b==2",\n    "a==1 ; sys_platform == \'win32\'",\n]\n\n[other]\n'


def test_pins_are_read_in_their_order() -> None:
    assert pin.read_pins(PROJECT) == ("b==2", "a==1 ; sys_platform == 'win32'")


def test_pins_are_written_sorted_and_leave_the_rest_alone() -> None:
    text = pin.write_pins(PROJECT, ("d==4", "c==3"))
    assert (
        text == '[tool.uv]\nconstraint-dependencies = [\n    "c==3",\n    "d==4",\n]\n\n[other]\n'
    )
    assert pin.read_pins(pin.write_pins(text, ())) == ()


def test_a_project_without_a_block_of_pins_is_refused() -> None:
    with pytest.raises(ValueError, match="constraint-dependencies"):
        pin.write_pins("[tool.uv]\n", ("a==1",))


def test_an_export_is_read_without_its_comments() -> None:
    output = '# made by uv\nb==2 ; python_version < "3.13"\n\na==1\n    # via b\n'
    assert pin.parse_export(output) == ("a==1", "b==2 ; python_version < '3.13'")


def test_every_folder_of_python_is_type_checked() -> None:
    runs = list(typecheck.plan_runs(ROOT))
    checked = {target for _, targets in runs for target in targets}
    for folder in members().values():
        name = folder.relative_to(ROOT).as_posix()
        assert {f"{name}/src", f"{name}/tests"} <= checked
    assert {"scripts", "tests", "docs/samples"} <= checked
    known = {"", "benchmarks", os.pathsep.join(("examples", "examples/tests"))}
    assert all(path in {*known, targets[0]} for path, targets in runs)


def test_the_life_cycle_is_drawn_with_every_row() -> None:
    text = draw_tables.draw_lifecycle(TABLE)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) - 1 == sum(map(len, TABLE.values()))
    assert all(status.value in text for status in AgentStatus)


def test_the_loop_is_drawn_with_the_steps_of_every_phase() -> None:
    choices = draw_tables.read_choices()
    assert list(choices) == [phase.value for phase in Phase]
    assert choices["asking"] == ("AskModel", "Settle")
    assert choices["calling"] == ("RunCalls", "AskPeople", "Settle")
    assert choices["settled"] == ()


def test_the_loop_is_drawn_with_the_phases_of_every_outcome() -> None:
    results = draw_tables.read_results()
    assert results["Stopped"] == ("cleaning", "settling")
    assert results["Settled"] == ("settled",)
    assert results["Recorded"] == ()


def test_a_wheel_is_installed_by_its_file(tmp_path: Path) -> None:
    wheel = tmp_path / "spakky_sqlalchemy-0.1.0-py3-none-any.whl"
    wheel.touch()
    found = smoke_wheels.requirement(tmp_path, "spakky-sqlalchemy[agent]")
    assert found == f"spakky-sqlalchemy[agent] @ {wheel.as_uri()}"


def test_a_wheel_that_was_not_built_is_missed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="0 wheels of spakky-agent"):
        smoke_wheels.find_wheel(tmp_path, "spakky-agent")


def test_the_wheels_of_every_plugin_and_of_the_core_are_tried() -> None:
    tried = {wheel.partition("[")[0] for check in smoke_wheels.CHECKS for wheel in check.wheels}
    assert tried == members().keys() - {"spakky-agent-testkit"}
    assert all((smoke_wheels.SMOKE / check.program).is_file() for check in smoke_wheels.CHECKS)
