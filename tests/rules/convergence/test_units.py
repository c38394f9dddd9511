"""Logs that count evaluations in another unit than the reference points of their benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.compliance import check, score
from podium.compliance.judging.results.convergence import judge_convergence
from podium.logging_spec.reader.record import Record
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import RunFacts, run_facts
from podium.rules.finding import Profile
from podium.rules.run import Run

BAIDU = "training_results_v2.1/Baidu/results/8_node_64_A100_PaddlePaddle/bert"
FUJITSU = "training_results_v3.1/Fujitsu/results/primergy-cdi-A100x8-mxnet-ngc23.04/unet3d"
GIGABYTE = "training_results_v2.0/GIGABYTE/results/G492-ID0_mxnet/unet3d"


def record(key: str, value: Any = None, **metadata: Any) -> Record:
    return Record(key, 0, value, metadata)


def facts(
    benchmark: str, batch: int, *middle: Record, round_name: str, profile: Profile = Profile.POLICY
) -> RunFacts:
    records = [
        record("submission_benchmark", benchmark),
        record("submission_division", "closed"),
        record("global_batch_size", batch),
        record("run_start"),
        *middle,
        record("run_stop", status="success"),
    ]
    return run_facts(Run(records), find_round("training", round_name), profile, "result_0.txt")


# --- bert ---

REACHED = record("eval_accuracy", 0.73, epoch_num=1)


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ([REACHED, record("train_samples", 2_976_768)], 2_976_768),
        # Before the evaluations, train_samples is the size of the data set
        ([record("train_samples", 156_725_653), REACHED], 1),
        ([REACHED], 1),
        ([REACHED, record("train_samples", "many")], 1),
        # From one batch on, the position is a count of samples, and train_samples is ignored
        ([record("eval_accuracy", 0.73, epoch_num=256), record("train_samples", 999)], 256),
        ([record("eval_accuracy", 0.73, epoch_num=255), record("train_samples", 999)], 999),
    ],
)
def test_epochs_of_bert_are_replaced_by_train_samples(
    middle: list[Record], expected: float
) -> None:
    assert facts("bert", 256, *middle, round_name="2.1").to_converge == expected


def test_the_verifier_reads_epochs_of_bert_as_samples() -> None:
    middle = (REACHED, record("train_samples", 2_976_768))
    read = facts("bert", 256, *middle, round_name="2.1", profile=Profile.VERIFIER)
    assert read.to_converge == 1


def test_a_published_bert_result_in_epochs_passes_only_by_the_policy(corpus: Path) -> None:
    (entry,) = score(corpus / BAIDU).results
    assert entry.run_list[0].to_converge == 2_976_768
    assert entry.rcp is not None
    assert (entry.rcp.verdict, entry.rcp.submission) == ("pass", 2736000.0)
    (official,) = score(corpus / BAIDU, profile="verifier").results
    assert official.rcp is not None
    assert (official.rcp.verdict, official.rcp.submission) == ("fail", 1)
    root = (corpus / BAIDU).parents[2]
    # In the policy profile, a rejection by the verifier alone is a note
    for profile, weight in (("policy", "note"), ("verifier", "error")):
        found = check(root, profile=profile).findings  # type: ignore[arg-type]
        assert [one.severity.value for one in found if one.id == "rcp.failed"] == [weight]


# --- unet3d ---


def trained(first: float, last: float) -> tuple[Record, Record]:
    return (
        record("eval_accuracy", 0.8, epoch_num=first),
        record("eval_accuracy", 0.91, epoch_num=last),
    )


@pytest.mark.parametrize("round_name", ["3.1", "4.0"])
@pytest.mark.parametrize(
    ("batch", "first", "last", "samples"),
    [
        (56, 1000, 2020, 2020 * 168),
        (84, 1000, 1000, 168_000),
        # The first evaluation shows whether an epoch was padded or cut to whole batches
        (80, 700, 1428, 1428 * 240),
        (80, 1050, 2100, 2100 * 160),
        (64, 1313, 2393, 2393 * 128),
        # One or two evaluations late: still epochs
        (56, 1040, 2040, 2040 * 168),
        (56, 168_000, 285_600, 285_600),
        (56, 171_360, 285_600, 285_600),
        (80, 168_000, 342_720, 342_720),
        (56, 0, 2020, 2020),
    ],
)
def test_epochs_of_unet3d_are_converted_to_samples(
    round_name: str, batch: int, first: float, last: float, samples: float
) -> None:
    read = facts("unet3d", batch, *trained(first, last), round_name=round_name)
    assert (read.to_converge, read.unit) == (samples, "samples")


def test_unet3d_is_counted_in_epochs_before_3_1() -> None:
    assert facts("unet3d", 56, *trained(1000, 2020), round_name="3.0").to_converge == 2020
    assert facts("unet3d", 56, *trained(168_000, 336_000), round_name="3.0").to_converge == 2000


def test_the_verifier_reads_epochs_of_unet3d_without_conversion() -> None:
    middle = trained(1000, 2020)
    read = facts("unet3d", 56, *middle, round_name="3.1", profile=Profile.VERIFIER)
    assert read.to_converge == 2020


@pytest.mark.parametrize(
    ("epochs", "verdict", "submission"),
    # The mean of a published result, and a mean at which a result passes
    [(2016.25, "fail", 338_730), (2120, "pass", 356_160)],
)
def test_results_in_epochs_are_compared_in_samples(
    epochs: float, verdict: str, submission: float
) -> None:
    run = facts("unet3d", 56, *trained(1000, epochs), round_name="3.1")
    rules = find_round("training", "3.1")
    judged = judge_convergence(rules, "unet3d", [run] * 40, Profile.POLICY)
    assert (judged.verdict, judged.submission) == (verdict, pytest.approx(submission))
    assert judged.minimum == pytest.approx(353165.7155)


def test_published_runs_of_unet3d_are_not_converted(corpus: Path) -> None:
    (entry,) = score(corpus / FUJITSU).results
    assert entry.to_converge == 362565.0
    (earlier,) = score(corpus / GIGABYTE).results
    assert earlier.to_converge is not None
    assert 1000 < earlier.to_converge < 3000
