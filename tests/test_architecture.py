"""Who may import whom, what no module does, how large things are, and what loads when."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.compliance.trees import usual
from tests.locations import ROOT

PACKAGES = ("logging_spec", "rules", "compliance", "reference_runs")


@dataclass(frozen=True)
class Module:
    """One source file, parsed."""

    path: Path
    tree: ast.Module
    lines: int

    @property
    def name(self) -> str:
        """Its path below the root."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def package(self) -> str:
        """The package it belongs to."""
        return self.path.relative_to(ROOT).parts[0]


@cache
def modules() -> tuple[Module, ...]:
    return tuple(
        _parse(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


def _parse(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(path, ast.parse(text), text.count("\n"))


def of(*packages: str) -> list[Module]:
    return [module for module in modules() if module.package in packages]


def imports(module: Module) -> Iterator[tuple[str, ast.AST, bool]]:
    """Every module imported, and whether that happens only when a function is called."""
    inside = {
        id(child)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.walk(node)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name}:{node.lineno}: a relative import"
            yield node.module or "", node, id(node) in inside


def only_for_types(module: Module) -> set[int]:
    """The statements below `if TYPE_CHECKING`, which never run."""
    return {
        id(child)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }


def top(name: str) -> str:
    """The distribution's package, or which of podium's four parts a module belongs to."""
    return name.removeprefix("podium.").partition(".")[0]


# --- imports ---

ALLOWED = {
    "logging_spec": {"msgspec", "zstandard", "orjson", "ahocorasick_rs"},
    "rules": {"logging_spec", "msgspec", "scipy", "numpy"},
    "compliance": {
        *("rules", "logging_spec", "msgspec"),
        *("pydantic", "jsonschema", "typer", "rich", "git", "detect_secrets", "zstandard"),
    },
    "reference_runs": {
        *("logging_spec", "torch", "numpy", "PIL"),
        *("sacrebleu", "pycocotools", "torchmetrics"),
    },
}
"""What each package may import beside itself and the standard library."""

OPTIONAL = {
    "logging_spec/callbacks/": {"torch", "transformers", "lightning", "pytorch_lightning", "keras"},
    "compliance/commands/running/": {"reference_runs"},
}
"""Adapters to frameworks, which import the framework that the user has installed already; and the
one command that starts the trainers."""

ONLY_IN = {
    "typer": ("compliance/cli.py", "compliance/commands/"),
    "git": ("compliance/packing/git/",),
    "scipy": ("rules/convergence/",),
    "numpy": ("rules/convergence/", "logging_spec/", "reference_runs/"),
    "detect_secrets": ("compliance/repository/secret",),
    "ahocorasick_rs": ("logging_spec/reader/words.py",),
}
"""Third parties that one corner of a package uses."""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_what_it_may_and_nothing_else(package: str) -> None:
    allowed = {package, *ALLOWED[package], *sys.stdlib_module_names}
    wrong = [
        f"{module.name}:{node.lineno} imports {name}"  # type: ignore[attr-defined]
        for module in of(package)
        for name, node, _ in imports(module)
        if top(name) not in allowed | _optional(module)
    ]
    assert wrong == []


def _optional(module: Module) -> set[str]:
    return {
        name for where, names in OPTIONAL.items() if module.name.startswith(where) for name in names
    }


@pytest.mark.parametrize("name", ONLY_IN)
def test_some_packages_are_used_in_one_place_only(name: str) -> None:
    users = {
        module.name for module in modules() for used, *_ in imports(module) if top(used) == name
    }
    assert {user for user in users if not user.startswith(ONLY_IN[name])} == set()


DISTRIBUTIONS = {
    "ahocorasick_rs": "ahocorasick-rs",
    "git": "gitpython",
    "detect_secrets": "detect-secrets",
    "PIL": "pillow",
}
"""Distributions that bring a package of another name."""


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["reference"]
    declared = {re.split(r"[<>=\[ ]", text)[0] for text in (*project["dependencies"], *extra)}
    used = {
        top(name)
        for module in modules()
        for name, node, _ in imports(module)
        if id(node) not in only_for_types(module) and top(name) not in _optional(module)
    } - {*PACKAGES, *sys.stdlib_module_names}
    assert {DISTRIBUTIONS.get(name, name) for name in used} - declared == set()


def test_the_rules_do_not_read_files_but_their_own_data() -> None:
    wrong = [
        f"{module.name}:{node.lineno}"
        for module in of("rules")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "os.open", "Path")
    ]
    assert wrong == []


def test_benchmark_tables_and_checks_do_not_import_rounds() -> None:
    wrong = [
        f"{module.name} imports {name}"
        for module in of("rules")
        if "/benchmarks/" in module.name or module.name.startswith("rules/checks/")
        for name, *_ in imports(module)
        if ".v" in name and name.startswith(("podium.rules.training.v", "podium.rules.hpc.v"))
    ]
    assert wrong == []


def test_a_round_imports_no_round_but_its_predecessor() -> None:
    for usage in ("training", "hpc"):
        names = sorted(path.stem for path in (ROOT / "rules" / usage).glob("v*.py"))
        for module in of("rules"):
            if module.path.parent.name == usage and module.path.stem in names:
                older = [
                    name.rpartition(".")[2]
                    for name, *_ in imports(module)
                    if name.startswith(f"podium.rules.{usage}.v")
                ]
                place = names.index(module.path.stem)
                assert older in ([], [names[place - 1]]), module.name


def test_only_tests_import_the_incumbent() -> None:
    folders = ("benchmarks", "docs", *PACKAGES)
    wrong = [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for name, *_ in imports(_parse(path))
        if top(name) == "mlperf_logging" and folder != "benchmarks"
    ]
    assert wrong == []


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
    *("compliance/report/console.py", "compliance/cli.py", "compliance/commands/"),
    *(
        "reference_runs/",
        "logging_spec/emitter/sink.py",
        "logging_spec/mllog/",
        "logging_spec/reader/record.py",
    ),
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


# --- sizes ---

LONGEST_FUNCTION, LONGEST_FILE = 60, 400

TABLES = ("logging_spec/keys.py", "logging_spec/mllog/constants.py")
"""Files that are mostly literal tables."""


def test_no_function_is_long() -> None:
    long = [
        f"{module.name}:{node.lineno} {node.name}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


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
        if module.lines > LONGEST_FILE
        and module.name not in TABLES
        and _literal_share(module) < 0.5
    ]
    assert long == []


# --- what loads when ---

HEAVY = (
    *("torch", "scipy", "numpy", "pandas", "jsonschema", "git", "rich", "pydantic", "zstandard"),
    *("matplotlib", "multiprocessing.pool", "gzip", "hypothesis", "mlperf_logging"),
)


def loaded(code: str) -> set[str]:
    """The modules that a fresh process has loaded after some code."""
    code = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_what_is_loaded_is_seen() -> None:
    assert {"rich", "json"} <= loaded("import rich, json; print('text')")


@pytest.mark.parametrize(
    "code",
    [
        "import podium.compliance.cli",
        "import podium",
        "import podium.logging_spec.reader.read",
        "import podium.rules",
    ],
)
def test_an_import_loads_nothing_heavy(code: str) -> None:
    assert loaded(code) & set(HEAVY) == set()


def test_the_command_does_not_build_the_rules_to_show_its_help() -> None:
    code = "import podium.compliance.cli; podium.compliance.cli.run(['--help'])"
    names = loaded(code)
    assert names & set(HEAVY) == set()
    assert not {
        name for name in names if name.startswith(("podium.rules.training", "podium.rules.hpc"))
    }


@pytest.fixture(params=["a log", "a package"])
def checking(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Code that checks a log, or a package that lacks nothing."""
    path = tmp_path
    if request.param == "a log":
        (tmp_path / "result_0.txt").write_text(":::MLLOG {}\n")
    else:
        path = usual(tmp_path).root
    words = ["check", str(path), "--round", "5.1", "--output", str(tmp_path.parent / "out.json")]
    return (
        f"import podium.compliance.cli; podium.compliance.cli.run({[*words, '--format', 'json']!r})"
    )


def test_a_check_loads_nothing_that_it_does_not_need(checking: str) -> None:
    assert loaded(checking) & {*HEAVY, "statistics", "tomllib"} == set()


def test_what_every_check_loads_makes_no_dataclass(checking: str) -> None:
    """Each takes about a millisecond to make, at every start; a msgspec.Struct 0.03."""
    places = {name.removeprefix("podium.").replace(".", "/") for name in loaded(checking)}
    made = {
        f"{module.name} {node.name}"
        for module in modules()
        if module.name.removesuffix(".py").removesuffix("/__init__") in places
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    }
    assert made == set()


def test_the_rules_of_one_usage_do_not_load_the_other() -> None:
    code = "from podium.rules.catalogue import find_round; find_round('training', '5.1')"
    assert not {name for name in loaded(code) if name.startswith("podium.rules.hpc")}


def test_an_old_round_does_not_load_the_newer_ones() -> None:
    code = "from podium.rules.catalogue import find_round; find_round('training', '5.1')"
    assert not loaded(code) & {f"podium.rules.training.{name}" for name in ("v0_5", "v6_0", "v6_1")}


def test_logging_spec_stands_alone() -> None:
    parts = ("reader.read", "reader.record", "keys", "mllog")
    wanted = "; ".join(f"import podium.logging_spec.{part}" for part in parts)
    assert not {name for name in loaded(wanted) if top(name) in ("rules", "compliance", "typer")}
