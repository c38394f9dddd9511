"""Scores of every published result of the corpus, compared with the official summarizer.

golden/summaries.json has the figures of the official summarizer: from a first call on a fresh
copy of each submission, and from a second call, which reads the scaling.json of the first call.
golden/rcp_checks.json has the exit code and last line of the official RCP check of each folder.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from podium.compliance import score
from podium.compliance.cli.compat.rcp_checker import check_folder
from podium.compliance.cli.compat.result_summarizer import summarize
from podium.compliance.tools.scoring.report import ScoreEntry
from tests.locations import GOLDEN
from tests.published import own_copy

SUMMARIES = json.loads((GOLDEN / "summaries.json").read_text(encoding="utf-8"))
RCP_CHECKS = json.loads((GOLDEN / "rcp_checks.json").read_text(encoding="utf-8"))
ROUNDS = sorted({path.partition("/")[0] for path in SUMMARIES["strong"]})

LATE_START = "training_results_v5.0/tinycorp/results/tinybox_green/bert"
"""One initialization took too long: the official summarizer drops that run as the slowest."""


@cache
def scored(root: Path, profile: str) -> dict[str, ScoreEntry]:
    found = score(root, profile=profile, jobs=2).results  # type: ignore[arg-type]
    return {f"{root.name}/{entry.path}": entry for entry in found}


def figures(round_name: str) -> Iterator[tuple[str, list[float | None]]]:
    for path, values in SUMMARIES["strong"].items():
        if path.startswith(f"{round_name}/"):
            yield path, values


def same(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=1e-9)


@pytest.mark.parametrize("name", ROUNDS)
def test_scores_agree_with_the_official_summary(corpus: Path, name: str) -> None:
    ours = scored(corpus / name, "verifier")
    for path, (fresh, again) in figures(name):
        entry = ours[path]
        if entry.factor_source == "scaling.json":
            # The official summarizer reads the committee's factor once, and then overwrites it.
            assert same(fresh, entry.score), path
            continue
        # On a fresh tree, the official summarizer does not use the factor of the points.
        assert same(fresh, entry.minutes), path
        assert same(again, entry.score), path


@pytest.mark.parametrize("name", ROUNDS)
def test_minutes_are_equal_in_both_profiles(corpus: Path, name: str) -> None:
    theirs, ours = scored(corpus / name, "verifier"), scored(corpus / name, "policy")
    for path, (fresh, _) in figures(name):
        if fresh is not None and path != LATE_START:
            assert same(theirs[path].minutes, ours[path].minutes), path


def test_a_late_start_is_not_a_failed_run_in_the_policy_profile(corpus: Path) -> None:
    root = corpus / "training_results_v5.0"
    assert scored(root, "verifier")[LATE_START].minutes == pytest.approx(213.60428958333333)
    assert scored(root, "policy")[LATE_START].minutes == pytest.approx(209.94644375)


def test_throughput_agrees_with_the_official_summary(corpus: Path) -> None:
    for path, wanted in SUMMARIES["throughput"].items():
        entry = scored(corpus / path.partition("/")[0], "policy")[path]
        assert entry.models == wanted["number_of_models"]
        assert entry.instance_scale == wanted["instance_scale"]
        assert same(entry.time_to_train_all, wanted["time_to_train_all"])
        assert entry.minutes is None


def test_every_result_of_the_corpus_is_scored(corpus: Path) -> None:
    """This includes rounds and logs that the official summarizer does not support."""
    for root in sorted(corpus.glob("*_results_v*")):
        folders = {log.parent for log in root.rglob("result_*.txt") if log.is_file()}
        found = scored(root, "policy")
        assert {path.partition("/")[2] for path in found} == {
            folder.relative_to(root).as_posix() for folder in folders
        }
        for path, entry in found.items():
            assert entry.minutes or entry.time_to_train_all, path


def test_a_round_without_system_descriptions_is_scored(corpus: Path) -> None:
    entry = scored(corpus / "training_results_v0.6", "policy")[
        "training_results_v0.6/Alibaba/results/sinian/resnet"
    ]
    named = (entry.submitter, entry.system, entry.benchmark, entry.division)
    assert named == ("Alibaba", "sinian", "resnet", "closed")
    assert entry.minutes == pytest.approx(24.394444444444446, rel=1e-12)
    first = scored(corpus / "training_results_v0.5", "policy")
    assert {entry.submitter for entry in first.values()} == {"intel"}


def test_convergence_checks_agree_with_the_official_checker(corpus: Path) -> None:
    for path, (status, last) in RCP_CHECKS.items():
        usage, _, round_name = path.partition("/")[0].partition("_results_v")
        text, passed = check_folder(corpus / path, usage, round_name, "pruned_rcps", None)
        assert (0 if passed else 1) == status, path
        assert not last or text.splitlines()[-1] == last, path


def test_the_official_summarizer_writes_the_same_tables(corpus: Path, tmp_path: Path) -> None:
    """The official summarizer runs on one submission: columns, rows and figures must be equal."""
    root = tmp_path / "submission"
    own_copy(corpus / "training_results_v5.0" / "AMD", root)
    summarize(str(root), "training", "5.0.0", tmp_path / "ours.csv", None)
    command = [sys.executable, "-m", "mlperf_logging.result_summarizer", str(root)]
    command += ["training", "5.0.0", "--csv", str(tmp_path / "theirs.csv")]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 0
    for suffix in ("", "_detailed"):
        ours, theirs = (rows_of(tmp_path / f"{name}{suffix}.csv") for name in ("ours", "theirs"))
        assert ours[0] == theirs[0]
        assert len(ours) == len(theirs) == 3
        for mine, other in zip(ours, theirs, strict=True):
            assert all(map(alike, mine, other)), (mine, other)


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def alike(first: str, second: str) -> bool:
    if first == second:
        return True
    try:
        return math.isclose(float(first), float(second), rel_tol=1e-9)
    except ValueError:
        return False


def test_scoring_does_not_change_the_tree(corpus: Path, tmp_path: Path) -> None:
    root = tmp_path / "Fujitsu"
    own_copy(corpus / "training_results_v3.1" / "Fujitsu", root)
    before = state(root)
    score(root, round="3.1")
    score(root, round="3.1", profile="verifier")
    summarize(str(root), "training", "3.1.0", tmp_path / "x.csv", None)
    assert state(root) == before


def state(root: Path) -> dict[str, Any]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(root.rglob("*"))
    }
