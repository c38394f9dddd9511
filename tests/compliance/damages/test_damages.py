"""Every damage of a submission: the finding, its location and help, and the verdicts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.compliance.command_line import podium
from tests.compliance.damages import of_logs, of_trees
from tests.compliance.damages.base import ROUND, USAGE, Damage, changed
from tests.compliance.judging.submission.test_package_parity import incumbent

pytestmark = pytest.mark.corpus

DAMAGES = (*of_logs.DAMAGES, *of_trees.RESULTS, *of_trees.DESCRIPTIONS, *of_trees.REST)


def judged(root: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = podium("check", root, *arguments, "--format", "json")
    return done.exit_code, json.loads(done.stdout)


def names_accepted(root: Path) -> bool:
    """Whether the official checker of names and links accepts a tree."""
    call = [sys.executable, "-m", "mlperf_logging.repo_checker", root.name, USAGE, f"{ROUND}.0"]
    done = subprocess.run(call, cwd=root.parent, capture_output=True, text=True, check=True)
    return "ALL CHECKS PASSED" in done.stderr


def test_the_undamaged_submission_is_accepted_without_findings(tree: Path) -> None:
    status, report = judged(tree)
    assert (status, report["findings"]) == (0, [])
    assert (report["verdict"], report["official_verdict"]) == ("accepted", "accepted")
    assert incumbent(tree, USAGE, ROUND)
    assert names_accepted(tree)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damage_is_reported(damage: Damage, tree: Path) -> None:
    changed(tree, damage.changes)
    status, report = judged(tree, *damage.arguments)
    path, _, line = damage.at.partition(":")
    here = [
        found
        for found in report["findings"]
        if (found["id"], found["path"], str(found["line"] or "")) == (damage.rule, path, line)
    ]
    assert here, [(found["id"], found["path"], found["line"]) for found in report["findings"]]
    # The finding must not be only a consequence of another finding
    assert any(found["hint"] and not found["caused_by"] for found in here)
    assert status == bool(damage.rejects)
    assert (report["verdict"] == "rejected") is ("P" in damage.rejects)
    theirs = "O" in damage.rejects or "o" in damage.rejects
    assert (report["official_verdict"] == "rejected") is theirs
    if theirs:
        assert "verifier" in report["rejected_by"]


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_annotations_name_existing_paths(
    damage: Damage, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed(tree, damage.changes)
    for folder in (tree.parent, tree, tree / "systems"):
        if not folder.is_dir():
            continue
        monkeypatch.chdir(folder)
        path = os.path.relpath(tree)
        done = podium("check", path, *damage.arguments, "--format", "github")
        named = re.findall(r"^::(?:error|warning|notice) file=([^,:]*)", done.stdout, re.MULTILINE)
        # A finding about the working directory itself names no file
        assert named or "title=" in done.stdout.partition("\n")[0]
        assert [each for each in named if not os.path.lexists(unquote(each))] == []


@pytest.mark.long
@pytest.mark.daily(2)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_the_official_checkers_give_the_recorded_verdict(damage: Damage, tree: Path) -> None:
    changed(tree, damage.changes)
    round_ = damage.arguments[-1] if damage.arguments else ROUND
    # A traceback is not an acceptance
    accepted = incumbent(tree, USAGE, round_) is True
    assert accepted is not ("O" in damage.rejects)
    if "o" in damage.rejects:
        assert not names_accepted(tree)


def test_the_base_and_its_copy_have_no_findings(base: Path, tree: Path) -> None:
    assert judged(base)[1]["findings"] == judged(tree)[1]["findings"] == []


def test_every_damage_has_a_unique_name() -> None:
    names = [damage.name for damage in DAMAGES]
    assert len(names) == len(set(names)) >= 56
