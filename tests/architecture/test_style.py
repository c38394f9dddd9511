"""What no module does, and how large modules and functions are."""

from __future__ import annotations

import ast
import statistics
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.architecture.source import Module, by_name, modules, of
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


# --- calls ---

MOST_UNPACKED = 3
"""Parameters up to which a function may be called with the parts of a tuple."""


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many parameters a caller may fill; 0 where the function takes any number."""
    if node.args.vararg is not None:
        return 0
    return len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])


def _own(module: Module) -> dict[str, int]:
    """What a module defines that can be called, with the number of its parameters.

    A class counts as one with many: its fields are its parameters.
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
    """What a module defines, or imports from the project, that can be called."""
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
    """A position does not say what an argument means: such calls have keywords."""
    assert [call for module in of("compliance") for call in _unpacking(module)] == []


def test_unpacked_tuples_are_found() -> None:
    text = "class A: ...\ndef f(a, b, c, d): ...\ndef g(*a): ...\nA(*x)\nf(*x)\ng(*x)\nf(a=1)"
    module = Module(ROOT / "compliance/made.py", ast.parse(text), lines=7)
    assert [each.partition(" ")[2] for each in _unpacking(module)] == ["A(*x)", "f(*x)"]


# --- sizes: figures of the project's own, aimed at what admired checkers have ---

LONGEST_FUNCTION, MEDIAN_FUNCTION, LONGEST_FILE = 45, 8, 350
MOST_PARAMETERS = 8
"""Parameters by position: keywords are named where they are given."""

MOST_FOLDERS = 12
"""Folders side by side in a folder: a reader sees at once which one to open.

The number of files has no limit. Such a limit made people cut modules, or make folders, that have
no other reason.
"""

COMMANDS = "compliance/cli/"
"""A command's declaration has a parameter for each option; its helpers get them by their names."""

TABLE_FOLDERS = ("reference_runs", "reference_runs/benchmarks")
"""Folders with a folder for each benchmark, and for each part of a trainer."""


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


def test_no_folder_holds_many_folders_but_tables() -> None:
    folders = {module.path.parent.relative_to(ROOT) for module in modules()}
    counts = Counter(folder.parent.as_posix() for folder in folders if folder.parent.name)
    full = {
        folder: count
        for folder, count in counts.items()
        if count > MOST_FOLDERS and folder not in TABLE_FOLDERS
    }
    assert full == {}


def test_every_folder_says_what_is_in_it() -> None:
    bare = [
        path.relative_to(ROOT).as_posix()
        for path in {module.path.parent for module in modules()}
        if path / "__init__.py" not in {module.path for module in modules()}
    ]
    assert bare == []
