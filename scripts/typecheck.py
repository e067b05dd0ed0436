"""Type check everything strictly: the sources in one run, each folder of tests in a run of its own.

Tests of different packages may have files of the same name (``conftest.py``), which one run would refuse. Every run
uses the settings of the root ``pyproject.toml``.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def plan_runs(root: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each run as its extra import path (may be empty) and what it checks, relative to the root."""
    members = sorted((*root.glob("core/*"), *root.glob("plugins/*")))
    sources = (*(member / "src" for member in members), root / "scripts", root / "docs" / "samples")
    yield "", tuple(_names(root, sources))
    for tests in _names(root, (*(member / "tests" for member in members), root / "tests")):
        yield tests, (tests,)
    if examples := tuple(_names(root, (root / "examples",))):
        yield os.pathsep.join(("examples", "examples/tests")), examples
    if benchmarks := tuple(_names(root, (root / "benchmarks",))):
        yield "benchmarks", benchmarks


def _names(root: Path, folders: Iterable[Path]) -> Iterator[str]:
    yield from (folder.relative_to(root).as_posix() for folder in folders if _has_python(folder))


def _has_python(folder: Path) -> bool:
    return next(folder.rglob("*.py"), None) is not None


def check(run: tuple[str, tuple[str, ...]]) -> tuple[str, int, str]:
    """Check one run; gives what was checked, mypy's exit code and its output."""
    path, targets = run
    paths = (path, "scripts" if path == "tests" else "", os.environ.get("MYPYPATH", ""))
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(part for part in paths if part)}
    command = [sys.executable, "-m", "mypy", *targets]
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return " ".join(targets), result.returncode, result.stdout + result.stderr


def main() -> int:
    """Run every check, the sources first so that the others find them in the cache; gives the exit code."""
    sources, *tests = plan_runs(ROOT)
    workers = 2 if "--parallel" in sys.argv[1:] else 1
    failed = False
    with ThreadPoolExecutor(workers) as pool:
        for targets, code, output in (check(sources), *pool.map(check, tests)):
            print(f"{targets}\n    {output.strip()}")
            failed = failed or code != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
