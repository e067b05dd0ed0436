"""Imports: CPU time of importing the core and the adapter, each in fresh interpreters."""

import subprocess
import sys

from measure import Row, print_table

ROUNDS = 15
CONTAINER = "spakky.core.application.application_context"
IMPORTS = {
    "container": f"import {CONTAINER}",
    "core": "import spakky.agent",
    "agent": f"import {CONTAINER}; from spakky.agent import Agent",
    "libraries": f"import {CONTAINER}, httpx, msgspec, pydantic_settings",
    "adapter": "import spakky.agent, spakky.plugins.vllm",
}


def measure_once(statement: str) -> float:
    """Give the CPU time of a statement in a new interpreter, in milliseconds, without the interpreter's own start."""
    code = (
        f"import time; began = time.process_time(); {statement}; print(time.process_time() - began)"
    )
    # In isolated mode nothing but the installed packages is on the path.
    output = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    return float(output) * 1e3


def main() -> None:
    """Measure in turns and print."""
    least = dict.fromkeys(IMPORTS, float("inf"))
    for _ in range(ROUNDS):
        for name, statement in IMPORTS.items():
            least[name] = min(least[name], measure_once(statement))
    rows = [
        Row(
            "spakky.agent, beside the container alone", least["container"], least["core"], "ms", 1.5
        ),
        Row(
            "an agent and its container, beside the container",
            least["container"],
            least["agent"],
            "ms",
        ),
        Row(
            "core and adapter, beside their libraries",
            least["libraries"],
            least["adapter"],
            "ms",
            1.3,
        ),
    ]
    print_table("Imports: CPU time", rows)


if __name__ == "__main__":
    main()
