"""Write the exact version of every dependency into ``[tool.uv] constraint-dependencies`` of the root ``pyproject.toml``.

    python scripts/pin.py              pin what the current ranges and pins resolve to (adds new names, drops old ones)
    python scripts/pin.py --upgrade    forget the pins first, so that everything moves to its newest version

The pins take the place of a lock file; ``docs/adr/0015-pins-without-a-lock-file.md`` says why.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "pyproject.toml"
BLOCK = re.compile(r"^constraint-dependencies = \[\n(.*?)^\]\n", re.MULTILINE | re.DOTALL)


def read_pins(text: str) -> tuple[str, ...]:
    """Give the pins in the text of the root project file, in its order.

    Raises:
        ValueError: The file has no block of pins.
    """
    block = BLOCK.search(text)
    if block is None:
        message = "pyproject.toml has no [tool.uv] constraint-dependencies block; add an empty one."
        raise ValueError(message)
    return tuple(re.findall(r'^    "(.*)",$', block[1], re.MULTILINE))


def write_pins(text: str, pins: tuple[str, ...]) -> str:
    """Give the text of the root project file with other pins, sorted.

    Raises:
        ValueError: As ``read_pins``.
    """
    read_pins(text)
    lines = "".join(f'    "{pin}",\n' for pin in sorted(pins))
    return BLOCK.sub(lambda _: f"constraint-dependencies = [\n{lines}]\n", text, count=1)


def parse_export(output: str) -> tuple[str, ...]:
    """Give the pins in what ``uv export`` prints: one requirement a line, comments and blank lines between.

    Double quotes become single ones, so that a marker can stand in a quoted string.
    """
    lines = (line.strip() for line in output.splitlines())
    return tuple(
        sorted(line.replace('"', "'") for line in lines if line and not line.startswith("#"))
    )


def resolve() -> tuple[str, ...]:
    """Resolve every group and extra for every supported Python and platform; the workspace's own packages are left out."""
    subprocess.run(["uv", "lock", "--quiet"], cwd=ROOT, check=True)
    command = ["uv", "export", "--frozen", "--quiet", "--all-groups", "--all-extras"]
    options = ["--no-hashes", "--no-header", "--no-annotate", "--no-emit-workspace"]
    result = subprocess.run(
        [*command, *options], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return parse_export(result.stdout)


def main() -> int:
    """Resolve and write; gives the exit code."""
    text = PROJECT.read_text(encoding="utf-8")
    if "--upgrade" in sys.argv[1:]:
        text = write_pins(text, ())
        PROJECT.write_text(text, encoding="utf-8")
        (ROOT / "uv.lock").unlink(missing_ok=True)
    pins = resolve()
    PROJECT.write_text(write_pins(text, pins), encoding="utf-8")
    print(f"{len(pins)} pins written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
