"""Type check everything strictly: the sources in one run, each folder of tests in a run of its own.

Tests of different packages may have files of the same name (``conftest.py``), which one run would refuse. Every run
uses the settings of the root ``pyproject.toml``.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def plan_runs(root: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give each run as its extra import path (may be empty) and what it checks, relative to the root."""
    members = sorted((*root.glob("core/*"), *root.glob("plugins/*"), root / "examples"))
    sources = tuple(
        str((member / "src").relative_to(root)) for member in members if _has_python(member / "src")
    )
    yield "", (*sources, "scripts")
    for tests in (*(member / "tests" for member in members), root / "tests"):
        if _has_python(tests):
            name = str(tests.relative_to(root))
            yield name, (name,)


def _has_python(folder: Path) -> bool:
    return next(folder.rglob("*.py"), None) is not None


def check(run: tuple[str, tuple[str, ...]]) -> tuple[str, int, str]:
    """Check one run; gives what was checked, mypy's exit code and its output."""
    path, targets = run
    paths = (path, os.environ.get("MYPYPATH", ""))
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
