"""Scores of generated and of published results."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from podium.compliance.judging.results.factor import Factor, choose_factor
from podium.compliance.judging.results.score import (
    final_quality,
    median_window,
    olympic_energy,
    score_result,
    score_throughput,
)
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.result import Convergence
from podium.rules.convergence.spread import spread_of
from podium.rules.finding import Profile
from tests.locations import CORPUS
from tests.published import facts_of


def runs(minutes: list[float | None], first: int = 0) -> list[RunFacts]:
    """Runs in sequence; None is a run that failed after ten minutes."""
    return [
        RunFacts(
            f"result_{i}.txt",
            converged=time is not None,
            minutes=time or 10.0,
            start_ms=i * 1e6,
            stop_ms=i * 1e6 + (time or 10.0) * 60_000,
        )
        for i, time in enumerate(minutes, first)
    ]


def score(facts: list[RunFacts], benchmark: str = "resnet", round_name: str = "4.0") -> Any:
    return score_result("training", round_name, benchmark, facts, Profile.POLICY)


def roles(result: Any) -> list[str]:
    return [run.role for run in result.runs]


# --- the olympic mean ---


def test_the_fastest_and_the_slowest_run_are_dropped() -> None:
    result = score(runs([5.0, 1.0, 3.0, 2.0, 4.0]))
    assert result.minutes == result.score == 3
    assert roles(result) == ["slowest", "fastest", "scored", "scored", "scored"]
    assert result.problems == ()


def test_a_failed_run_counts_as_the_slowest() -> None:
    result = score(runs([5.0, 1.0, None, 2.0, 4.0]))
    assert result.minutes == pytest.approx(11 / 3)
    assert roles(result) == ["scored", "fastest", "failed", "scored", "scored"]
    assert result.runs[2].why == "it did not converge: it counts as slowest"
    assert [run.role for run in result.runs].count("failed") == 1


def test_a_refused_run_counts_as_the_slowest() -> None:
    facts = runs([5.0, 1.0, 3.0, 2.0, 4.0])
    facts[0] = replace(facts[0], refused="its log violates rules")
    result = score(facts)
    assert roles(result)[0] == "failed"
    assert result.minutes == 3


def test_two_failed_runs_leave_no_score() -> None:
    result = score(runs([5.0, None, None, 2.0, 4.0]))
    assert (result.minutes, result.score) == (None, None)
    assert result.problems == ("2 of 5 runs failed; at most 1 may",)


def test_unet3d_drops_the_four_fastest_and_four_slowest_runs() -> None:
    minutes: list[float | None] = [float(i) for i in range(1, 37)]
    result = score(runs([*minutes, None, None, None, None]), "unet3d")
    assert result.minutes == pytest.approx(sum(range(5, 37)) / 32)
    assert roles(result).count("fastest") == 4
    assert score(runs([*minutes[:-1], *[None] * 5]), "unet3d").minutes is None


def test_the_score_of_three_runs_is_their_median() -> None:
    assert score(runs([9.0, 1.0, 2.0]), "gpt3").minutes == 2


def test_too_few_runs_give_a_number_and_a_problem() -> None:
    result = score(runs([1.0, 2.0, 3.0]))
    assert result.minutes == 2
    assert result.problems == ("there are 3 runs; a result needs 5",)
    none = score(runs([1.0, 2.0]))
    assert none.minutes is None
    assert len(none.problems) == 2
    assert score([]).minutes is None


def test_the_median_window_is_scored() -> None:
    result = score(runs([1.0, 1, 1, 1, 1, 9, 9]))
    # Windows of five runs, by start time, score 1, 1 and 11/3; the second is the median
    assert result.minutes == 1
    assert roles(result) == [
        "outside",
        "fastest",
        "scored",
        "scored",
        "scored",
        "slowest",
        "outside",
    ]
    assert "median of 3 windows of 5" in result.runs[0].why


def test_a_median_window_with_two_failures_leaves_no_score() -> None:
    assert score(runs([None, None, 1.0, 1.0, None, None, 1.0])).minutes is None


def test_the_slower_of_two_windows_is_scored() -> None:
    chosen, outside = median_window(runs([1.0, 2, 3, 4, 5, 60]), 5, 1)
    assert chosen[0].name == "result_1.txt"
    assert list(outside) == [0]


def test_all_runs_are_scored_before_1_1_and_by_the_verifier() -> None:
    facts = runs([1.0, 2, 3, 4, 5, 6, 70])
    assert score(facts, round_name="1.0").minutes == 4
    everyone = score_result("training", "4.0", "resnet", facts, Profile.VERIFIER)
    assert everyone.minutes == 4


def test_ncf_scores_the_first_fifty_that_converge() -> None:
    minutes: list[float | None] = []
    for i in range(60):
        minutes += [None, float(i + 1)] if i % 2 else [float(i + 1)]
    result = score(runs(minutes), "ncf", "0.5")
    assert result.minutes == pytest.approx(25.5)
    assert roles(result).count("outside") == len(minutes) - 50
    assert result.problems == ()


# --- properties ---

MINUTES = st.lists(st.floats(0.1, 1e4), min_size=5, max_size=5)


@given(MINUTES, st.randoms(), st.integers(0, 1))
def test_the_order_of_runs_does_not_change_the_score(
    minutes: list[float], rng: Any, failed: int
) -> None:
    facts = runs([*minutes[failed:], *[None] * failed])
    shuffled = facts[:]
    rng.shuffle(shuffled)
    before, after = score(facts), score(shuffled)
    assert before.minutes == after.minutes
    assert {run.name: run.role for run in before.runs} == {run.name: run.role for run in after.runs}


@given(MINUTES, st.integers(0, 4), st.floats(0, 100))
def test_a_slower_run_does_not_improve_the_score(
    minutes: list[float], at: int, more: float
) -> None:
    slower = [time + more * (i == at) for i, time in enumerate(minutes)]
    failed = [None if i == at else time for i, time in enumerate(minutes)]
    before = score(runs([*minutes])).minutes
    assert before <= score(runs([*slower])).minutes * (1 + 1e-12)
    assert before <= score(runs(failed)).minutes * (1 + 1e-12)


@given(MINUTES, st.floats(0.5, 2))
def test_scores_scale_with_time(minutes: list[float], by: float) -> None:
    assert score(runs([time * by for time in minutes])).minutes == pytest.approx(
        score(runs([*minutes])).minutes * by
    )


@given(st.lists(st.one_of(st.none(), st.floats(0.1, 100)), min_size=5, max_size=9))
def test_a_score_is_within_the_range_of_the_scored_runs(minutes: list[float | None]) -> None:
    result = score(runs(minutes))
    kept = [run.minutes for run in result.runs if run.role == "scored"]
    if result.minutes is not None:
        assert len(kept) == 3
        assert min(kept) * (1 - 1e-12) <= result.minutes <= max(kept) * (1 + 1e-12)


# --- factor, spread, quality ---


def test_the_factor_of_scaling_json_overrides_the_computed_factor() -> None:
    implied = Convergence("pass", scaling_factor=1.03)
    assert choose_factor(None) == Factor()
    ours = choose_factor(None, implied)
    assert (ours.value, ours.source, ours.note) == (1.03, "rcp", "")
    same = choose_factor(1.03, implied)
    assert (same.value, same.source, same.note) == (1.03, "scaling.json", "")
    both = choose_factor(1.5, implied)
    assert (both.value, both.source) == (1.5, "scaling.json")
    assert both.note.startswith("scaling.json has 1.5; the formula ")
    assert both.note.endswith(" gives 1.03")
    assert choose_factor(math.nan, implied).value == 1.03
    facts = runs([5.0, 1.0, 3.0, 2.0, 4.0])
    scaled = score_result("training", "4.0", "resnet", facts, Profile.POLICY, both)
    assert (scaled.minutes, scaled.score) == (3, 4.5)


def test_the_spread_names_the_outliers() -> None:
    spread = spread_of(runs([10.0, 10.1, 9.9, 10.0, 20.0]), 5)
    assert spread is not None
    assert spread.usual == 0.025
    assert spread.outliers == ("result_4.txt",)
    assert spread.relative == pytest.approx(spread.deviation / 12)
    even = spread_of(runs([10.0] * 10), 10)
    assert (even.usual, even.deviation, even.outliers) == (0.05, 0, ())
    assert spread_of([run for run in runs([None, None, None, None, 1.0]) if run.counts], 5) is None


def test_final_quality_is_the_geometric_mean() -> None:
    facts = [
        replace(run, quality=quality) for run, quality in zip(runs([1.0, 1]), (2, 8), strict=True)
    ]
    assert final_quality(facts) == pytest.approx(4)
    assert final_quality(runs([1.0])) is None
    assert final_quality([replace(facts[0], quality=-1)]) is None


def instances(count: int, **more: Any) -> list[RunFacts]:
    return [replace(run, nodes=2, accelerators=8, **more) for run in runs([30.0] * count)]


def test_throughput_is_computed_over_all_instances() -> None:
    found = score_throughput("hpc", "3.0", "deepcam", instances(6), total_scale=40)
    assert (found.models, found.instance_scale, found.total_scale) == (6, 8, 40)
    assert found.time_to_train_all == pytest.approx(5e6 / 60_000 + 30)
    assert found.models_per_minute == pytest.approx(6 / (5e6 / 60_000 + 30))
    assert found.problems == ()


def test_throughput_reports_its_problems() -> None:
    join_limited = instances(4)
    join_limited[0] = replace(join_limited[0], converged=False)
    join_limited[1] = replace(join_limited[1], accelerators=16)
    found = score_throughput("hpc", "3.0", "deepcam", join_limited)
    assert found.problems == (
        "there are 4 instances; throughput needs 5",
        "these did not converge and must be pruned: result_0.txt",
        "the instances have different scales",
    )
    large = score_throughput("hpc", "3.0", "deepcam", instances(5), total_scale=41)
    assert "the system's scale 41" in large.problems[0]
    assert score_throughput("hpc", "3.0", "deepcam", []).time_to_train_all is None
    no_accelerators = [replace(run, accelerators=0) for run in instances(5)]
    assert score_throughput("hpc", "3.0", "deepcam", no_accelerators).instance_scale == 2


def test_the_energy_of_a_result_drops_the_same_runs_as_its_score() -> None:
    result = score(runs([5.0, 1.0, 3.0, 2.0, 4.0]))
    assert olympic_energy(result, [50, 10, 30, 21, 40]) == pytest.approx(91 / 3)
    assert olympic_energy(result, [None, None, 30, 21, 40]) == pytest.approx(91 / 3)
    assert olympic_energy(result, [50, 10, None, 21, 40]) is None


# --- published results ---


PUBLISHED = {
    "training_results_v0.5/v0.5.0/intel/intel_resnet_submission/results/skx_8180_2s_8x/resnet": (
        1312.8055555555557
    ),
    "hpc_results_v0.7/CSCS/results/daint_gpu_n256_tf2.2.0/cosmoflow": 327.00719791666666,
    "training_results_v0.6/Alibaba/results/sinian/resnet": 24.394444444444446,
    "training_results_v5.0/tinycorp/results/tinybox_green/bert": 209.94644375,
}
"""Minutes by the policy: a float clock, a truncated run, 64 processes, a long initialization."""


@pytest.mark.corpus
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_results_have_the_expected_minutes(name: str) -> None:
    match = re.match(r"(training|hpc)_results_v([\d.]+)", name)
    assert match is not None
    usage, round_name = match.groups()
    facts = facts_of(CORPUS / name, usage, round_name, Profile.POLICY)
    found = score_result(usage, round_name, Path(name).name, facts, Profile.POLICY)
    assert found.minutes == pytest.approx(PUBLISHED[name], rel=1e-12)
