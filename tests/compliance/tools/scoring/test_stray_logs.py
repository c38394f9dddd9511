"""Logs in a folder below a result do not belong to a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance import score
from tests.builders import build
from tests.compliance.trees import Submission, as_run, throughput


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """A ResNet result of 1.0 with the logs of a BERT result in a folder below it."""
    place = tmp_path / "training_results_v1.0"
    made = Submission(place, build("training", "1.0", "closed", "resnet")).system().result()
    bert = build("training", "1.0", "closed", "bert")
    for number in range(10):
        as_run(bert, number).write(made.root / made.folder() / "bert" / f"result_{number}.txt")
    return made


def rows(path: Path) -> list[tuple[str, str, int]]:
    return [(one.path, one.benchmark, one.runs) for one in score(path).results]


def test_logs_below_a_result_are_not_scored(submission: Submission) -> None:
    place, name = submission.folder(), submission.root.name
    assert rows(submission.root) == [(place, "resnet", 5)]
    assert rows(submission.place) == [(f"{name}/{place}", "resnet", 5)]
    assert rows(submission.root / "results") == [("ex_n8/resnet", "resnet", 5)]
    assert rows(submission.root / place) == [(".", "resnet", 5)]


def test_logs_below_a_result_without_logs_are_not_scored(submission: Submission) -> None:
    for log in (submission.root / submission.folder()).glob("result_*.txt"):
        log.unlink()
    assert rows(submission.root) == []


def test_the_nested_folder_alone_can_be_scored(submission: Submission) -> None:
    (entry,) = score(submission.root / submission.folder() / "bert").results
    assert (entry.benchmark, entry.system, entry.runs) == ("bert", "ex_n8", 10)


def test_folders_of_loose_logs_are_results_at_any_depth(tmp_path: Path) -> None:
    log = build("training", "1.0", "closed", "bert")
    for folder in ("a", "a/b", "a/b/c/d/e"):
        for number in range(2):
            as_run(log, number).write(tmp_path / "logs" / folder / f"result_{number}.txt")
    found = score(tmp_path, round="1.0").results
    assert [one.path for one in found] == ["logs/a", "logs/a/b", "logs/a/b/c/d/e"]


def test_pruned_instances_are_not_a_separate_result(tmp_path: Path) -> None:
    made = throughput(tmp_path / "hpc_results_v3.0")
    weak = made.folder("wide", "weak")
    pruned = made.root / weak / "pruned_results"
    pruned.mkdir()
    (made.root / weak / "result_4.txt").rename(pruned / "result_4.txt")
    found = score(made.root).results
    assert [(one.path, one.scaling, one.runs) for one in found] == [
        (made.folder(), "strong", 5),
        (weak, "weak", 4),
    ]
