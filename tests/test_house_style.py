"""The rules of the house that a linter does not know."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from repository import (
    ROOT,
    is_test_code,
    name_of,
    parse,
    python_files,
    read,
    source_files,
    texts,
)

SCOPES = frozenset(
    {
        "timeout",
        "timeout_at",
        "TaskGroup",
        "create_task_group",
        "fail_after",
        "move_on_after",
        "CancelScope",
    }
)
type Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[Function]:
    """Give every function of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def own_nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Give the nodes of a body, without those of functions inside it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def body_lines(function: Function) -> int:
    """Count the lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return 0 if not body else (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1


def holds_names_only(tree: ast.Module) -> bool:
    """Say whether a module only gives names on: a docstring, imports, and ``__all__``."""
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in tree.body
    )


def scoped_yields(tree: ast.Module) -> Iterator[int]:
    """Give the lines of each ``yield`` inside a timeout, task group or cancel scope."""
    for node in ast.walk(tree):
        if isinstance(node, ast.With | ast.AsyncWith) and _opens_scope(node):
            for found in own_nodes(node.body):
                if isinstance(found, ast.Yield | ast.YieldFrom):
                    yield found.lineno


def _opens_scope(node: ast.With | ast.AsyncWith) -> bool:
    calls = (item.context_expr for item in node.items)
    return any(
        isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in SCOPES
        for call in calls
    )


def unclosed_generators(tree: ast.Module) -> Iterator[int]:
    """Give the lines where an async generator walks a call's result directly, so that nobody closes it early."""
    for function in functions(tree):
        nodes = list(own_nodes(function.body))
        if isinstance(function, ast.AsyncFunctionDef) and any(
            isinstance(node, ast.Yield) for node in nodes
        ):
            for node in nodes:
                if isinstance(node, ast.AsyncFor) and isinstance(node.iter, ast.Call):
                    yield node.lineno


def places(found: Iterator[tuple[Path, object]]) -> str:
    """Put what was found into one text, empty when there is nothing."""
    return "; ".join(f"{name_of(path)}: {what}" for path, what in found)


def test_modules_stay_within_their_length() -> None:
    long = (
        (path, f"{len(read(path).splitlines())} lines")
        for path in python_files()
        if len(read(path).splitlines()) > (600 if is_test_code(path) else 400)
        and not (path.name == "__init__.py" and holds_names_only(parse(path)))
    )
    assert not (text := places(long)), f"Split by concept: {text}"


def test_functions_stay_within_their_length() -> None:
    long = (
        (path, f"{function.name} has {body_lines(function)} lines")
        for path in python_files()
        for function in functions(parse(path))
        if body_lines(function) > 60
    )
    assert not (text := places(long)), f"Split by step: {text}"


def test_no_generator_yields_inside_a_timeout_or_task_group() -> None:
    found = ((path, line) for path in source_files() for line in scoped_yields(parse(path)))
    assert not (text := places(found)), f"Whoever closes the generator breaks the scope: {text}"


def test_every_generator_closes_the_generators_it_walks() -> None:
    found = ((path, line) for path in source_files() for line in unclosed_generators(parse(path)))
    assert not (text := places(found)), f"Walk it inside `async with aclosing(...)`: {text}"


def test_injected_types_are_there_when_the_container_looks() -> None:
    names = ("annotations", "TYPE_CHECKING")
    found = (
        (path, alias.name)
        for path in source_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom) and node.module in {"__future__", "typing"}
        for alias in node.names
        if alias.name in names
    )
    assert not (text := places(found)), f"The container reads annotations at run time: {text}"


def test_no_module_has_the_name_of_one_of_the_standard_library() -> None:
    clashes = [name_of(path) for path in python_files() if path.stem in sys.stdlib_module_names]
    assert not clashes, f"A program started beside it cannot import the library's: {clashes}"


def test_every_module_says_what_it_is() -> None:
    silent = [
        name_of(path)
        for path in python_files()
        if not is_test_code(path) and ast.get_docstring(parse(path)) is None
    ]
    assert not silent


def comments(name: str, text: str) -> Iterator[str]:
    """Give the comments of a file; in a document, its HTML comments."""
    if name.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)
    elif name.endswith(".md"):
        yield from re.findall(r"<!--.*?-->", text, re.DOTALL)
    else:
        yield from re.findall(r"#.*", text)


def test_nothing_is_left_to_be_done_later() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [
        name
        for name, text in texts()
        if any(pattern.search(comment) for comment in comments(name, text))
    ]
    assert not found, f"Do it, or file it: {found}"


def test_comments_are_told_from_code() -> None:
    text = 'x = "# TODO"  # TODO: y\n'
    assert list(comments("a.py", text)) == ["# TODO: y"]
    assert list(comments("a.md", "TODO <!-- b -->\n")) == ["<!-- b -->"]
    assert list(comments("a.toml", "x = 1  # c\n")) == ["# c"]


def test_no_file_names_a_registry_or_a_folder_of_some_machine() -> None:
    # Put together, as above.
    hosts = (
        "py" + r"pi\.org",
        "python" + r"hosted\.org",
        "npm" + r"js\.(org|com)",
        "deb" + r"ian\.org",
    )
    folders = ("ro" + "ot", "ho" + "me/[a-z]", "wo" + "rk", "op" + "t/[a-z]", "Us" + "ers/[a-z]")
    pattern = re.compile(rf"({'|'.join(hosts)}|(?<![\w./}}])/({'|'.join(folders)})/)")
    found = [f"{name}: {match[0]}" for name, text in texts() if (match := pattern.search(text))]
    assert not found, f"It is not the same elsewhere: {found}"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("async def f():\n  async with asyncio.timeout(1):\n    yield 1\n", [3]),
        ("async def f():\n  async with TaskGroup() as g, x():\n    if y:\n      yield 1\n", [4]),
        ("async def f():\n  async with timeout(1):\n    def g():\n      yield 1\n", []),
        ("async def f():\n  async with timeout(1):\n    x()\n  yield 1\n", []),
    ],
)
def test_a_yield_inside_a_scope_is_found(source: str, lines: list[int]) -> None:
    assert list(scoped_yields(ast.parse(source))) == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("async def f():\n  async for x in g():\n    yield x\n", [2]),
        (
            "async def f():\n  async with aclosing(g()) as xs:\n    async for x in xs:\n      yield x\n",
            [],
        ),
        ("async def f():\n  async for x in g():\n    print(x)\n", []),
    ],
)
def test_a_generator_that_nobody_closes_is_found(source: str, lines: list[int]) -> None:
    assert list(unclosed_generators(ast.parse(source))) == lines


def test_a_body_is_counted_without_its_docstring() -> None:
    [function] = functions(ast.parse('def f():\n  """One.\n\n  Two.\n  """\n  x = 1\n  return x\n'))
    assert body_lines(function) == 2


def test_the_walk_finds_this_file_and_nothing_of_the_environment() -> None:
    names = [name_of(path) for path in python_files()]
    assert "tests/test_house_style.py" in names
    assert not [name for name in names if "site-packages" in name]
    assert (ROOT / "pyproject.toml").is_file()
