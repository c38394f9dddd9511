"""The skeletons of `docs/new_rule.md` can be imported and judge their own examples."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from podium.logging_spec.reader.read import parse_log
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.fixed.edits import Edit
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.run import Run
from podium.rules.table import Violation
from tests.docs.pages import apply, blocks
from tests.locations import ROOT
from tests.rules.checks.conftest import BY_ID, GoodLog

SKELETONS = {block.path: block for block in blocks("new_rule.md") if block.path}
CHECK, PACKAGE = "rules/checks/skeleton.py", "compliance/judging/submission/skeleton_rules.py"
_ROWS = ("row(", "policy_row(")


@pytest.fixture
def skeleton(request: pytest.FixtureRequest, tmp_path: Path) -> ModuleType:
    """The module of a skeleton, copied from the page."""
    apply(SKELETONS[request.param], tmp_path)
    spec = importlib.util.spec_from_file_location("skeleton", tmp_path / request.param)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_both_skeletons() -> None:
    assert set(SKELETONS) == {CHECK, PACKAGE}


@pytest.mark.parametrize("skeleton", [CHECK], indirect=True)
def test_the_check_judges_its_examples(skeleton: ModuleType) -> None:
    (check,) = skeleton.CHECKS

    def found(text: str) -> list[Violation]:
        return list(check.find(Run(parse_log(text.encode()).records), GoodLog([]).context))

    (violation,) = found(check.bad)
    assert violation.position == 1
    assert "; must " in violation.message
    assert violation.hint[0].islower()
    assert found(check.good) == []
    assert check.why.endswith(".")
    assert check.severity is Severity.NOTE
    assert check.id not in set(BY_ID)


@pytest.mark.parametrize("skeleton", [PACKAGE], indirect=True)
def test_the_package_rule_judges_its_examples(skeleton: ModuleType, tmp_path: Path) -> None:
    rule: FixedRule = skeleton.EMPTY_NOTES

    def found(edits: tuple[Edit, ...]) -> list[Finding]:
        for edit in edits:
            assert edit.verb == "write"
            (tmp_path / edit.path).write_text(edit.value)
        return list(skeleton.judge_notes(tmp_path, Profile.POLICY))

    (finding,) = found(rule.bad)
    assert (finding.id, finding.severity, finding.actual) == (rule.id, Severity.WARNING, 0)
    assert finding.message == "NOTES.md has 0 bytes; must have text"
    assert found(rule.good) == []


def test_ruff_accepts_the_skeletons(tmp_path: Path) -> None:
    for block in SKELETONS.values():
        apply(block, tmp_path)
        for words in (["check"], ["format", "--check"]):
            command = [sys.executable, "-m", "ruff", *words, "--config", ROOT / "pyproject.toml"]
            done = subprocess.run(
                [*map(str, command), block.path],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
            )
            assert done.returncode == 0, done.stdout


def test_the_rows_on_the_page_match_the_source() -> None:
    table = (ROOT / "rules/training/benchmarks/llama31_8b.py").read_text(encoding="utf-8")
    shown = [block.text for block in blocks("new_rule.md") if block.text.startswith(_ROWS)]
    assert len(shown) == 2
    for text in shown:
        for one in re.split(r"^(?=policy_row|row)", text, flags=re.MULTILINE):
            assert "".join(one.split()) in "".join(table.split())
