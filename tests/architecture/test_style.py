"""What no module does, and how large modules and functions are."""

from __future__ import annotations

import ast
import statistics
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.architecture.source import Module, modules
from tests.locations import ROOT

# --- what no module does ---

FORBIDDEN = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}


def calls(module: Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_nothing_is_evaluated_at_run_time(name: str) -> None:
    found = [
        f"{m.name}:{node.lineno}" for m in modules() for called, node in calls(m) if called == name
    ]
    assert found == []


PRINTERS = (
    *("compliance/reporting/console.py", "compliance/cli/entry.py", "compliance/cli/"),
    "logging_spec/reader/record.py",
)
"""Modules that may write to the terminal."""


def test_only_the_edge_writes_to_the_terminal() -> None:
    found = {
        module.name
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "sys.stdout.write", "sys.stderr.write")
    }
    assert {name for name in found if not name.startswith(PRINTERS)} == set()


def test_no_except_is_bare() -> None:
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or "Base" in ast.unparse(node.type))
    ]
    assert found == []


def test_every_module_opens_with_a_sentence() -> None:
    silent = [m.name for m in modules() if m.tree.body and not ast.get_docstring(m.tree)]
    assert silent == []


# --- sizes: figures of the project's own, aimed at what admired checkers have ---

LONGEST_FUNCTION, MEDIAN_FUNCTION, LONGEST_FILE = 45, 8, 350
MOST_PARAMETERS = 8
"""Parameters by position: keywords are named where they are given."""

MOST_FILES = 18
"""Files side by side in a folder, but for tables: one file for each round, benchmark, trainer."""

COMMANDS = "compliance/cli/"
"""A command's declaration has a parameter for each option."""

TABLE_FOLDERS = ("rules/training", "rules/training/benchmarks")


def functions() -> Iterator[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of the body: a command's declaration has a parameter for each option."""
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


def test_no_function_has_many_parameters_but_commands() -> None:
    many = [
        f"{module.name}:{node.lineno} {node.name}"
        for module, node in functions()
        if len([*node.args.posonlyargs, *node.args.args]) > MOST_PARAMETERS
        and not module.name.startswith(COMMANDS)
    ]
    assert many == []


def _literal_share(module: Module) -> float:
    """The part of a file's lines that are constants of the module: tables, not code."""
    literal = sum(
        (node.end_lineno or 0) - node.lineno + 1
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    )
    return literal / max(module.lines, 1)


def test_no_file_is_long_but_for_tables() -> None:
    long = [
        (module.name, module.lines)
        for module in modules()
        if module.lines > LONGEST_FILE and _literal_share(module) < 0.5
    ]
    assert long == []


def test_no_folder_holds_many_files_but_tables() -> None:
    counts = Counter(module.path.parent.relative_to(ROOT).as_posix() for module in modules())
    full = {
        folder: count
        for folder, count in counts.items()
        if count > MOST_FILES and folder not in TABLE_FOLDERS
    }
    assert full == {}


def test_every_folder_says_what_is_in_it() -> None:
    bare = [
        path.relative_to(ROOT).as_posix()
        for path in {module.path.parent for module in modules()}
        if path / "__init__.py" not in {module.path for module in modules()}
    ]
    assert bare == []
