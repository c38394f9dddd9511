"""The facts that the policy and the verifier readers extract from a log."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import RunFacts, run_facts
from podium.rules.finding import Profile
from podium.rules.run import Run

START, STOP = 60_000, 660_000


def record(key: str, value: Any = None, at: float = 0, **metadata: Any) -> Record:
    return Record(key, at, value, metadata)


def log(*records: Record, benchmark: str = "bert", size: Any = 256) -> list[Record]:
    """Return a converged run that contains these records."""
    return [
        record("submission_benchmark", benchmark),
        record("submission_division", "closed"),
        record("global_batch_size", size),
        record("init_start", at=0),
        record("init_stop", at=30_000),
        record("run_start", at=START),
        *records,
        record("run_stop", at=STOP, status="success"),
    ]


def read(records: list[Record], profile: Profile, round_name: str = "4.0", **more: Any) -> RunFacts:
    return run_facts(
        Run(records), find_round("training", round_name), profile, "result_0.txt", **more
    )


def read_text(
    text: bytes, profile: Profile = Profile.VERIFIER, round_name: str = "4.0", **more: Any
) -> RunFacts:
    return read(parse_log(text).records, profile, round_name, **more)


PASSED_TWICE = log(
    record("eval_accuracy", 0.5, epoch_num=100),
    record("eval_accuracy", 0.73, epoch_num=200.00049),
    record("eval_accuracy", 0.74, epoch_num=300),
)


def test_policy_uses_the_first_passing_evaluation_and_verifier_the_last() -> None:
    ours, theirs = (read(PASSED_TWICE, profile) for profile in (Profile.POLICY, Profile.VERIFIER))
    assert (ours.to_converge, theirs.to_converge) == (200.0, 300)
    assert (ours.quality, theirs.quality) == (0.73, 0.74)
    for facts in (ours, theirs):
        assert (facts.benchmark, facts.division, facts.batch_size) == ("bert", "closed", 256)
        assert (facts.minutes, facts.init_minutes, facts.unit) == (10, 0.5, "samples")
        assert facts.converged
        assert facts.counts


@pytest.mark.parametrize("filler", ["loss", "half a surrogate pair \ud800", "two\nlines"])
@pytest.mark.parametrize("count", [0, 503, 504, 505, 506, 507, 1100])
def test_the_verifier_finds_evaluations_at_any_block_boundary(count: int, filler: str) -> None:
    """Records are searched in blocks: the evaluations are before, at and after a boundary."""
    others = [record("tracked_stats", filler, step=1)] * count
    evaluations = [record("eval_accuracy", 0.7 + n / 100, epoch_num=n + 1) for n in range(3)]
    facts = read(log(*others, *evaluations), Profile.VERIFIER)
    assert (facts.to_converge, facts.quality, facts.batch_size) == (3, 0.72, 256)


def test_success_below_the_target_is_convergence_for_the_verifier_only() -> None:
    records = log(record("eval_accuracy", 0.5, epoch_num=100))
    assert not read(records, Profile.POLICY).converged
    assert read(records, Profile.VERIFIER).converged


def test_an_aborted_run_did_not_converge() -> None:
    records = [*PASSED_TWICE[:-1], record("run_stop", at=STOP, status="aborted")]
    for profile in Profile:
        facts = read(records, profile)
        assert (facts.converged, facts.to_converge, facts.minutes) == (False, None, 10)


def test_a_run_without_run_stop_did_not_converge() -> None:
    for profile in Profile:
        facts = read(PASSED_TWICE[:-1], profile)
        assert (facts.converged, facts.minutes, facts.stop_ms) == (False, None, None)


def test_the_profiles_read_repeated_starts_and_stops_differently() -> None:
    records = [
        *PASSED_TWICE[:-1],
        record("run_start", at=STOP - 60_000),
        PASSED_TWICE[-1],
        record("run_stop", at=STOP + 60_000, status="aborted"),
    ]
    assert read(records, Profile.POLICY).minutes == 10
    assert read(records, Profile.VERIFIER).minutes == 1
    assert read(records, Profile.POLICY).converged
    assert not read(records, Profile.VERIFIER).converged


def test_the_verifier_finds_a_key_anywhere_in_a_record() -> None:
    noise = record("note", 7, file="eval_accuracy.py", epoch_num=999)
    size = record("note", 512, about="global_batch_size")
    nested = record("note", {"global_batch_size": 1}, x=1)
    for extra, field, value in (
        (noise, "to_converge", 999),
        (size, "batch_size", 512),
    ):
        records = [*PASSED_TWICE[:-1], extra, PASSED_TWICE[-1]]
        assert getattr(read(records, Profile.VERIFIER), field) == value
        ours = read(records, Profile.POLICY)
        assert (ours.batch_size, ours.to_converge) == (256, 200.0)
    assert "global_batch_size is" in read([*PASSED_TWICE, nested], Profile.VERIFIER).problem


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("global_batch_size", 512),
        ("eval_accuracyglobal_batch_size", 512),
        ("\\u0067lobal_batch_size", 512),
        ("global\\u005fbatch_size", 512),
        ("\\\\u0067lobal_batch_size", 256),
        ("global_batch", 256),
    ],
)
def test_the_verifier_finds_a_key_in_any_json_spelling(name: str, size: int) -> None:
    lines = [b":::MLLOG " + json.dumps(msgspec.to_builtins(each)).encode() for each in PASSED_TWICE]
    odd = f':::MLLOG {{"key": "note", "time_ms": 1, "value": 512, "metadata": {{"x": "{name}"}}}}'
    noise = b"global_batch_size 3 submission_benchmark eval_accuracy"
    for before, after in ([[], []], [[], [noise]], [[noise, noise + b" " + lines[0]], [noise]]):
        start = lines[1:4] if before else lines[:4]
        text = b"\n".join([*before, *start, odd.encode(), *lines[4:], *after])
        assert read_text(text).batch_size == size


def test_two_overlapping_keys_are_both_found() -> None:
    # The log has no record with the key global_batch_size.
    lines = [json.dumps(msgspec.to_builtins(each)).encode() for each in PASSED_TWICE]
    odd = b'{"key": "note", "time_ms": 1, "value": 0.9, "metadata": {"epoch_num": 900, "x": "W"}}'
    lines = [line for line in lines if b"global_batch_size" not in line]
    lines.insert(-1, odd.replace(b"W", b"global_batch_sizeval_accuracy"))
    facts = read_text(b"\n".join(b":::MLLOG " + line for line in lines))
    assert (facts.batch_size, facts.to_converge) == (0.9, 900)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        (log(), "no evaluation precedes it"),
        (log(record("eval_accuracy", 0.8)), "eval_accuracy has no epoch_num"),
        (log(record("eval_accuracy", 0.8, epoch_num="2")), "an epoch_num that is not a number"),
        (log(record("eval_accuracy", 0.8, epoch_num=2), size="256"), "which is not a number"),
        (log(record("eval_accuracy", 0.8, epoch_num=10**400)), "larger than any float"),
        (log(record("eval_accuracy", 0.8, epoch_num=2), size=10**400), "larger than any float"),
        (log(size=-(10**400)), "no evaluation precedes it"),
        ([record("run_stop", at=1)], "run_stop has no status"),
        ([Record("run_stop", 1, None, "")], "run_stop has no status"),
        (log(record("eval_accuracy", 0.8, epoch_num=1), benchmark="flux1"), "no samples_count"),
    ],
)
def test_a_log_that_crashes_the_verifier_is_reported_as_a_problem(
    records: list[Record], problem: str
) -> None:
    facts = read(records, Profile.VERIFIER, "5.1")
    assert problem in facts.problem
    assert not facts.converged
    # A value that cannot be used in arithmetic is dropped
    assert facts.batch_size in (None, 256)
    read(records, Profile.POLICY, "5.1")


def checkpoint(at: int, fid: float, clip: float | None) -> list[Record]:
    records = [record("eval_accuracy", fid, samples_count=at, metric="FID")]
    if clip is not None:
        records.append(record("eval_accuracy", clip, samples_count=at, metric="CLIP"))
    return records


def test_stable_diffusion_converges_at_its_earliest_passing_checkpoint() -> None:
    late_first = [
        *checkpoint(3000, 80, 0.2),
        *checkpoint(2000, 85, 0.16),
        *checkpoint(1000, 95, 0.2),
    ]
    for profile in Profile:
        facts = read(log(*late_first, benchmark="stable_diffusion"), profile)
        assert facts.to_converge == 2000
        assert facts.converged


def test_a_checkpoint_without_one_metric_is_a_problem_for_the_verifier() -> None:
    records = log(*checkpoint(1000, 80, None), benchmark="stable_diffusion")
    assert "a checkpoint has no CLIP" in read(records, Profile.VERIFIER).problem
    bad = log(*checkpoint(1000, 95, 0.2), benchmark="stable_diffusion")
    assert "no checkpoint reaches the target" in read(bad, Profile.VERIFIER).problem


def test_only_bert_is_measured_in_train_samples() -> None:
    records = [*PASSED_TWICE[:-1], record("train_samples", 12345), PASSED_TWICE[-1]]
    for profile in Profile:
        assert read(records, profile, train_samples=True).to_converge == 12345
    other = log(record("eval_accuracy", 0.8, epoch_num=30), benchmark="resnet")
    for profile in Profile:
        assert read(other, profile, train_samples=True).to_converge == 30


def test_a_log_of_0_5_is_read() -> None:
    stop = Record("run_stop", STOP, {"success": "true"}, {}, None, "resnet")
    start = Record("run_start", START, None, {}, None, "resnet")
    accuracy = Record("eval_accuracy", 1, {"epoch": 61, "value": 0.75}, {}, None, "resnet")
    facts = read([start, accuracy, stop, stop], Profile.POLICY, "0.5")
    assert (facts.benchmark, facts.converged, facts.minutes) == ("resnet", True, 10)
    assert (facts.to_converge, facts.quality) == (61, 0.75)
    failed = Record("run_stop", STOP, {"success": False}, {}, None, "ncf")
    assert not read([start, accuracy, failed], Profile.POLICY, "0.5").converged


def test_minigo_of_0_6_ends_with_the_winning_model() -> None:
    records = [
        record("run_start", at=START),
        record("eval_accuracy", 0.4, epoch_num=1),
        record("eval_result", 0.55, iteration=9, timestamp=120.0),
    ]
    stopped = [*records, record("run_stop", at=STOP, status="success")]
    assert read(stopped, Profile.POLICY, "0.6").minutes == 2
    assert read(records, Profile.POLICY, "0.6").minutes == 2
    facts = read(records, Profile.POLICY, "0.6")
    assert (facts.converged, facts.quality, facts.to_converge) == (True, 0.55, 9)


def test_nodes_accelerators_and_seeds_are_read() -> None:
    extra = [
        record("number_of_nodes", 4),
        record("accelerators_per_node", 8),
        record("seed", 7),
        record("seed", 8),
    ]
    facts = read([*extra, *PASSED_TWICE], Profile.POLICY)
    assert (facts.nodes, facts.accelerators, facts.seeds) == (4, 32, (7, 8))
