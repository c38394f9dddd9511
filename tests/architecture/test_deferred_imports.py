"""Imports in functions: only where start-up needs them, all listed in pyproject.toml."""

from __future__ import annotations

import tomllib

from tests.architecture.source import modules
from tests.locations import ROOT

LISTED: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["podium"]["deferred-imports"]
"""Why a module, or those in a folder, import in functions."""


def _deferring() -> set[str]:
    return {module.name for module in modules() if any(each.deferred for each in module.imports)}


def test_an_import_in_a_function_is_listed_with_its_reason() -> None:
    assert {name for name in _deferring() if not name.startswith(tuple(LISTED))} == set()


def test_the_list_names_no_module_that_imports_at_its_top_only() -> None:
    deferring = _deferring()
    assert [each for each in LISTED if not any(n.startswith(each) for n in deferring)] == []


def test_an_import_in_a_function_is_not_at_the_top_as_well() -> None:
    """What is loaded anyway is not deferred: the function would only look as if it were."""
    twice = {
        f"{module.name}:{each.line} {each.own}"
        for module in modules()
        for each in module.imports
        if each.deferred and each.own
        for other in module.imports
        if other.own == each.own and not other.deferred and not other.only_for_types
    }
    assert twice == set()
