"""What the distributions promise about each other: names, licences, dependencies, imports, pins."""

import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from itertools import chain

import pin
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from repository import (
    ROOT,
    imported_names,
    members,
    module_folder,
    name_of,
    parse,
    project,
    read,
    settings,
    source_files,
)

from spakky.agent import (
    IAgentEvidenceRepository,
    IAgentModel,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
    ITaskStore,
)

INFRASTRUCTURE = frozenset(
    {
        "a2a",
        "ag_ui",
        "aiosqlite",
        "alembic",
        "asyncpg",
        "fastapi",
        "httpx",
        "mcp",
        "pydantic",
        "sqlalchemy",
        "starlette",
        "typer",
    }
)
STORES = (
    IAgentStateRepository,
    IAgentSignalRepository,
    IAgentEvidenceRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
    ITaskStore,
)


def core_classes() -> Iterator[type]:
    """Give every class that is defined in the core."""
    folder = module_folder("spakky-agent")
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(("spakky.agent", *parts)).removesuffix(".__init__")
        module = importlib.import_module(name)
        for _, value in inspect.getmembers(module, inspect.isclass):
            if value.__module__ == name:
                yield value


def core_imports() -> set[str]:
    """Give every module that the core imports."""
    return {
        name
        for path in module_folder("spakky-agent").rglob("*.py")
        for name in imported_names(parse(path))
    }


@pytest.mark.requirement("PKG-5")
def test_the_core_has_no_store_that_could_stand_in_for_a_real_one() -> None:
    found = [
        kind for kind in core_classes() if issubclass(kind, STORES) and not inspect.isabstract(kind)
    ]
    assert not found


@pytest.mark.requirement("PKG-9")
def test_the_core_has_no_model() -> None:
    found = [
        kind
        for kind in core_classes()
        if issubclass(kind, IAgentModel) and not inspect.isabstract(kind)
    ]
    assert not found


@pytest.mark.requirement("PKG-7")
def test_the_core_requires_the_container_and_nothing_else() -> None:
    requirements = [
        Requirement(line) for line in project(members()["spakky-agent"])["dependencies"]
    ]
    assert [canonicalize_name(found.name) for found in requirements] == ["spakky"]
    assert "optional-dependencies" not in project(members()["spakky-agent"])


@pytest.mark.requirement("PKG-7")
def test_the_core_imports_the_standard_library_and_the_container_only() -> None:
    # The standard library of Python 3.14 has a module more, which is imported there only.
    known = sys.stdlib_module_names | {"annotationlib"}
    foreign = {
        name
        for name in core_imports()
        if name.partition(".")[0] not in known
        and not name.startswith(("spakky.core.", "spakky.agent."))
        and name != "spakky.agent"
    }
    assert not foreign


@pytest.mark.requirement("PKG-8")
def test_the_core_imports_no_infrastructure() -> None:
    assert not {name.partition(".")[0] for name in core_imports()} & INFRASTRUCTURE


ALONE = """
import sys
from importlib.machinery import PathFinder

class Refusing(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in {"core_alone", "uuid_extensions"}:
            return None
        if name == "spakky" or name.startswith(("spakky.core", "spakky.agent.")) or name == "spakky.agent":
            return None
        raise ModuleNotFoundError(f"not in an environment of the core alone: {name}", name=name)

sys.meta_path.insert(0, Refusing)
import core_alone
core_alone.run_checks()
"""


