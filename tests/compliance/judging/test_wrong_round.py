"""Logs judged by another round than theirs: one finding names the round, the others follow."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.judging import wrong_round
from podium.compliance.reporting.models import Report
from podium.logging_spec.reader.log import Generation, Log
from podium.logging_spec.reader.read import read_log
from tests.builders import build
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


def test_the_round_that_fits_is_named_and_how_to_select_it(logs: Path) -> None:
    report = check(logs, round="6.1")
    [found] = [each for each in report.findings if each.id == "round.mismatch"]
    assert found.severity == "error"
    assert found.message.startswith("3 of 3 logs break rules of training 6.1 (")
    fits = found.message.rpartition(" ")[2]
    assert f"--round {fits}" in found.hint
    assert check(logs, round=fits).verdict == "accepted"
    assert own(report) == ["round.mismatch"]
    assert {each.caused_by for each in report.findings} == {"", "round.mismatch"}


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


def test_the_usage_is_named_where_it_is_another(tmp_path: Path) -> None:
    build("hpc", "3.0", "closed", "openfold").write(tmp_path / "result_0.txt")
    [found] = [e for e in check(tmp_path, round="5.1").findings if e.id == "round.mismatch"]
    assert "give --usage hpc --round 3.0" in found.hint


def test_logs_of_an_older_format_are_known_by_it(tmp_path: Path) -> None:
    build("training", "0.6", "closed", "ssd").write(tmp_path / "result_0.txt")
    report = check(tmp_path, round="5.1")
    assert own(report) == ["round.mismatch"]
    assert "none of training 0.6" in report.findings[0].message


def test_the_folders_name_decides_among_rounds_that_fit(tmp_path: Path) -> None:
    folder = tmp_path / "training_results_v4.0"
    folder.mkdir()
    build("training", "4.0", "closed", "dlrm_dcnv2").write(folder / "result_0.txt")
    [found] = [e for e in check(folder, round="6.1").findings if e.id == "round.mismatch"]
    assert found.message.endswith("none of training 4.0")


@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_a_broken_log_of_the_right_round_is_told_as_such(profile: str, tmp_path: Path) -> None:
    log = build("training", "5.1", "closed", "llama31_8b")
    keys = ("opt_adamw_beta_1", "opt_adamw_beta_2", "opt_adamw_epsilon", "opt_gradient_clip_norm")
    log.drop(*keys, "opt_adamw_weight_decay", "seed").set("max_sequence_length", 7)
    log.write(tmp_path / "result_0.txt")
    assert "round.mismatch" not in own(check(tmp_path, round="5.1", profile=profile))


def test_one_strange_log_among_good_ones_is_no_matter_of_the_round(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    other = build("training", "4.0", "closed", "stable_diffusion").bytes()
    (tree.root / tree.folder() / "result_2.txt").write_bytes(other)
    assert "round.mismatch" not in own(tree.check())


def test_the_verifiers_profile_names_no_round(logs: Path) -> None:
    report = check(logs, round="6.1", profile="verifier")
    assert "round.mismatch" not in {each.id for each in report.findings}
