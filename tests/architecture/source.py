"""The parsed source files of the project, for the tests of its architecture."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tests.locations import ROOT

PACKAGES = ("logging_spec", "rules", "compliance", "reference_runs")
"""The packages. Each is a folder at the top of the repository."""


@dataclass(frozen=True)
class Import:
    """One imported module.

    `own` names the project's module, or is empty. A `deferred` import is inside a function.
    """

    module: str
    own: str
    line: int
    deferred: bool
    only_for_types: bool


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed source file."""

    path: Path
    tree: ast.Module
    lines: int

    @property
    def name(self) -> str:
        """Path relative to the root of the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def dotted(self) -> str:
        """Name in import statements."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(("podium", *(part for part in parts if part != "__init__")))

    @property
    def package(self) -> str:
        """Package that contains the file."""
        return self.path.relative_to(ROOT).parts[0]

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All imports: at the top, in functions and for types only."""
        deferred = {
            id(child)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.walk(node)
        }
        for_types = self._only_for_types()
        return tuple(
            Import(module, own, node.lineno, id(node) in deferred, id(node) in for_types)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for module, own in self._imported(node)
        )

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, alias.name if alias.name in by_name() else ""
            return
        assert node.level == 0, f"{self.name}:{node.lineno}: a relative import"
        module = node.module or ""
        for alias in node.names:
            inner = f"{module}.{alias.name}"
            own = inner if inner in by_name() else module if module in by_name() else ""
            yield module, own

    def _only_for_types(self) -> set[int]:
        return {
            id(child)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for statement in node.body
            for child in ast.walk(statement)
        }


def parse(path: Path) -> Module:
    """Parse a source file."""
    text = path.read_text(encoding="utf-8")
    return Module(path, ast.parse(text), text.count("\n"))


@cache
def modules() -> tuple[Module, ...]:
    """Every source file of the four packages."""
    return tuple(
        parse(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


@cache
def by_name() -> dict[str, Module]:
    """All modules, by their import name."""
    return {module.dotted: module for module in modules()}


def of(*packages: str) -> list[Module]:
    """The source files of some packages."""
    return [module for module in modules() if module.package in packages]


def top(name: str) -> str:
    """The top-level package of a module; for podium's modules, one of the four packages."""
    return name.removeprefix("podium.").partition(".")[0]
