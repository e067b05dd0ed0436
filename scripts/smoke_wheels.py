"""Install the built wheels outside the workspace and run them: alone where they must work alone, then all together.

    python scripts/smoke_wheels.py dist

Each check gets a fresh environment in a temporary folder. The wheels' folder is named to the installer, and each wheel
is installed by its file, so that no distribution of the same name from elsewhere can take its place.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMOKE = ROOT / "scripts" / "smoke"


@dataclass(frozen=True, slots=True)
class Check:
    """One environment and the program that runs in it.

    Attributes:
        program: A file of ``scripts/smoke``.
        wheels: The distributions to install, each with its extras.
    """

    program: str
    wheels: tuple[str, ...]


CHECKS = (
    Check("core_alone.py", ("spakky-agent",)),
    Check("base_alone.py", ("spakky-sqlalchemy",)),
    Check(
        "durable.py",
        ("spakky-agent", "spakky-vllm", "spakky-sqlalchemy[agent,postgresql]", "spakky-typer"),
    ),
)


def find_wheel(dist: Path, name: str) -> Path:
    """Give the wheel of a distribution.

    Raises:
        FileNotFoundError: There is none, or more than one.
    """
    found = sorted(dist.glob(f"{name.replace('-', '_')}-*.whl"))
    if len(found) != 1:
        message = f"{dist} holds {len(found)} wheels of {name}; build all packages into an empty folder first."
        raise FileNotFoundError(message)
    return found[0]


def requirement(dist: Path, wheel: str) -> str:
    """Give the requirement that installs exactly one file, with its extras."""
    name, bracket, extras = wheel.partition("[")
    return f"{name}{bracket}{extras} @ {find_wheel(dist, name).as_uri()}"


def run_check(check: Check, dist: Path, folder: Path) -> None:
    """Make the environment, install, and run the program in it.

    Raises:
        subprocess.CalledProcessError: A step failed; its output has been printed.
    """
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    _run(["uv", "venv", "--quiet", "--python", version, str(folder)], folder.parent)
    install = ["uv", "pip", "install", "--quiet", "--python", str(python)]
    wheels = [requirement(dist, wheel) for wheel in check.wheels]
    _run([*install, "--find-links", str(dist), *wheels], folder.parent)
    _run([str(python), "-I", str(SMOKE / check.program)], folder.parent)


def _run(command: Sequence[str], cwd: Path) -> None:
    # The program must find nothing of the workspace.
    environment = {key: value for key, value in os.environ.items() if key not in _WORKSPACE}
    subprocess.run(command, cwd=cwd, env=environment, check=True)


_WORKSPACE = frozenset({"PYTHONPATH", "VIRTUAL_ENV", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT"})


def main() -> int:
    """Run every check; gives the exit code."""
    if len(sys.argv) != 2:
        print("Give the folder with the wheels.")
        return 2
    dist = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="wheels-") as temporary:
        for number, check in enumerate(CHECKS):
            run_check(check, dist, Path(temporary) / f"environment-{number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
