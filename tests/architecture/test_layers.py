"""Modules import lower layers only, without cycles. Deferred and typing imports count."""

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
"""The folders and modules of a package, lowest first. A module imports only those before it.

A folder means all its modules, except those in subfolders with their own entry.
"""

PACKAGE_ORDER = {
    "logging_spec": (),
    "rules": ("logging_spec",),
    "compliance": ("logging_spec", "rules"),
    "reference_runs": ("logging_spec", "rules"),
}
"""The packages that a package may import. `STARTS_TRAINERS` is an exception."""

STARTS_TRAINERS = "podium.compliance.cli."


def _layer(package: str, name: str) -> str:
    """The entry of `LAYERS` for a module; "" for the package itself."""
    parts = name.split(".")[2:]
    prefixes = (".".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((each for each in prefixes if each in LAYERS[package]), ".".join(parts))


@pytest.mark.parametrize("package", PACKAGE_ORDER)
def test_a_package_imports_lower_packages_only(package: str) -> None:
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
def test_every_folder_and_module_has_a_layer(package: str) -> None:
    found = {_layer(package, module.dotted) for module in of(package)} - {""}
    assert found == set(LAYERS[package])


@pytest.mark.parametrize("package", LAYERS)
def test_a_module_does_not_import_a_higher_layer(package: str) -> None:
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


def test_imports_have_no_cycle() -> None:
    graph = {
        module.dotted: {each.own for each in module.imports if each.own} - {module.dotted}
        for module in modules()
    }
    assert _circles(graph) == []


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The modules that remain after leaves and roots are removed repeatedly."""
    left = {name: set(targets) for name, targets in graph.items()}
    while leaves := {name for name, targets in left.items() if not targets}:
        left = {name: targets - leaves for name, targets in left.items() if name not in leaves}
    while True:
        imported = set().union(*left.values()) if left else set()
        roots = left.keys() - imported
        if not roots:
            return [sorted(left)] if left else []
        left = {name: targets for name, targets in left.items() if name not in roots}


def test_a_cycle_is_detected() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


NAME = re.compile(rf"podium\.({'|'.join(PACKAGES)})(\.\w*)*")
"""A string that could be an argument of `import_module`: a module name or the start of one."""


def _named_elsewhere(module: Module) -> list[str]:
    """The module names in strings of a source file, except for modules of its folder."""
    own = ".".join(("podium", *module.path.relative_to(ROOT).parent.parts))
    return [
        node.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if NAME.fullmatch(node.value) and not node.value.startswith(f"{own}.")
    ]


def test_no_string_names_a_module_of_another_folder() -> None:
    """An import by such a string would escape the tests above."""
    found = {module.name: _named_elsewhere(module) for module in modules()}
    assert {name: texts for name, texts in found.items() if texts} == {}
