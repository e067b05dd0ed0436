"""Draw the two tables of the framework as documents, so that the pictures cannot drift from the code.

``docs/generated/lifecycle.md`` comes from ``spakky.agent.rules.lifecycle.TABLE``, ``docs/generated/loop.md`` from the
sources of ``spakky.agent.loop.decide`` (which step a phase may choose) and ``spakky.agent.loop.fold`` (which phase an
outcome may lead to).

    python scripts/draw_tables.py            write both files
    python scripts/draw_tables.py --check    write nothing; fail when a file is out of date
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from spakky.agent.contracts.state import AgentStatus
from spakky.agent.loop import decide, fold, steps
from spakky.agent.loop.progress import Phase
from spakky.agent.rules.lifecycle import ENDED, TABLE, Standing, Trigger

GENERATED = Path(__file__).resolve().parent.parent / "docs" / "generated"
NOTE = "<!-- Written by scripts/draw_tables.py; run `make docs` after a change of the tables. -->\n"


# ---------------------------------------------------------------- life cycle


def draw_lifecycle(table: Mapping[AgentStatus, Mapping[Trigger, Standing]]) -> str:
    """Give the document of the status table: a state diagram, and every row."""
    return "\n".join(
        (
            NOTE,
            "# The life cycle of a run\n",
            "What moves the status of a run. A row that is not here does not exist: the move is refused with an error",
            "that names the status and the trigger. An ended run has no rows, so nothing opens it again.\n",
            "```mermaid",
            "stateDiagram-v2",
            f"    [*] --> {AgentStatus.CREATED.value}",
            *_status_arrows(table),
            *(f"    {status.value} --> [*]" for status in AgentStatus if status in ENDED),
            "```\n",
            "| status | trigger | status afterwards | transition | reason |",
            "|---|---|---|---|---|",
            *_status_rows(table),
            "",
        )
    )


def _status_arrows(table: Mapping[AgentStatus, Mapping[Trigger, Standing]]) -> Iterator[str]:
    for status, moves in table.items():
        labels: dict[AgentStatus, list[str]] = {}
        for trigger, standing in moves.items():
            labels.setdefault(standing.status, []).append(trigger.value)
        for target, triggers in labels.items():
            yield f"    {status.value} --> {target.value}: {', '.join(triggers)}"


def _status_rows(table: Mapping[AgentStatus, Mapping[Trigger, Standing]]) -> Iterator[str]:
    for status, moves in table.items():
        for trigger, standing in moves.items():
            reason = "" if standing.reason is None else standing.reason.value
            cells = (status.value, trigger.value, standing.status.value, standing.transition.value)
            yield f"| {' | '.join((*cells, reason))} |".replace("|  |", "| |")


# ---------------------------------------------------------------- loop


def draw_loop(
    choices: Mapping[str, tuple[str, ...]], results: Mapping[str, tuple[str, ...]]
) -> str:
    """Give the document of the loop's tables.

    Args:
        choices: The steps that each phase may choose.
        results: The phases that each outcome may lead to; none for an outcome that leaves the phase alone.
    """
    return "\n".join(
        (
            NOTE,
            "# The table of the loop\n",
            "From where a run stands (`decide`) to the step that it takes next:\n",
            "```mermaid",
            "flowchart LR",
            *(
                f"    {phase} --> {step}[[{step}]]"
                for phase, chosen in choices.items()
                for step in chosen
            ),
            "```\n",
            "| phase | steps it may choose |",
            "|---|---|",
            *(f"| {phase} | {', '.join(chosen) or 'none'} |" for phase, chosen in choices.items()),
            "",
            "From what came of a step (`fold`) to the phase where the loop goes on:\n",
            "| outcome | phases it may lead to |",
            "|---|---|",
            *(f"| {name} | {', '.join(found) or 'as before'} |" for name, found in results.items()),
            "",
        )
    )


def read_choices() -> dict[str, tuple[str, ...]]:
    """Read out of ``decide`` which steps each phase may choose, in the order of the phases and steps."""
    names = [
        name
        for name, value in vars(steps).items()
        if inspect.isclass(value) and value.__module__ == steps.__name__
    ]
    functions = _functions(decide)
    found: dict[str, tuple[str, ...]] = {}
    for key, value in _table_items(decide):
        used = (
            node.func.id
            for node in _reach(functions, value)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        )
        chosen = frozenset(used)
        found[Phase[key].value] = tuple(name for name in names if name in chosen)
    return found


def read_results() -> dict[str, tuple[str, ...]]:
    """Read out of ``fold`` which phases each outcome may lead to, sorted as the phases are."""
    functions = _functions(fold)
    found: dict[str, tuple[str, ...]] = {}
    for key, value in _table_items(fold):
        used = {
            keyword.value.attr
            for node in _reach(functions, value)
            if isinstance(node, ast.Call)
            for keyword in node.keywords
            if keyword.arg == "phase" and isinstance(keyword.value, ast.Attribute)
        }
        found[key] = tuple(phase.value for phase in Phase if phase.name in used)
    found["Opened"] = ("any phase that a stored run may be in; polling for a new one",)
    return found


def _functions(module: ModuleType) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _table_items(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Give the keys and functions of the module's ``_TABLE``, by name."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_TABLE" and node.value:
            mapping = next(part for part in ast.walk(node.value) if isinstance(part, ast.Dict))
            for key, value in zip(mapping.keys, mapping.values, strict=True):
                if key is not None:
                    yield ast.unparse(key).rpartition(".")[2], ast.unparse(value)


def _reach(functions: Mapping[str, ast.FunctionDef], start: str) -> Iterator[ast.AST]:
    """Give the syntax of a function and of every function of its module that it uses, in the order of use."""
    waiting, seen = [start], {start}
    while waiting:
        for node in ast.walk(functions[waiting.pop(0)]):
            yield node
            if isinstance(node, ast.Name) and node.id in functions and node.id not in seen:
                seen.add(node.id)
                waiting.append(node.id)


# ---------------------------------------------------------------- files


def draw_all() -> dict[Path, str]:
    """Give every generated file with its text."""
    return {
        GENERATED / "lifecycle.md": draw_lifecycle(TABLE),
        GENERATED / "loop.md": draw_loop(read_choices(), read_results()),
    }


def main() -> int:
    """Write the files, or check them; gives the exit code."""
    stale = [
        path
        for path, text in draw_all().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.name} is out of date; run `make docs`.")
        return int(bool(stale))
    for path, text in draw_all().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(stale)} of {len(draw_all())} files changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
