"""Forbidden constructs, and limits on the size of functions, files and folders."""

from __future__ import annotations

import ast
import statistics
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.architecture.source import Module, by_name, modules, of
from tests.locations import ROOT

# --- forbidden constructs ---

FORBIDDEN = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}


def calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_no_module_calls_a_forbidden_builtin(name: str) -> None:
    found = [
        f"{m.name}:{node.lineno}" for m in modules() for called, node in calls(m) if called == name
    ]
    assert found == []


PRINTERS = (
    *("compliance/reporting/console.py", "compliance/cli/entry.py", "compliance/cli/"),
    "logging_spec/reader/record.py",
)
"""Modules that may write to the terminal."""


def test_only_listed_modules_write_to_the_terminal() -> None:
    found = {
        module.name
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
    }
    assert {name for name in found if not name.startswith(PRINTERS)} == set()


def test_no_except_clause_catches_everything() -> None:
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or "Base" in ast.unparse(node.type))
    ]
    assert found == []


def test_every_module_has_a_docstring() -> None:
    silent = [m.name for m in modules() if m.tree.body and not ast.get_docstring(m.tree)]
    assert silent == []


# --- calls ---

MOST_UNPACKED = 3
"""The most parameters of a function that may be called with an unpacked tuple."""


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of parameters of a function; 0 if it accepts any number of arguments."""
    if node.args.vararg is not None:
        return 0
    return len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])


def _own(module: Module) -> dict[str, int]:
    """The callables that a module defines, with the number of their parameters.

    A class counts as a callable with many parameters, because its fields are parameters.
    """
    found: dict[str, int] = {}
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = _parameters(node)
        elif isinstance(node, ast.ClassDef):
            methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
            init = methods.get("__init__")
            variadic = init is not None and init.args.vararg is not None
            found[node.name] = 0 if variadic else MOST_UNPACKED + 1
            found |= {f"self.{name}": _parameters(each) - 1 for name, each in methods.items()}
    return found


def _callable_in(module: Module) -> dict[str, int]:
    """The callables that a module defines or imports from the project."""
    found = _own(module)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "") in by_name():
            known = _own(by_name()[node.module or ""])
            found |= {a.asname or a.name: known[a.name] for a in node.names if a.name in known}
    return found


def _unpacking(module: Module) -> list[str]:
    known = _callable_in(module)
    return [
        f"{module.name}:{node.lineno} {ast.unparse(node)}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and any(isinstance(argument, ast.Starred) for argument in node.args)
        and known.get(ast.unparse(node.func), 0) > MOST_UNPACKED
    ]


def test_no_call_unpacks_a_tuple_into_many_parameters() -> None:
    """Such calls use keywords, because a position does not say what an argument means."""
    assert [call for module in of("compliance") for call in _unpacking(module)] == []


def test_a_call_that_unpacks_a_tuple_is_detected() -> None:
    text = "class A: ...\ndef f(a, b, c, d): ...\ndef g(*a): ...\nA(*x)\nf(*x)\ng(*x)\nf(a=1)"
    module = Module(ROOT / "compliance/made.py", ast.parse(text), lines=7)
    assert [each.partition(" ")[2] for each in _unpacking(module)] == ["A(*x)", "f(*x)"]


# --- sizes: limits of this project, similar to those of other checkers ---

LONGEST_FUNCTION, MEDIAN_FUNCTION, LONGEST_FILE = 45, 8, 350
MOST_PARAMETERS = 8
"""The most positional parameters. Keyword-only parameters do not count."""

MOST_FOLDERS = 12
"""The most subfolders of a folder, so that a reader sees at once which folder to open.

The number of files has no limit. Such a limit led to modules and folders that had no other
purpose.
"""

COMMANDS = "compliance/cli/"
"""A command has a parameter for each option, so the limit does not apply to commands."""

TABLE_FOLDERS = ("reference_runs", "reference_runs/benchmarks")
"""Folders with a subfolder for each benchmark or each part of a trainer."""


def functions() -> Iterator[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The number of lines of the body. The signature does not count: it is long for commands."""
    return (node.end_lineno or 0) - node.body[0].lineno + 1


def test_no_function_is_long() -> None:
    long = [
        f"{module.name}:{node.lineno} {node.name}"
        for module, node in functions()
        if _length(node) > LONGEST_FUNCTION
    ]
    assert long == []


def test_most_functions_are_short() -> None:
    assert statistics.median(_length(node) for _, node in functions()) <= MEDIAN_FUNCTION


def test_only_commands_have_many_parameters() -> None:
    many = [
        f"{module.name}:{node.lineno} {node.name}"
        for module, node in functions()
        if len([*node.args.posonlyargs, *node.args.args]) > MOST_PARAMETERS
        and not module.name.startswith(COMMANDS)
    ]
    assert many == []


def _literal_share(module: Module) -> float:
    """The share of lines that define constants. A high share means a table."""
    literal = sum(
        (node.end_lineno or 0) - node.lineno + 1
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    )
    return literal / max(module.lines, 1)


def test_only_tables_are_long_files() -> None:
    long = [
        (module.name, module.lines)
        for module in modules()
        if module.lines > LONGEST_FILE and _literal_share(module) < 0.5
    ]
    assert long == []


def test_only_table_folders_have_many_subfolders() -> None:
    folders = {module.path.parent.relative_to(ROOT) for module in modules()}
    counts = Counter(folder.parent.as_posix() for folder in folders if folder.parent.name)
    full = {
        folder: count
        for folder, count in counts.items()
        if count > MOST_FOLDERS and folder not in TABLE_FOLDERS
    }
    assert full == {}


def test_every_folder_has_an_init_module() -> None:
    bare = [
        path.relative_to(ROOT).as_posix()
        for path in {module.path.parent for module in modules()}
        if path / "__init__.py" not in {module.path for module in modules()}
    ]
    assert bare == []
