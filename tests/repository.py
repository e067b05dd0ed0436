"""What the repository holds, as the checks across packages see it."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_LEFT_OUT = frozenset({"dist", "htmlcov", "site", "node_modules", "__pycache__"})
_HIDDEN_BUT_OURS = frozenset({".ci", ".github"})
_BINARY = frozenset({".png", ".gif", ".ico", ".db", ".sqlite3", ".whl", ".gz", ".pyc", ".woff2"})


@cache
def files() -> tuple[Path, ...]:
    """Give every file that belongs to the repository, and nothing that tools leave behind."""
    return tuple(sorted(_walk(ROOT)))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            hidden = path.name.startswith(".") and path.name not in _HIDDEN_BUT_OURS
            if not hidden and path.name not in _LEFT_OUT and not path.is_symlink():
                yield from _walk(path)
        elif not path.name.startswith((".coverage", "coverage.xml")) and path.name != "uv.lock":
            yield path


def texts() -> Iterator[tuple[str, str]]:
    """Give each text file's path below the root, and its text."""
    for path in files():
        if path.suffix not in _BINARY:
            yield name_of(path), read(path)


@cache
def read(path: Path) -> str:
    """Give the text of a file; bytes that are no UTF-8 are kept as escapes."""
    return path.read_text(encoding="utf-8", errors="surrogateescape")


@cache
def parse(path: Path) -> ast.Module:
    """Give the syntax tree of a module."""
    return ast.parse(read(path), str(path))


def name_of(path: Path) -> str:
    """Give a path below the root, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


def python_files() -> tuple[Path, ...]:
    """Give every Python file."""
    return tuple(path for path in files() if path.suffix == ".py")


def is_test_code(path: Path) -> bool:
    """Say whether a file belongs to a folder of tests."""
    return "tests" in path.relative_to(ROOT).parts


def source_files() -> tuple[Path, ...]:
    """Give the modules that ship in a wheel."""
    return tuple(path for path in python_files() if "/src/" in name_of(path))


def documents() -> tuple[Path, ...]:
    """Give every Markdown file."""
    return tuple(path for path in files() if path.suffix == ".md")


@cache
def members() -> Mapping[str, Path]:
    """Give the folder of each distribution that is published, by the distribution's name."""
    found = (*ROOT.glob("core/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml"))
    return {project(path.parent)["name"]: path.parent for path in sorted(found)}


# A project file holds anything that TOML can.
def project(folder: Path) -> dict[str, Any]:
    """Give the ``[project]`` table of a folder's project file."""
    table: dict[str, Any] = settings(folder)["project"]
    return table


# As above.
def settings(folder: Path) -> dict[str, Any]:
    """Give a folder's whole project file."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def module_folder(distribution: str) -> Path:
    """Give the folder of a distribution's import package."""
    folder = members()[distribution]
    module: str = settings(folder)["tool"]["uv"]["build-backend"]["module-name"]
    return folder / "src" / Path(*module.split("."))


def imported_names(tree: ast.Module) -> Iterator[str]:
    """Give the full name of each module that a module imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module
