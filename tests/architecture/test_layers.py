"""No import runs up, and none runs in a circle: those in functions and for types included."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source import PACKAGES, Module, by_name, modules, of
from tests.locations import ROOT

LAYERS = {
    "logging_spec": ("keys", "limits", "reader", "emitter", "mllog", "callbacks"),
    "compliance": (
        *("version", "exit_codes", "interrupts", "errors", "text", "files", "reporting"),
        *(
            f"judging.{name}"
            for name in (
                *("inputs", "waivers", "repository", "logs", "plugins", "systems", "power"),
                *("results", "submission", "workers", "cache"),
            )
        ),
        *("judging", "rulebook.tables"),
        *(
            "tools.scoring",
            "tools.history",
            "tools.rcp",
            "tools.curves",
            "tools.live",
        ),
        *("tools.review", "tools.store", "rulebook"),
        *(
            "tools.drift",
            "tools.fixing",
            "tools.packing",
            "tools.doctor",
            "tools.bundling",
            "tools",
        ),
        *("cli.compat", "cli.service", "cli"),
    ),
}
"""The folders and modules of a package, lowest first: each imports those before it.

A folder stands for what is in it, except for its folders that are listed themselves.
"""

PACKAGE_ORDER = {
    "logging_spec": (),
    "rules": ("logging_spec",),
    "compliance": ("logging_spec", "rules"),
    "reference_runs": ("logging_spec", "rules"),
}
"""Which packages each may import. One command starts the trainers: see below."""

STARTS_TRAINERS = "podium.compliance.cli."


def _layer(package: str, name: str) -> str:
    """The listed folder or module that a module belongs to; "" for the package itself."""
    parts = name.split(".")[2:]
    prefixes = (".".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((each for each in prefixes if each in LAYERS[package]), ".".join(parts))


@pytest.mark.parametrize("package", PACKAGE_ORDER)
def test_packages_import_those_below_only(package: str) -> None:
    allowed = {package, *PACKAGE_ORDER[package]}
    wrong = [
        f"{module.name}:{each.line} imports {each.own}"
        for module in of(package)
        for each in module.imports
        if each.own
        and by_name()[each.own].package not in allowed
        and not (
            by_name()[each.own].package == "reference_runs"
            and module.dotted.startswith(STARTS_TRAINERS)
        )
    ]
    assert wrong == []


@pytest.mark.parametrize("package", LAYERS)
def test_every_folder_has_its_layer(package: str) -> None:
    found = {_layer(package, module.dotted) for module in of(package)} - {""}
    assert found == set(LAYERS[package])


@pytest.mark.parametrize("package", LAYERS)
def test_no_import_runs_up(package: str) -> None:
    order = LAYERS[package]
    wrong = [
        f"{module.name}:{each.line} imports {each.own}"
        for module in of(package)
        for each in module.imports
        if each.own.startswith(f"podium.{package}.")
        and _layer(package, module.dotted)
        and order.index(_layer(package, each.own)) > order.index(_layer(package, module.dotted))
    ]
    assert wrong == []


def test_imports_run_in_no_circle() -> None:
    graph = {
        module.dotted: {each.own for each in module.imports if each.own} - {module.dotted}
        for module in modules()
    }
    assert _circles(graph) == []


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """What is left once modules go that import none left, and then those that none left imports."""
    left = {name: set(targets) for name, targets in graph.items()}
    while leaves := {name for name, targets in left.items() if not targets}:
        left = {name: targets - leaves for name, targets in left.items() if name not in leaves}
    while True:
        imported = set().union(*left.values()) if left else set()
        roots = left.keys() - imported
        if not roots:
            return [sorted(left)] if left else []
        left = {name: targets for name, targets in left.items() if name not in roots}


def test_circles_are_found() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


NAME = re.compile(rf"podium\.({'|'.join(PACKAGES)})(\.\w*)*")
"""A text that `import_module` would take for one of the project's modules, or the begin of one."""


def _named_elsewhere(module: Module) -> list[str]:
    """Modules that a text of a source file names, but for those in the file's own folder."""
    own = ".".join(("podium", *module.path.relative_to(ROOT).parent.parts))
    return [
        node.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if NAME.fullmatch(node.value) and not node.value.startswith(f"{own}.")
    ]


def test_no_text_names_a_module_of_another_folder() -> None:
    """What is named in a text is imported unseen by the tests above."""
    found = {module.name: _named_elsewhere(module) for module in modules()}
    assert {name: texts for name, texts in found.items() if texts} == {}
