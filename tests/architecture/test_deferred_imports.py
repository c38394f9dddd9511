"""Imports in functions are listed in pyproject.toml, with their reasons."""

from __future__ import annotations

import tomllib

from tests.architecture.source import modules
from tests.locations import ROOT

LISTED: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "tool"
]["podium"]["deferred-imports"]
"""The reason for the deferred imports of a module or folder."""


def _deferring() -> set[str]:
    return {module.name for module in modules() if any(each.deferred for each in module.imports)}


def test_an_import_in_a_function_is_listed_with_its_reason() -> None:
    assert {name for name in _deferring() if not name.startswith(tuple(LISTED))} == set()


def test_every_listed_entry_has_a_deferred_import() -> None:
    deferring = _deferring()
    assert [each for each in LISTED if not any(n.startswith(each) for n in deferring)] == []


def test_a_deferred_import_is_not_repeated_at_the_top_of_the_module() -> None:
    """An import at the top loads the module at once, so the other import defers nothing."""
    twice = {
        f"{module.name}:{each.line} {each.own}"
        for module in modules()
        for each in module.imports
        if each.deferred and each.own
        for other in module.imports
        if other.own == each.own and not other.deferred and not other.only_for_types
    }
    assert twice == set()
