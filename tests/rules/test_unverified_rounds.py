"""Training 0.5 and HPC 0.7, whose rules are only in the written policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from podium.compliance.judging.logs.judge import LogVerdict, judge_log
from podium.logging_spec.reader.read import parse_log, read_log
from podium.rules.catalogue import find_round
from podium.rules.finding import Profile, Severity, StatedBy
from podium.rules.training.v0_5 import quality
from tests.locations import CORPUS

if TYPE_CHECKING:
    from collections.abc import Iterator


NOT_CONVERGED = {
    *(f"ncf/result_{number}.txt" for number in (0, 11, 12, 14, 18)),
    "daint_gpu_n256_tf2.2.0/cosmoflow/result_4.txt",  # ends during training
}
"""All published logs of the corpus whose run did not reach its target."""

NCF = (
    "run_clear_caches",
    "run_start",
    "train_loop",
    "train_epoch: 0",
    'eval_accuracy: {"epoch": 0, "value": 0.61}',
    "train_epoch: 1",
    'eval_accuracy: {"epoch": 1, "value": 0.636}',
    "eval_target: 0.635",
    'run_stop: {"success": true}',
    "run_final",
)


def text_of(records: tuple[str, ...], benchmark: str = "ncf") -> bytes:
    lines = (
        f":::MLPv0.5.0 {benchmark} {1542308773 + index}.125 (main.py:{index + 1}) {record}\n"
        for index, record in enumerate(records)
    )
    return "".join(lines).encode()


def judged(records: tuple[str, ...], benchmark: str = "ncf", **options: Any) -> LogVerdict:
    profile = options.get("profile", Profile.POLICY)
    return judge_log(
        parse_log(text_of(records, benchmark)), find_round("training", "0.5"), profile, "log"
    )


def ids(verdict: LogVerdict) -> list[str]:
    return [finding.id for finding in verdict.findings]


def swap(old: str, *new: str) -> tuple[str, ...]:
    """Return the good log with one record replaced or removed."""
    assert old in NCF
    at = NCF.index(old)
    return (*NCF[:at], *new, *NCF[at + 1 :])


STOP = 'run_stop: {"success": true}'


@pytest.mark.parametrize("profile", list(Profile))
def test_a_good_log_passes(profile: Profile) -> None:
    verdict = judged(NCF, profile=profile)
    assert not verdict.findings
    assert verdict.converged
    assert verdict.benchmark == "ncf"
    assert verdict.division is None
    assert verdict.minutes == pytest.approx(7 / 60)


@pytest.mark.parametrize(
    ("stop", "converged"),
    [
        (STOP, True),
        ('run_stop: {"success": "true"}', True),
        ("run_stop", True),
        ("run_stop: {}", True),
        ('run_stop: {"success": false}', False),
        ('run_stop: {"success": "false"}', False),
    ],
)
def test_convergence_follows_from_run_stop_or_the_accuracies(stop: str, converged: bool) -> None:
    verdict = judged(swap(STOP, stop))
    assert verdict.converged is converged
    assert ids(verdict) == ([] if converged else ["common.target"])


def test_accuracies_decide_if_run_stop_does_not_state_success() -> None:
    records = tuple(
        record.replace("0.636", "0.634") for record in swap(STOP, "run_stop") if record != "x"
    )
    verdict = judged(records)
    assert verdict.converged is False
    assert ids(verdict) == ["common.target", "ncf.target"]


def test_a_run_without_run_stop_has_not_converged() -> None:
    verdict = judged(swap(STOP))
    assert verdict.converged is False
    assert ids(verdict) == ["common.run_stop"]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("run_start", (), "common.run_start"),
        ("train_epoch: 0", ("train_epoch: 3",), "common.train_epoch"),
        ("train_epoch: 1", ("train_epoch: -1",), "common.train_epoch"),
        ("eval_target: 0.635", ("eval_target: 0.5",), "ncf.eval_target"),
        ("run_clear_caches", ("model_hp_mf_dim: 32",), "ncf.model_hp_mf_dim"),
        ("run_clear_caches", ("eval_hp_num_neg: 99",), "ncf.eval_hp_num_neg"),
    ],
)
def test_a_violation_is_an_error_that_the_policy_states(
    old: str, new: tuple[str, ...], rule: str
) -> None:
    verdict = judged(swap(old, *new))
    found = [finding for finding in verdict.findings if finding.id == rule]
    assert found
    assert found[0].severity is Severity.ERROR
    assert found[0].stated_by is StatedBy.POLICY
    assert found[0].cites
    assert found[0].hint


def test_a_run_with_a_train_loop_needs_no_epochs() -> None:
    records = tuple(record for record in NCF if not record.startswith("train_epoch"))
    assert not judged(records).findings
    assert ids(judged(tuple(r for r in records if r != "train_loop"))) == ["common.train_epoch"]


def test_run_stop_before_run_start_is_reported() -> None:
    lines = text_of(NCF).replace(b"1542308781.125", b"1542308701.125")
    verdict = judge_log(parse_log(lines), find_round("training", "0.5"), Profile.POLICY, "log")
    assert ids(verdict) == ["common.run_stop"]


def test_repeated_lines_are_only_notes() -> None:
    verdict = judged(tuple(record for record in NCF for _ in range(2)))
    assert {finding.severity for finding in verdict.findings} == {Severity.NOTE}
    assert verdict.converged


def test_an_unknown_benchmark_is_reported() -> None:
    verdict = judged(NCF, benchmark="chess")
    assert ids(verdict) == ["common.run_start"]
    assert "names chess" in verdict.findings[0].message


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (0.5, (0.5,)),
        ("0.5", (0.5,)),
        ({"epoch": 3, "value": 0.5}, (0.5,)),
        ({"epoch": 3, "value": {"SEGM": 0.34, "BBOX": 0.38}}, (0.38, 0.34)),
        ({"epoch": 3, "value": [0.38, 0.34]}, (0.38, 0.34)),
        (None, ()),
        ("DEFERRED: 1", ()),
        ({}, ()),
        (True, ()),
    ],
)
def test_quality_is_one_number_or_one_for_boxes_and_one_for_masks(
    value: object, numbers: tuple[float, ...]
) -> None:
    assert quality(value) == numbers


def test_mask_r_cnn_needs_both_targets() -> None:
    good = 'eval_accuracy: {"epoch": 1, "value": {"BBOX": 0.378, "SEGM": 0.34}}'
    records = ("run_start", "train_epoch: 0", good, STOP)
    assert not judged(records, "maskrcnn").findings
    low = tuple(record.replace("0.34}", "0.33}") for record in records)
    assert ids(judged(low, "maskrcnn")) == ["maskrcnn.target"]


def published() -> Iterator[Path]:
    yield from sorted(CORPUS.glob("training_results_v0.5/v0.5.0/*/*/results/*/*/result_*.txt"))
    yield from sorted(CORPUS.glob("hpc_results_v0.7/*/results/*/*/result_*.txt"))


@pytest.mark.corpus
def test_published_results_pass_if_they_converged() -> None:
    paths = list(published())
    assert len(paths) == 57
    for path in paths:
        old = "training_results_v0.5" in path.parts
        rules = find_round("training", "0.5") if old else find_round("hpc", "0.7")
        verdict = judge_log(read_log(path), rules, Profile.POLICY, str(path))
        errors = [finding for finding in verdict.findings if finding.severity is Severity.ERROR]
        missed = any(str(path).endswith(name) for name in NOT_CONVERGED)
        assert bool(errors) is missed, path
        assert verdict.converged is not missed, path
