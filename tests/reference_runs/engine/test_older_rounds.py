"""Logs of the benchmarks of rounds 0.5 and 0.6 in the line formats of these rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

pytest.importorskip("torch")

from podium.compliance import check
from podium.logging_spec import read_log
from podium.reference_runs.benchmarks.gnmt.config import smoke as gnmt
from podium.reference_runs.engine.launch import run, run_request
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.log.legacy_sink import v05_record

if TYPE_CHECKING:
    from pathlib import Path

Profile = Literal["policy", "verifier"]

SHORT: dict[str, dict[str, object]] = {
    "gnmt": {"train_samples": 128, "eval_samples": 4, "last_step": 2},
    "maskrcnn": {"train_samples": 16, "eval_samples": 4, "mask_target": 0.0},
    "ncf": {},
    "resnet": {"train_samples": 64, "eval_samples": 32},
    "ssd": {"train_samples": 16, "eval_samples": 4},
    "transformer": {"train_samples": 64, "eval_samples": 4},
}
"""Changes to the smoke configs: runs take seconds and end at their first evaluation."""


def short_run(name: str, round_name: str, path: Path, **changes: object) -> None:
    settings = {**SHORT[name], "target": 0.0, **changes}
    words = {key: str(value) for key, value in settings.items()}
    request = run_request(name, Setting(device="cpu"), words, (round_name, "closed"))
    assert run(request, path, lambda _: None).converged


def errors(path: Path, round_name: str, profile: Profile) -> set[str]:
    report = check(str(path), round=round_name, usage="training", profile=profile)
    return {each.id for each in report.findings if each.severity == "error"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each == "ssd" else pytest.mark.long) for each in SHORT]
)
def test_the_only_error_of_a_0_5_log_is_the_target(name: str, tmp_path: Path) -> None:
    """The rules contain the target of the full problem, which a short run does not reach."""
    short_run(name, "0.5", tmp_path / "result_0.txt")
    assert errors(tmp_path / "result_0.txt", "0.5", "policy") == {f"{name}.target"}


@pytest.mark.parametrize("profile", ["policy", "verifier"])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("ssd", {}),
        *(pytest.param(name, {}, marks=pytest.mark.long) for name in ("gnmt", "transformer")),
        pytest.param("resnet", {"opt_name": "lars"}, marks=pytest.mark.long),
    ],
)
def test_a_log_of_0_6_is_accepted(
    name: str, changes: dict[str, object], profile: Profile, tmp_path: Path
) -> None:
    short_run(name, "0.6", tmp_path / "result_0.txt", **changes)
    assert errors(tmp_path / "result_0.txt", "0.6", profile) == set()


def test_0_5_records_have_the_names_of_0_5_and_count_epochs_from_0(tmp_path: Path) -> None:
    short_run("ssd", "0.5", tmp_path / "log")
    records = {each.key: each.value for each in read_log(tmp_path / "log").records}
    # The first epoch that this config evaluates is the fifth
    assert records["train_epoch"] == 4
    assert records["eval_accuracy"]["epoch"] == 4
    assert records["run_stop"] == {"success": True}


def test_an_aborted_run_is_not_a_success_in_0_5() -> None:
    assert v05_record("run_stop", None, {"status": "aborted"}) == ("run_stop", {"success": False})


def test_a_record_without_a_counterpart_in_0_5_keeps_its_metadata() -> None:
    record = v05_record("tracked_stats", {"train_loss": 2.0}, {"step": 3})
    assert record == ("tracked_stats", {"step": 3, "value": {"train_loss": 2.0}})
    assert v05_record("seed", 7, {}) == ("seed", 7)


@pytest.mark.parametrize(("round_name", "logged"), [("0.5", 24.0), ("0.6", 24.0), ("0.7", 0.24)])
def test_bleu_is_in_points_up_to_0_6(round_name: str, logged: float) -> None:
    assert gnmt().quality_in(round_name, 0.24) == pytest.approx(logged)
