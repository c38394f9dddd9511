"""The source lines that log the settings show whether all runs used one version of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.rules.finding import Severity
from tests.builders import LogBuilder
from tests.compliance.trees import Change, Submission, throughput, usual

RULE = "result.other-code"
KEYS = ("global_batch_size", "opt_base_learning_rate", "opt_end_learning_rate")


def lines(*lineno: object, file: object = "/a/train.py") -> Change:
    """A change of the file and the lines at which a log records its settings."""

    def change(log: LogBuilder) -> LogBuilder:
        for key, at in zip(KEYS, lineno, strict=True):
            log = log.meta(key, file=file, lineno=at)
        return log

    return change


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    """Three runs that log their settings at the same lines."""
    return usual(tmp_path).result(change=lines(11, 12, 13))


def test_a_run_of_another_version_of_the_code_is_a_note(tree: Submission) -> None:
    assert tree.reported(RULE) == []
    [finding] = tree.log(2, lines(11, 14, 15)).reported(RULE)
    assert (finding.severity, finding.key) == (Severity.NOTE, KEYS[1])
    assert finding.path == f"{tree.folder()}/result_2.txt"
    assert finding.message == (
        "2 of 3 settings are logged at other lines than in 2 other runs: opt_base_learning_rate "
        "at train.py:14, there at train.py:12; expected one version of the code"
    )
    assert tree.reported(RULE, "verifier") == []


def test_the_first_run_can_be_the_one_of_another_version(tree: Submission) -> None:
    [finding] = tree.log(0, lines(21, 22, 23)).reported(RULE)
    assert finding.path.endswith("result_0.txt")


def test_each_other_version_is_reported_once(tmp_path: Path) -> None:
    tree = usual(tmp_path).result(change=lines(11, 12, 13), runs=7)
    tree.log(1, lines(21, 22, 23)).log(3, lines(31, 32, 33)).log(5, lines(21, 22, 23))
    first, second = tree.reported(RULE)
    assert first.path.endswith("result_1.txt")
    assert "train.py:11; same in 1 more; expected" in first.message
    assert second.path.endswith("result_3.txt")


def test_settings_logged_in_another_file_are_reported(tree: Submission) -> None:
    [finding] = tree.log(1, lines(11, 12, 13, file="/a/train_jax.py")).reported(RULE)
    assert "at train_jax.py:11, there at train.py:11" in finding.message


@pytest.mark.parametrize(
    "same",
    [
        # One setting may be logged in a branch, for example by a run that restarts
        lines(11, 12, 99),
        # Each run may have its own copy of the code
        lines(11, 12, 13, file="/tmp/session_7/train.py"),
        lines(11, 12, 13, file="C:\\jobs\\train.py"),
        # A position that is missing or invalid is not compared
        lines(None, None, 13),
        lines("21", "22", "23"),
        lines(21, 22, 23, file=None),
        lambda log: log.drop(KEYS[0]).meta(KEYS[1], lineno=22),
        # A repeated setting counts where it was logged first
        lambda log: lines(11, 12, 13)(log.repeat(KEYS[0])).meta(KEYS[0], only=1, lineno=50),
    ],
)
def test_other_differences_are_not_another_version(tree: Submission, same: Change) -> None:
    assert tree.log(1, lambda log: same(lines(11, 12, 13)(log))).reported(RULE) == []


def test_an_instance_of_another_version_is_reported(tmp_path: Path) -> None:
    tree = throughput(tmp_path)

    def of(first: int) -> Change:
        metadata = [{"file": "t.py", "lineno": first + more} for more in (0, 1)]
        return lambda log: log.add("global_batch_size", 8, metadata[0], before="init_stop").add(
            "opt_name", "lamb", metadata[1], before="init_stop"
        )

    tree.result("wide", scaling="weak", start=20, change=of(5))
    assert tree.reported(RULE) == []
    [finding] = tree.log(3, of(6), "wide", scaling="weak", start=20).reported(RULE)
    assert finding.path.endswith("weak/deepcam/result_3.txt")
