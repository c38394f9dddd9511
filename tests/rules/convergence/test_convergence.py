"""The arithmetic of reference points, and verdicts on generated results."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from podium.compliance.judging.results.convergence import compared, judge_convergence, references
from podium.rules.catalogue import find_round
from podium.rules.convergence.data import Point
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.method import references_of
from podium.rules.convergence.policy_method import POLICY
from podium.rules.convergence.statistics import (
    ALPHA,
    lower_hull,
    minimum_mean,
    olympic_mean,
    t_quantile,
)
from podium.rules.convergence.t_quantiles import QUANTILES
from podium.rules.convergence.verifier_method import VERIFIER, deviation_of_all, mean_of_trimmed
from podium.rules.finding import Profile

AT_128 = (16, 14, 16, 17, 16, 16, 15, 16, 15, 16)
AT_256 = (20, 20, 20, 20, 21, 21, 21, 21, 22, 22)
"""The worked example of the policy: two batch sizes, and five runs per result."""


def example() -> list[Point]:
    return [Point("small", "x", 128, AT_128), Point("large", "x", 256, AT_256)]


def runs(values: list[float | None], size: float | None = 128, name: str = "x") -> list[RunFacts]:
    """Return runs that converged at these values; None is a run that did not converge."""
    return [
        RunFacts(f"result_{i}.txt", name, "closed", size, value, "epochs", value is not None, 1.0)
        for i, value in enumerate(values)
    ]


# --- the worked examples ---


def test_the_policy_reproduces_its_worked_example() -> None:
    known = references_of(POLICY, example(), needed=5, dropped=1)
    small, large = known.every
    assert f"{small.mean:.2f} {small.deviation:.3f} {small.minimum:.3f}" == "15.75 0.433 15.213"
    assert f"{large.mean:.2f} {large.deviation:.3f} {large.minimum:.3f}" == "20.75 0.661 19.929"
    assert f"{small.maximum_speedup - 1:.2%} {large.maximum_speedup - 1:.2%}" == "3.53% 4.12%"
    assert (small.count, large.count) == (8, 8)
    case, between = known.match(192)
    assert case == "interpolated"
    assert between is not None
    assert f"{between.mean:.2f} {between.deviation:.3f}" == "18.25 0.547"
    assert f"{between.maximum_speedup - 1:.2%}" == "3.68%"
    assert between.count == 10


def test_the_verifier_gives_other_figures_for_the_same_example() -> None:
    known = references_of(VERIFIER, example(), needed=5, dropped=1)
    small, large = known.every
    assert f"{small.minimum:.3f} {large.minimum:.3f}" == "14.781 19.821"
    assert f"{small.maximum_speedup - 1:.2%} {large.maximum_speedup - 1:.2%}" == "6.56% 4.69%"
    _, between = known.match(192)
    assert between is not None
    assert f"{between.maximum_speedup - 1:.1%}" == "5.2%"


def test_the_number_of_counted_unet3d_runs_differs_by_profile() -> None:
    ours = references(Profile.POLICY, find_round("training", "4.0"), "unet3d").way.submitted(40, 4)
    theirs = references(Profile.VERIFIER, find_round("training", "4.0"), "unet3d").way.submitted(
        40, 4
    )
    assert (ours, theirs) == (32, 38)


def test_pruning_differs_by_profile_in_known_cases() -> None:
    def sizes(profile: Profile, round_name: str, benchmark: str) -> list[float]:
        used = references(profile, find_round("training", round_name), benchmark).used
        return [reference.batch_size for reference in used]

    assert sizes(Profile.VERIFIER, "5.1", "llama2_70b_lora") == [8, 16, 128]
    assert sizes(Profile.POLICY, "5.1", "llama2_70b_lora") == [8, 128]
    assert 55296 in sizes(Profile.VERIFIER, "5.0", "dlrm_dcnv2")
    assert 55296 not in sizes(Profile.POLICY, "5.0", "dlrm_dcnv2")
    assert 2304 in sizes(Profile.VERIFIER, "5.0", "llama31_405b")


# --- properties ---

VALUES = st.lists(st.floats(1, 1e6), min_size=3, max_size=30)


@given(VALUES, st.randoms())
def test_the_order_of_values_does_not_matter(values: list[float], rng: Any) -> None:
    shuffled = values[:]
    rng.shuffle(shuffled)
    for way in (POLICY, VERIFIER):
        assert way.mean(shuffled, 1) == way.mean(values, 1)
        assert way.deviation(shuffled, 1) == way.deviation(values, 1)


@given(VALUES, st.floats(1, 1e3))
def test_the_minimum_is_below_the_mean_and_closer_for_more_runs(
    values: list[float], spread: float
) -> None:
    mean = olympic_mean(values)
    few = minimum_mean(mean, spread, 8, 3)
    many = minimum_mean(mean, spread, 18, 8)
    assert few < many < mean
    assert minimum_mean(mean, 0, 8, 3) == mean


@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(1, 500)), min_size=1, max_size=12),
)
def test_no_point_of_the_hull_is_above_a_line_between_two_others(
    points: list[tuple[int, int]],
) -> None:
    kept = [points[i] for i in lower_hull(points)]
    assert [x for x, _ in kept] == sorted({x for x, _ in kept})
    for x, y in kept:
        for x0, y0 in points:
            for x1, y1 in points:
                if x0 < x < x1:
                    line = (y1 - y0) / (x1 - x0) * (x - x0) + y0
                    assert y <= line + 1e-9


@given(VALUES, st.integers(2, 40))
def test_bisection_ends_within_its_tolerance(values: list[float], submitted: int) -> None:
    mean, spread = olympic_mean(values), max(values) - min(values)
    assume(spread > 0)
    exact = minimum_mean(mean, spread, len(values), submitted)
    found = VERIFIER.minimum(mean, spread, len(values), submitted)
    assert abs(found - max(exact, 0.0)) <= 1e-4 or math.isclose(found, exact, rel_tol=1e-9)


@given(st.lists(st.floats(10, 30), min_size=5, max_size=5), st.floats(0, 5), st.randoms())
def test_the_verdict_is_monotone_and_independent_of_order(
    values: list[float], later: float, rng: Any
) -> None:
    for profile in Profile:
        before = judge(list(values), profile)
        shuffled: list[float | None] = list(values)
        rng.shuffle(shuffled)
        assert judge(shuffled, profile).verdict == before.verdict
        after = judge([value + later for value in values], profile)
        assert (before.verdict, after.verdict) != ("pass", "fail")
        if before.verdict == "pass":
            assert 1.0 <= after.scaling_factor <= before.scaling_factor


# --- verdicts ---


def judge(values: list[float | None], profile: Profile, size: float | None = 128) -> Any:
    # resnet needs five runs, like the worked example
    facts = runs(values, size, "resnet")
    return judge_convergence(
        find_round("training", "4.0"), "resnet", facts, profile, points=example()
    )


@pytest.mark.parametrize("profile", Profile)
def test_each_batch_size_case_has_its_verdict(profile: Profile) -> None:
    even: list[float | None] = [16.0] * 5
    found = judge(even, profile)
    assert (found.verdict, found.case, found.batch_size) == ("pass", "found", 128)
    assert found.submission == 16
    assert found.scaling_factor == 1
    assert judge([19.0] * 5, profile, 192).case == "interpolated"
    below = judge(even, profile, 64)
    assert (below.verdict, below.case) == ("pass", "below_range")
    early = judge([10.0] * 5, profile, 64)
    assert (early.verdict, early.case) == ("missing", "below_range")
    above = judge(even, profile, 512)
    assert (above.verdict, above.case, above.mean) == ("missing", "above_range", None)
    assert "submit reference runs at 512" in above.messages[0]


@pytest.mark.parametrize("profile", Profile)
def test_a_fast_result_is_scaled_and_a_too_fast_result_fails(profile: Profile) -> None:
    scaled = judge([15.5] * 5, profile)
    assert scaled.verdict == "pass"
    assert scaled.scaling_factor == pytest.approx(15.75 / 15.5)
    assert scaled.margin == pytest.approx(15.5 - scaled.minimum)
    fast = judge([13.0] * 5, profile)
    assert (fast.verdict, fast.scaling_factor) == ("fail", 1)
    assert "require at least" in fast.messages[0]


def test_runs_that_converge_at_0_pass_if_the_minimum_is_0() -> None:
    wide = Point("wide", "resnet", 128, (1, 1, 1, 2, 2, 2, 50, 100, 100, 100))
    facts = runs([0.0] * 5, name="resnet")
    rules = find_round("training", "4.0")
    found = judge_convergence(rules, "resnet", facts, Profile.POLICY, points=[wide])
    assert (found.verdict, found.minimum, found.scaling_factor) == ("pass", 0, math.inf)


@pytest.mark.parametrize("profile", Profile)
def test_failing_results_have_a_message_with_the_reason(profile: Profile) -> None:
    one = judge([None, 16, 16, 16, 16], profile)
    assert one.verdict == "pass"
    assert [place.role for place in one.runs].count("slowest") == 1
    assert one.runs[0].role == "slowest"
    two = judge([None, None, 16, 16, 16], profile)
    assert (two.verdict, two.case) == ("fail", "none")
    assert "2 of 5 runs did not converge; at most 1 may" in two.messages[0]
    assert judge([16.0] * 5, profile, None).verdict == "fail"
    odd = [replace(run, name="results/a/result_4.txt") for run in runs([16.0], 256, "resnet")]
    mixed = runs([16.0] * 4, 128, "resnet") + odd
    found = judge_convergence(
        find_round("training", "4.0"), "resnet", mixed, profile, points=example()
    )
    assert found.verdict == "fail"
    assert "(128 in 4 runs, 256 in result_4.txt)" in found.messages[0]
    unnamed = [replace(run, name="") for run in mixed]
    found = judge_convergence(
        find_round("training", "4.0"), "resnet", unnamed, profile, points=example()
    )
    assert "(128 in 4 runs, 256 in 1 run)" in found.messages[0]
    assert judge_convergence(find_round("training", "4.0"), "resnet", [], profile).verdict == "fail"


def test_the_verifier_uses_the_benchmark_that_the_logs_name() -> None:
    named = (find_round("training", "1.0"), "dlrm")  # the verifier crashes on the logs of dlrm
    logs = runs([36.0] * 5, 1536, "resnet")
    found = judge_convergence(*named, logs, Profile.VERIFIER)
    assert found == judge_convergence(
        find_round("training", "1.0"), "resnet", logs, Profile.VERIFIER
    )
    assert found.points != ()
    two = judge_convergence(*named, logs + runs([36.0], 1536, "bert"), Profile.VERIFIER)
    assert two.verdict == "fail"
    assert "several benchmarks" in two.messages[0]


def test_too_few_runs_fail_only_in_the_policy_profile() -> None:
    assert judge([16.0] * 4, Profile.VERIFIER).verdict == "pass"
    few = judge([16.0] * 4, Profile.POLICY)
    assert few.verdict == "fail"
    assert few.messages == ("there are 4 runs; a result needs 5",)
    assert few.minimum is not None


def test_results_without_a_convergence_test_are_not_applicable() -> None:
    def verdict(usage: str, round_name: str, benchmark: str, **more: Any) -> str:
        facts = runs([1.0] * 5)
        found = judge_convergence(
            find_round(usage, round_name), benchmark, facts, Profile.POLICY, **more
        )
        return found.verdict

    assert verdict("training", "0.7", "resnet") == "not_applicable"
    assert verdict("hpc", "0.7", "cosmoflow") == "not_applicable"
    assert verdict("training", "2.0", "minigo") == "not_applicable"
    assert verdict("training", "4.0", "resnet", division="open") == "not_applicable"
    assert verdict("hpc", "3.0", "deepcam", weak=True) == "not_applicable"
    assert verdict("training", "6.1", "unheard_of") == "missing"


def test_a_run_that_crashes_the_verifier_fails_only_in_its_profile() -> None:
    facts = runs([16.0] * 5, 128, "resnet")
    facts[2] = replace(facts[2], problem="eval_accuracy has no epoch_num in its metadata")
    arguments = (find_round("training", "4.0"), "resnet", facts)
    theirs = judge_convergence(*arguments, Profile.VERIFIER, points=example())
    assert theirs.verdict == "fail"
    assert "result_2.txt: eval_accuracy has no epoch_num" in theirs.messages[0]
    ours = compared(judge_convergence(*arguments, Profile.POLICY, points=example()), theirs)
    assert ours.verdict == "pass"
    assert ours.other == theirs
    assert "the official verifier's arithmetic gives fail" in ours.messages[-1]


def test_one_evaluation_too_early_passes_if_the_rules_allow_it() -> None:
    def verdict(round_name: str, profile: Profile, early: float) -> str:
        known = references(profile, find_round("training", round_name), "llama31_405b").used[0]
        facts = runs([known.minimum - early] * 3, known.batch_size, "llama31_405b")
        found = judge_convergence(
            find_round("training", round_name), "llama31_405b", facts, profile
        )
        return found.verdict

    for profile in Profile:
        assert verdict("5.0", profile, 46_000) == "pass"
        assert verdict("5.0", profile, 46_200) == "fail"
    assert verdict("5.1", Profile.VERIFIER, 46_000) == "pass"
    assert verdict("5.1", Profile.POLICY, 46_000) == "fail"


def test_the_verifier_ranks_a_failed_run_below_a_large_token_count() -> None:
    known = references(Profile.VERIFIER, find_round("training", "4.1"), "gpt3").used[0]
    tokens = [known.mean, known.mean * 2, None]
    facts = runs(tokens, known.batch_size, "gpt3")
    theirs = judge_convergence(find_round("training", "4.1"), "gpt3", facts, Profile.VERIFIER)
    ours = judge_convergence(find_round("training", "4.1"), "gpt3", facts, Profile.POLICY)
    assert theirs.submission == known.mean
    assert ours.submission == known.mean * 2


# --- comparison with other libraries ---

NUMBERS = st.lists(st.floats(0.0, 1e10) | st.integers(0, 10**9), min_size=1, max_size=140)


def test_the_table_of_t_quantiles_equals_scipy() -> None:
    from scipy.special import stdtrit

    freedoms = range(1, len(QUANTILES) + 1)
    assert [t_quantile(n) for n in freedoms] == [float(stdtrit(n, 1 - ALPHA)) for n in freedoms]


def test_t_quantiles_beyond_the_table_are_close_to_scipy() -> None:
    from scipy.special import stdtrit

    for freedom in (*range(len(QUANTILES) + 1, 1000), 10_000, 10**6, 10**9):
        library = float(stdtrit(freedom, 1 - ALPHA))
        assert t_quantile(freedom) == pytest.approx(library, rel=1e-12)
    assert math.isnan(t_quantile(0))


@settings(max_examples=25)
@given(st.integers(129, 5000), st.randoms(use_true_random=False))
def test_the_mean_of_many_numbers_equals_numpy_to_the_last_bit(
    count: int, chance: random.Random
) -> None:
    import numpy

    values = [chance.uniform(0, 1e10) for _ in range(count)]
    assert mean_of_trimmed(values, 0) == float(numpy.mean(sorted(values)))


@given(NUMBERS, st.integers(0, 4))
def test_the_verifier_mean_and_deviation_equal_numpy_to_the_last_bit(
    values: list[float], drop: int
) -> None:
    import numpy

    kept = sorted(values)[drop : len(values) - drop]
    assert deviation_of_all(values, drop) == float(numpy.std(sorted(values)))
    if kept:
        assert mean_of_trimmed(values, drop) == float(numpy.mean(kept))
    else:
        assert math.isnan(mean_of_trimmed(values, drop))
