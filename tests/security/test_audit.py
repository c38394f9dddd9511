"""The checks of `make audit`: a license that the project does not accept fails."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from email.message import Message
from types import ModuleType
from typing import Any

import pytest

from tests.locations import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RULES: dict[str, Any] = PROJECT["tool"]["podium"]["licences"]


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / ".ci" / "licences.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("MIT", True),
        ("(MIT)", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only AND MIT", False),
        ("MPL-2.0 AND (Apache-2.0 OR GPL-2.0)", True),
        ("(MIT AND GPL-2.0) OR LGPL-3.0", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Another-exception", False),
        ("MIT OR GPL-2.0 AND GPL-3.0", True),
        ("LicenseRef-Proprietary", False),
        ("", False),
        ("MIT AND", False),
        ("(MIT", False),
        ("MIT MIT", False),
    ],
)
def test_a_license_expression_is_accepted_if_accepted_licenses_satisfy_it(
    expression: str, wanted: bool, licences: ModuleType
) -> None:
    assert licences.accepts(expression, RULES["accepted"]) is wanted


class Package:
    """An installed package with the given metadata."""

    def __init__(self, *fields: tuple[str, str]) -> None:
        self.metadata = Message()
        for name, value in (("Name", "some-package"), *fields):
            self.metadata[name] = value


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ((("License-Expression", "MIT"), ("License", "anything")), True),
        ((("Classifier", "License :: OSI Approved :: MIT License"),), True),
        ((("Classifier", "License :: OSI Approved :: MIT License"), ("License", "?")), True),
        ((("License", "Apache 2.0"),), True),
        ((("License", "GPLv3"),), False),
        ((("License", "You may do what you like."),), False),
        ((("Classifier", "License :: Other/Proprietary License"),), False),
        ((("Classifier", "Topic :: MIT License"),), False),
        ((), False),
    ],
)
def test_a_license_is_read_from_every_metadata_field_that_states_it(
    fields: tuple[tuple[str, str], ...], wanted: bool, licences: ModuleType
) -> None:
    stated = licences.stated(Package(*fields), RULES["words"], RULES["packages"])
    assert licences.accepts(stated, RULES["accepted"]) is wanted


def test_every_package_is_checked_and_an_unaccepted_license_fails(licences: ModuleType) -> None:
    extras = frozenset({"dev", "reference", "bundle"})
    names = {name.lower() for name, _ in licences.needed("podium", extras)}
    assert {"msgspec", "typer", "torch", "cryptography", "pytest", "rich"} <= names
    # Indirect dependencies
    assert {"cffi", "pygments", "sympy"} <= names
    rules = RULES | {"accepted": {k: v for k, v in RULES["accepted"].items() if k != "MPL-2.0"}}
    assert [line for line in licences.problems(rules, extras) if line.startswith("hypothesis ")]


def test_advisories_are_reported_as_skipped_without_a_network() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "advisories.py"], env={}, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "skipped, as they require a network" in done.stdout


def test_skipped_bandit_checks_are_few_and_have_reasons() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    part = text.partition("[tool.bandit]")[2].partition("]\n")[0]
    lines = [line for line in part.splitlines() if '"B' in line]
    assert [line for line in lines if "  # " not in line] == []
    assert len(lines) == len(PROJECT["tool"]["bandit"]["skips"]) < 10
