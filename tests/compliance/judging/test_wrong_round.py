"""Logs judged by another round than their own: one finding names the round as the cause."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.judging import wrong_round
from podium.compliance.reporting.models import Report
from podium.logging_spec.reader.log import Generation, Log
from podium.logging_spec.reader.read import read_log
from tests.builders import LogBuilder, build
from tests.compliance.trees import usual


def own(report: Report) -> list[str]:
    return [found.id for found in report.findings if not found.caused_by]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(3):
        build("training", "4.0", "closed", "stable_diffusion").write(
            tmp_path / f"result_{number}.txt"
        )
    return tmp_path


def test_the_matching_round_is_reported_with_its_option(logs: Path) -> None:
    report = check(logs, round="6.1")
    [found] = [each for each in report.findings if each.id == "round.mismatch"]
    assert found.severity == "error"
    assert found.message.startswith("3 of 3 logs violate rules of training 6.1 (")
    fits = found.message.partition(" and none of training ")[2].partition(",")[0]
    assert found.hint.startswith(f"use --round {fits}, or ")
    assert check(logs, round=fits).verdict == "accepted"
    assert own(report) == ["round.mismatch"]
    # The official verifier crashes on the benchmark name, which is also a consequence
    causes = {each.caused_by for each in report.findings}
    assert causes == {"", "round.mismatch", "closed.submission_benchmark"}


def test_a_log_is_read_once_for_all_rounds_of_a_format(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: Counter[tuple[str, str]] = Counter()

    def counted(path: str, prefer: Generation) -> Log:
        reads[path, prefer] += 1
        return read_log(path, prefer)

    monkeypatch.setattr(wrong_round, "read_log", counted)
    assert own(check(logs, round="6.1")) == ["round.mismatch"]
    assert set(reads.values()) == {1}


def test_the_hint_for_a_log_of_another_usage_names_the_usage(tmp_path: Path) -> None:
    build("hpc", "3.0", "closed", "openfold").write(tmp_path / "result_0.txt")
    [found] = [e for e in check(tmp_path, round="5.1").findings if e.id == "round.mismatch"]
    assert "use --usage hpc --round 3.0" in found.hint


def test_logs_of_an_older_format_are_matched_to_their_round(tmp_path: Path) -> None:
    build("training", "0.6", "closed", "ssd").write(tmp_path / "result_0.txt")
    report = check(tmp_path, round="5.1")
    assert own(report) == ["round.mismatch"]
    [found] = [each for each in report.findings if each.id == "round.mismatch"]
    assert "none of training 0.6" in found.message
    # The finding of a single file names that file
    assert found.path == "result_0.txt"


def test_the_folder_name_decides_among_matching_rounds(tmp_path: Path) -> None:
    folder = tmp_path / "training_results_v4.0"
    folder.mkdir()
    build("training", "4.0", "closed", "dlrm_dcnv2").write(folder / "result_0.txt")
    [found] = [e for e in check(folder, round="6.1").findings if e.id == "round.mismatch"]
    assert found.message.endswith("none of training 4.0")


@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_a_log_with_many_errors_is_not_reported_as_another_round(
    profile: str, tmp_path: Path
) -> None:
    log = build("training", "5.1", "closed", "llama31_8b")
    keys = ("opt_adamw_beta_1", "opt_adamw_beta_2", "opt_adamw_epsilon", "opt_gradient_clip_norm")
    log.drop(*keys, "opt_adamw_weight_decay", "seed").set("max_sequence_length", 7)
    log.write(tmp_path / "result_0.txt")
    assert "round.mismatch" not in own(check(tmp_path, round="5.1", profile=profile))


def test_one_log_of_another_round_is_not_a_round_mismatch(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    other = build("training", "4.0", "closed", "stable_diffusion").bytes()
    (tree.root / tree.folder() / "result_2.txt").write_bytes(other)
    assert "round.mismatch" not in own(tree.check())


def test_the_verifier_profile_reports_no_round_mismatch(logs: Path) -> None:
    report = check(logs, round="6.1", profile="verifier")
    assert "round.mismatch" not in {each.id for each in report.findings}


def dated(folder: Path, log: LogBuilder, day: str) -> Path:
    """Write a log whose clock begins on a day, and return its path."""
    start = datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000
    delta = int(start - log.first("cache_clear").time_ms)

    def moved(time: re.Match[str]) -> str:
        return f'"time_ms": {int(time[1]) + delta}'

    path = log.write(folder / "result_0.txt")
    path.write_text(re.sub(r'"time_ms": (\d+)', moved, path.read_text()))
    return path


@pytest.mark.parametrize(
    ("day", "first", "others"),
    [
        ("2025-10-18", "5.1", {"6.0"}),
        ("2026-04-30", "6.0", {"5.1"}),
    ],
)
def test_the_date_of_the_runs_decides_among_matching_rounds(
    day: str, first: str, others: set[str], tmp_path: Path
) -> None:
    dated(tmp_path, build("training", "5.1", "closed", "llama31_8b"), day)
    report = check(tmp_path, usage="training")
    [found] = [each for each in report.findings if each.id == "round.mismatch"]
    assert f"none of training {first}, which matches the date of the logs ({day})" in found.message
    assert found.hint.startswith(f"use --round {first}, or ")
    assert all(f"--round {each}" in found.hint for each in others)
    assert own(report) == ["round.mismatch"]


def test_every_matching_round_is_named_if_no_date_decides(tmp_path: Path) -> None:
    dated(tmp_path, build("training", "5.1", "closed", "llama31_8b"), "2031-01-01")
    [found] = [e for e in check(tmp_path).findings if e.id == "round.mismatch"]
    assert "dated" not in found.message
    assert all(f"training {each}" in found.message for each in ("5.1", "6.0"))


def test_a_log_with_one_error_is_not_reported_as_another_round(tmp_path: Path) -> None:
    # The date is after every published round, as in logs of a future round
    log = build("training", "6.1", "closed", "llama31_8b").set("opt_name", "sgd")
    path = dated(tmp_path, log, "2026-09-01")
    report = check(path)
    assert "round.mismatch" not in own(report)
    assert report.verdict == "rejected"