@pytest.mark.requirement("PKG-3", "PKG-7", "BOOT-3", "BOOT-5")
def test_the_core_runs_where_nothing_else_can_be_imported() -> None:
    smoke = str(ROOT / "scripts" / "smoke")
    result = subprocess.run(
        [sys.executable, "-c", ALONE],
        env={**os.environ, "PYTHONPATH": smoke},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert "one run" in result.stdout


@pytest.mark.requirement("PKG-10")
def test_there_is_no_agent_package_for_a_single_front_end() -> None:
    assert not {"spakky-agent-fastapi", "spakky-agent-typer"} & members().keys()


@pytest.mark.requirement("PKG-12")
def test_every_member_is_a_distribution_named_as_its_folder() -> None:
    assert {"spakky-agent", "spakky-sqlalchemy", "spakky-typer", "spakky-vllm"} <= members().keys()
    for name, folder in members().items():
        assert folder.name == name
        assert (module_folder(name) / "__init__.py").is_file()
        assert (module_folder(name) / "py.typed").is_file(), f"{name} is typed and must say so"
        assert settings(folder)["build-system"]["build-backend"] == "uv_build"


@pytest.mark.requirement("PKG-14")
def test_every_distribution_is_licensed_under_mit() -> None:
    text = read(ROOT / "LICENSE")
    assert text.startswith("MIT License")
    for name, folder in members().items():
        assert project(folder)["license"] == "MIT", name
        assert project(folder)["license-files"] == ["LICENSE"], name
        assert read(folder / "LICENSE") == text, name
        assert distribution(name).metadata["License-Expression"] == "MIT", name


def test_namespace_folders_stay_open_for_other_distributions() -> None:
    for folder in members().values():
        assert not (folder / "src" / "spakky" / "__init__.py").exists()
        assert not (folder / "src" / "spakky" / "plugins" / "__init__.py").exists()


def test_requirements_between_our_packages_have_an_upper_bound() -> None:
    ours = members().keys()
    for name, folder in members().items():
        table = project(folder)
        extras = table.get("optional-dependencies", {})
        lines = chain(table.get("dependencies", ()), *extras.values())
        for requirement in map(Requirement, lines):
            if canonicalize_name(requirement.name) in ours:
                assert any(part.operator == "<" for part in requirement.specifier), (
                    f"{name}: {requirement}"
                )


def test_every_distribution_supports_the_pythons_that_are_checked() -> None:
    workflow = read(ROOT / ".github" / "workflows" / "ci.yml")
    found = re.search(r"python: \[(.*)\]", workflow)
    checked = set(re.findall(r"[0-9.]+", found[1] if found else ""))
    assert checked
    for name, folder in members().items():
        versions = {
            line.rpartition(" ")[2]
            for line in project(folder)["classifiers"]
            if "Python :: 3." in line
        }
        assert versions == checked, name
        assert project(folder)["requires-python"] == ">=3.12", name


def test_import_contracts_see_every_folder_of_the_core() -> None:
    # A folder without __init__.py is seen by the linter only when it is named.
    roots = set(settings(ROOT)["tool"]["importlinter"]["root_packages"])
    folder = module_folder("spakky-agent")
    for path in folder.rglob("*.py"):
        parent = path.parent
        if parent != folder and not (parent / "__init__.py").exists():
            assert ".".join(("spakky.agent", *parent.relative_to(folder).parts)) in roots


def test_import_contracts_cover_every_distribution() -> None:
    linter = settings(ROOT)["tool"]["importlinter"]
    modules = {
        settings(folder)["tool"]["uv"]["build-backend"]["module-name"]
        for folder in members().values()
    }
    assert modules <= set(linter["root_packages"])
    [apart] = [found for found in linter["contracts"] if found["id"] == "plugins-apart"]
    assert set(apart["modules"]) == {
        module for module in modules if module.startswith("spakky.plugins.")
    }


def test_nothing_that_ships_imports_the_test_kit() -> None:
    kit = module_folder("spakky-agent-testkit")
    found = [
        name_of(path)
        for path in source_files()
        if not path.is_relative_to(kit)
        for name in imported_names(parse(path))
        if name.startswith("spakky.agent_testkit")
    ]
    assert not found


# ---------------------------------------------------------------- pins


def needed() -> dict[str, Distribution]:
    """Give what the workspace's environment needs, by name: every requirement's requirements, for this machine."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    waiting = [
        Requirement(line)
        for line in (*table["project"]["dependencies"], *table["dependency-groups"]["dev"])
    ]
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        key = (name, frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        found[name] = distribution(name)
        waiting.extend(
            inner
            for inner in map(Requirement, found[name].requires or ())
            if any(_applies(inner, extra) for extra in ("", *requirement.extras))
        )
    return {
        name: value
        for name, value in found.items()
        if name not in members() and name != "spakky-agent-examples"
    }


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def pins() -> dict[str, Requirement]:
    """Give the pins that apply to this machine, by name."""
    found = map(Requirement, pin.read_pins(read(ROOT / "pyproject.toml")))
    return {canonicalize_name(each.name): each for each in found if _applies(each, "")}


def test_everything_that_is_needed_is_pinned() -> None:
    missing = needed().keys() - pins().keys()
    assert not missing, f"Run `make pins`: {', '.join(sorted(missing))} are not pinned."


def test_nothing_else_is_pinned() -> None:
    idle = pins().keys() - needed().keys()
    assert not idle, f"Run `make pins`: {', '.join(sorted(idle))} are not needed any more."


def test_pins_are_sorted_exact_versions() -> None:
    found = pin.read_pins(read(ROOT / "pyproject.toml"))
    assert list(found) == sorted(found)
    for each in map(Requirement, found):
        assert [part.operator for part in each.specifier] == ["=="]


def test_no_lock_file_is_kept() -> None:
    assert "uv.lock" in read(ROOT / ".gitignore").splitlines()
