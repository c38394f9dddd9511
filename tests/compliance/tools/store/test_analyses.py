"""Analyses of generated results with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from podium.compliance.tools.store.analyses.bootstrap import log_ratios
from podium.compliance.tools.store.analyses.breakdown import PARTS, breakdown
from podium.compliance.tools.store.analyses.compare import compare
from podium.compliance.tools.store.analyses.material import ResultRow
from podium.compliance.tools.store.analyses.power import power
from podium.compliance.tools.store.analyses.rounds import rounds
from podium.compliance.tools.store.analyses.scaling import FACTORS, by_model, scaling
from podium.compliance.tools.store.analyses.variance import pooled, runs_for, variance
from tests.compliance.tools.store.made import result, run

TRIALS = 1000

# --- intervals ---


@pytest.mark.parametrize("spread", [0.03, 0.1])
@pytest.mark.parametrize(("runs", "dropped"), [(10, 1), (5, 1), (3, 0)])
def test_nine_in_ten_intervals_contain_the_true_ratio(
    runs: int, dropped: int, spread: float
) -> None:
    rng = np.random.default_rng(7)
    base = np.exp(rng.normal(0, spread, (TRIALS, runs, 1)))
    other = 1.7 * np.exp(rng.normal(0, spread, (TRIALS, runs, 1)))
    _, low, high = log_ratios(base, other, (dropped, dropped), np.eye(1), 200)
    true = -math.log(1.7)
    covered = np.mean((low <= true) & (true <= high))
    assert 0.87 <= covered <= 0.93


def test_an_interval_contains_its_own_value() -> None:
    minutes = [9.0, 9.5, 10.0, 10.5, 12.0]
    base, one = result(*minutes), result(*(each / 1.8 for each in minutes), chips=16)
    row = scaling([base, one]).rows[1]
    for name in FACTORS:
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    assert row["efficiency_low"] < 0.9 < row["efficiency_high"]


# --- scaling ---


def test_the_scaling_factors_multiply_to_the_efficiency() -> None:
    base = result(runs=tuple(run(100, to_converge=10, evaluation_minutes=20) for _ in range(3)))
    half = result(
        runs=tuple(run(60, to_converge=12, evaluation_minutes=15) for _ in range(3)),
        chips=16,
        batch_size=64.0,
    )
    first, row = scaling([half, base]).rows
    assert [first[name] for name in FACTORS] == pytest.approx([1, 1, 1, 1])
    assert first["kind"] == "base"
    assert row["efficiency"] == pytest.approx(100 / 60 / 2)
    assert row["convergence"] == pytest.approx(10 / 12)
    assert row["throughput"] == pytest.approx((12 / 45 / 2) / (10 / 80))
    assert row["overhead"] == pytest.approx((45 / 60) / (80 / 100))
    assert math.prod(row[name] for name in FACTORS[1:]) == pytest.approx(row["efficiency"])
    assert (row["kind"], row["batch"]) == ("growing", 2)


def test_the_same_batch_is_strong_scaling() -> None:
    rows = scaling([result(10, 10, 10), result(5, 5, 5, chips=16)]).rows
    assert rows[1]["kind"] == "strong"
    assert rows[1]["per_doubling"] == pytest.approx(1)


@pytest.mark.parametrize(
    "said",
    [
        {"division": "open"},
        {"score": None},
        {"chips": None},
        {"chips": 8},
        {"submitter": "Bcme"},
        {"round": "6.0"},
        {"chip": "Acme X2"},
        {"scaling": "weak"},
    ],
)
def test_results_outside_a_family_are_left_out(said: dict[str, object]) -> None:
    assert scaling([result(10, 10, 10), result(5, 5, 5, **{"chips": 16} | said)]).rows == []


def test_factors_that_logs_do_not_give_are_missing() -> None:
    lacking = result(runs=(run(5, to_converge=None), run(5), run(5)), chips=16)
    row = scaling([result(10, 10, 10), lacking]).rows[1]
    assert row["efficiency"] == pytest.approx(1)
    assert [row[name] for name in FACTORS[1:]] == [None, None, None]


def test_families_are_summarized_by_model() -> None:
    def family(submitter: str, half: float, **said: object) -> list[ResultRow]:
        names = {"submitter": submitter} | said
        return [result(10, 10, 10, **names), result(half, half, half, chips=32, **names)]

    given = [*family("A", 2.5), *family("B", 5), *family("C", 10), *family("A", 3.6, model="bert")]
    first, second = by_model(given).rows
    assert (first["model"], first["doubling"]) == ("bert", pytest.approx((10 / 3.6 / 4) ** 0.5))
    assert (second["families"], second["grown"]) == (3, 4)
    ends = [second[name] for name in ("lowest", "doubling", "highest")]
    assert ends == pytest.approx([0.5, 0.5**0.5, 1])


# --- variance ---


def test_nine_in_ten_pooled_intervals_contain_the_true_spread() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        times = [list(100 * (1 + rng.normal(0, 0.05, 5))) for _ in range(4)]
        spread, low, high = pooled(times)
        assert low < spread < high
        held += low <= 0.05 <= high
    assert 0.86 <= held / 300 <= 0.94


def test_a_wider_margin_needs_fewer_runs() -> None:
    rng = np.random.default_rng(5)
    times = [list(1 + rng.normal(0, 0.10, 40)) for _ in range(5)]
    wide, near = runs_for(times, 1, 0.10), runs_for(times, 1, 0.05)
    # (1.645 x 0.10 / 0.05)^2 = 10.8 runs for a plain mean
    assert near is not None
    assert 10 <= near <= 14
    # The mean of the middle two of four has 0.55 of the spread, 1.645 x 0.055 < 0.10; of three 0.67
    assert wide == 4
    assert runs_for(times, 1, 0.001) is None


def test_results_are_pooled_by_benchmark_round_and_division() -> None:
    given = [result(9, 10, 11), result(18, 20, 22), result(9, 10, 11, division="open")]
    rows = variance([*given, result(9, 10, 11, round="6.0"), result(9, 10)]).rows
    assert [(row["round"], row["division"], row["results"], row["runs"]) for row in rows] == [
        ("5.1", "closed", 2, 6),
        ("5.1", "open", 1, 3),
        ("6.0", "closed", 1, 3),
    ]
    assert rows[0]["deviation"] == pytest.approx(0.1)


def test_failed_runs_are_not_counted() -> None:
    failed = result(runs=(run(9), run(10), run(11), run(500, role="failed")))
    assert variance([failed]).rows[0]["runs"] == 3


# --- rounds ---


def test_open_and_unscored_results_are_not_the_fastest() -> None:
    rows = rounds([result(10), result(1, division="open"), result(2, score=None)]).rows
    assert [row["score"] for row in rows] == [10]


def test_rounds_are_compared_only_within_their_compatible_span() -> None:
    def of(name: str, minutes: float, first: str, last: str) -> object:
        return result(minutes, round=name, comparable_from=first, comparable_to=last)

    given = [of("5.1", 10, "5.1", "6.0"), of("6.0", 4, "5.1", "6.0"), of("6.1", 1, "6.1", "6.1")]
    rows = rounds(given).rows  # type: ignore[arg-type]
    reported = {(row["round"], row["over_last"], row["over_first"]) for row in rows}
    assert reported == {("5.1", None, None), ("6.0", 2.5, 2.5), ("6.1", None, None)}


def test_categories_and_chips_are_separate_unless_requested_otherwise() -> None:
    given = [result(10), result(5, category="Preview"), result(4, chip="Acme X2")]
    assert len(rounds(given).rows) == 3
    assert [row["score"] for row in rounds(given, overall=True).rows] == [4]


# --- breakdown and power ---


def test_the_parts_add_up_to_the_time_and_the_saving() -> None:
    slow = result(
        runs=(run(100, staging_minutes=10, evaluation_minutes=20, to_converge=35),),
        suite="hpc",
        unit="epochs",
    )
    fast = result(
        runs=(run(40, staging_minutes=2, evaluation_minutes=8, to_converge=30),),
        suite="hpc",
        unit="epochs",
        chips=16,
    )
    first, second = breakdown([fast, slow]).rows
    for row in (first, second):
        assert sum(row[part] for part in PARTS) == pytest.approx(row["minutes"])
        assert row["epochs"] * row["epoch_seconds"] == pytest.approx(row["training"] * 60)
    assert second["speedup"] == pytest.approx(2.5)
    shares = [second[f"saved_{part}"] for part in PARTS]
    assert shares == pytest.approx([8 / 60, 12 / 60, 40 / 60])
    assert breakdown([result(10)]).rows == []
    assert len(breakdown([result(10)], suite=None).rows) == 1


def test_energy_covers_only_measured_results() -> None:
    rows = power([result(10), result(10, joules=3.6e6)]).rows
    assert [(row["kwh"], row["watts"], row["watts_per_chip"]) for row in rows] == [
        (1.0, 6000.0, 750.0)
    ]


# --- compare ---


def test_two_results_are_compared() -> None:
    second = result(5, result="x/b", chips=16)
    made = compare([result(10), second], "sys/llama31_8b", "x/b")
    points = {row["point"]: row for row in made.rows}
    assert points["score"]["b_over_a"] == 0.5
    assert points["training"]["a"] == pytest.approx(9)
    assert made.notes == ["Note: chips differ: 8, 16."]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"division": "open"}, "divisions differ: closed, open"),
        ({"model": "bert", "benchmark": "bert"}, "benchmarks differ: llama31_8b, bert"),
        (
            {"round": "6.1", "comparable_from": "6.1", "comparable_to": "6.1"},
            "rounds 5.1 and 6.1 are not compatible for llama31_8b",
        ),
        ({"scaling": "weak"}, "one is a time to train, the other a throughput"),
    ],
)
def test_results_that_cannot_be_compared_have_a_reason(said: dict[str, str], why: str) -> None:
    made = compare([result(10), result(5, result="x/b", **said)], "sys/llama31_8b", "x/b")
    assert made.notes == [f"Not comparable: {why}."]
