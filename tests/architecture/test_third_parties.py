"""The libraries that each package may import, and where."""

from __future__ import annotations

import ast
import re
import sys
import tomllib

import pytest

from tests.architecture.source import PACKAGES, Import, Module, modules, of, parse, top
from tests.locations import ROOT

ALLOWED = {
    "logging_spec": {"msgspec", "zstandard", "ahocorasick_rs"},
    "rules": {"msgspec"},
    "compliance": {
        *("msgspec", "pydantic", "jsonschema", "typer", "rich"),
        *("git", "detect_secrets", "jinja2", "zstandard", "mcp"),
    },
    "reference_runs": {
        *("torch", "numpy", "PIL", "sacrebleu", "pycocotools", "torchao", "torchmetrics"),
        *("h5py", "pyarrow", "tokenizers"),
    },
}
"""The libraries that a package may import in addition to podium and the standard library."""

ONLY_IN = {
    "typer": ("compliance/cli/entry.py", "compliance/cli/"),
    "git": ("compliance/files/git_process.py",),
    "jinja2": ("compliance/reporting/render/html.py", "compliance/reporting/pages/templates.py"),
    "numpy": ("reference_runs/",),
    "h5py": (
        "reference_runs/benchmarks/bert/files.py",
        "reference_runs/benchmarks/deepcam/prepare.py",
    ),
    "pyarrow": (
        "reference_runs/benchmarks/llama2_70b_lora/prepare.py",
        "reference_runs/benchmarks/dlrm_v4_hstu/files.py",
        "reference_runs/benchmarks/flux1/files.py",
    ),
    "tokenizers": ("reference_runs/benchmarks/llama31/prepare.py",),
    "torchao": ("reference_runs/modeling/fp8.py",),
    "mcp": ("compliance/cli/service/server.py",),
    "detect_secrets": ("compliance/judging/repository/secret",),
    "ahocorasick_rs": ("logging_spec/reader/words.py",),
}
"""The only modules or folders that may import a library."""


def third_parties(module: Module) -> list[Import]:
    """The imports of third-party libraries."""
    return [
        each
        for each in module.imports
        if not each.own and top(each.module) not in sys.stdlib_module_names
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_allowed_libraries_only(package: str) -> None:
    wrong = [
        f"{module.name}:{each.line} imports {each.module}"
        for module in of(package)
        for each in third_parties(module)
        if top(each.module) not in ALLOWED[package]
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ONLY_IN)
def test_a_restricted_library_is_imported_in_listed_places_only(name: str) -> None:
    users = {
        module.name
        for module in modules()
        for each in third_parties(module)
        if top(each.module) == name
    }
    assert {user for user in users if not user.startswith(ONLY_IN[name])} == set()


DISTRIBUTIONS = {
    "ahocorasick_rs": "ahocorasick-rs",
    "git": "gitpython",
    "detect_secrets": "detect-secrets",
    "PIL": "pillow",
}
"""Packages whose distribution has another name."""


def test_every_imported_library_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"]]
    texts += [text for name in ("reference", "data", "fp8", "mcp") for text in extras[name]]
    declared = {re.split(r"[<>=\[ ]", text)[0] for text in texts}
    used = {
        top(each.module)
        for module in modules()
        for each in third_parties(module)
        if not each.only_for_types
    }
    assert {DISTRIBUTIONS.get(name, name) for name in used} - declared == set()


def test_the_rules_do_not_call_open_or_path() -> None:
    wrong = [
        f"{module.name}:{node.lineno}"
        for module in of("rules")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("open", "os.open", "Path")
    ]
    assert wrong == []


def test_only_tests_import_the_official_checker() -> None:
    wrong = [
        path.relative_to(ROOT).as_posix()
        for folder in ("docs", *PACKAGES)
        for path in (ROOT / folder).rglob("*.py")
        for each in parse(path).imports
        if top(each.module) == "mlperf_logging"
    ]
    assert wrong == []


# --- tables of rounds ---


def test_benchmark_tables_and_checks_do_not_import_rounds() -> None:
    wrong = [
        f"{module.name} imports {each.own}"
        for module in of("rules")
        if "/benchmarks/" in module.name or module.name.startswith("rules/checks/")
        for each in module.imports
        if each.own.startswith(("podium.rules.training.v", "podium.rules.hpc.v"))
    ]
    assert wrong == []


@pytest.mark.parametrize("usage", ["training", "hpc"])
def test_a_round_may_import_only_the_previous_round(usage: str) -> None:
    names = sorted(path.stem for path in (ROOT / "rules" / usage).glob("v*.py"))
    for module in of("rules"):
        if module.path.parent.name == usage and module.path.stem in names:
            older = {
                each.own.rpartition(".")[2]
                for each in module.imports
                if each.own.startswith(f"podium.rules.{usage}.v")
            }
            place = names.index(module.path.stem)
            assert older in (set(), {names[place - 1]}), module.name
