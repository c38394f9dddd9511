"""Facts in the tables about benchmarks and packages: runs, units, points and spans of rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from podium.rules import catalogue
from podium.rules.catalogue import USAGES, find_round, newest, rounds_of
from podium.rules.convergence.data import points_of, rounds_with_points
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.model.round import Round, version_of

ROUNDS = [rules for usage in USAGES for rules in rounds_of(usage).values()]
DATA = Path(catalogue.__file__).parent / "convergence" / "data"

by_round = pytest.mark.parametrize("rules", ROUNDS, ids=lambda rules: rules.title)


def of(usage: str, round_name: str, benchmark: str) -> Benchmark:
    return find_round(usage, round_name).benchmark(benchmark)


# --- reference points ---


def lacking_points(rules: Round) -> list[str]:
    """Return the benchmarks with a convergence test but without points and without a reason."""
    if not rules.package.tests_convergence:
        return []
    return [
        name
        for name in rules.listed
        if rules.benchmarks[name].convergence.tested
        and not rules.benchmarks[name].convergence.without_points
        and not points_of(rules.usage, rules.name, name)
    ]


@by_round
def test_every_benchmark_has_reference_points_or_a_reason(rules: Round) -> None:
    lacking = lacking_points(rules)
    assert not lacking, (
        f"{rules.title} tests {', '.join(lacking)} for convergence without reference points: list "
        f"the round in rules/convergence/data/{rules.usage}/, or say why in `without_points`"
    )


@pytest.mark.parametrize("usage", USAGES)
def test_missing_reference_points_of_a_new_round_are_detected(usage: str) -> None:
    before = newest(usage)
    new = before.next("99.0", package=replace(before.package, columns=()))
    assert lacking_points(new) == [*before.listed]
    reason = ConvergenceRules(without_points="the reference is being run again")
    excused = new.listed[0]
    changed = replace(new.benchmarks[excused], convergence=reason)
    new = replace(new, benchmarks={**new.benchmarks, excused: changed})
    assert lacking_points(new) == [name for name in before.listed if name != excused]


@by_round
def test_only_benchmarks_without_points_have_a_reason(rules: Round) -> None:
    for name, benchmark in rules.benchmarks.items():
        if benchmark.convergence.without_points or not benchmark.convergence.tested:
            assert not points_of(rules.usage, rules.name, name), name


@pytest.mark.parametrize(
    ("usage", "benchmark"),
    [(usage, path.stem) for usage in USAGES for path in sorted((DATA / usage).glob("*.json"))],
)
def test_points_belong_to_a_round_of_the_benchmark_and_use_its_unit(
    usage: str, benchmark: str
) -> None:
    for name in rounds_with_points(usage, benchmark):
        known = find_round(usage, name).benchmarks[benchmark]
        assert {point.unit for point in points_of(usage, name, benchmark)} == {
            known.convergence.points_unit
        }


# --- runs and units ---

RUNS = {
    ("training", "0.5", "resnet"): (5, 1),
    ("training", "0.5", "minigo"): (20, 1),
    ("training", "0.5", "ncf"): (50, 1),
    ("training", "0.6", "minigo"): (10, 1),
    ("training", "0.6", "ncf"): (10, 1),
    ("training", "0.6", "mask"): (5, 1),
    ("training", "2.1", "minigo"): (10, 1),
    ("training", "4.0", "unet3d"): (40, 4),
    ("training", "5.1", "unet3d"): (40, 4),
    ("training", "5.0", "llama31_405b"): (3, 1),
    ("training", "5.1", "dlrm"): (5, 1),
    ("training", "6.1", "unheard_of"): (10, 1),
    ("hpc", "0.7", "deepcam"): (5, 1),
    ("hpc", "3.0", "openfold"): (10, 1),
}
"""The runs that a result needs, and how many its mean drops at each end."""


@pytest.mark.parametrize("where", RUNS, ids=" ".join)
def test_benchmarks_have_the_known_numbers_of_runs(where: tuple[str, str, str]) -> None:
    known = of(*where)
    assert (known.runs, known.dropped) == RUNS[where]


UNITS = {
    ("training", "0.7", "bert"): "samples",
    ("training", "4.0", "gpt3"): "tokens",
    ("training", "3.1", "stable_diffusion"): "steps",
    ("training", "4.0", "stable_diffusion"): "samples",
    ("training", "3.0", "unet3d"): "epochs",
    ("training", "3.1", "unet3d"): "samples",
    ("training", "5.1", "dlrm_dcnv2"): "epochs",
    ("training", "6.1", "dlrmv4"): "samples",
    ("hpc", "3.0", "openfold"): "samples",
}


@pytest.mark.parametrize("where", UNITS, ids=" ".join)
def test_benchmarks_have_the_known_unit_of_convergence(where: tuple[str, str, str]) -> None:
    assert of(*where).convergence.unit == UNITS[where]


# --- names and spans ---


@by_round
def test_an_alias_is_not_the_name_of_another_benchmark_of_the_round(rules: Round) -> None:
    for name in rules.listed:
        others = {*rules.listed} - {name, rules.benchmarks[name].lineage}
        assert not others & {*rules.benchmarks[name].also_called}, name


def test_a_renamed_benchmark_keeps_its_lineage() -> None:
    assert of("training", "4.1", "gnn").lineage == of("training", "5.0", "rgat").lineage
    assert of("training", "2.0", "ssd").lineage == of("training", "5.0", "retinanet").lineage
    assert of("training", "1.1", "ssd").lineage != of("training", "2.0", "ssd").lineage


@by_round
def test_spans_of_comparable_rounds_are_ordered_and_name_known_rounds(rules: Round) -> None:
    for benchmark in rules.benchmarks.values():
        if benchmark.comparable:
            first, last = benchmark.comparable
            assert version_of(first) < version_of(last)
            assert {first, last} <= {*rounds_of(rules.usage)}


# --- packages ---

BEGINS = {
    "tests_convergence": ("1.0", "1.0"),
    "median_window": ("1.1", "2.0"),
    "normalised": ("2.1", "2.0"),
    "power": ("3.1", "3.0"),
    "borrowing": ("0.7", "0.7"),
    "preview_follow_up": ("2.0", "2.0"),
    "resubmission": ("5.1", None),
    "scaling_folders": (None, "1.0"),
    "pruned_instances": (None, "2.0"),
    "seeds_compared": ("1.0", "1.0"),
    "fields_checked": ("1.0", "1.0"),
}
"""The first training and HPC round with each rule; no rule was removed later."""


@pytest.mark.parametrize("rule", BEGINS)
def test_a_package_rule_applies_from_its_first_round_on(rule: str) -> None:
    for usage, first in zip(("training", "hpc"), BEGINS[rule], strict=True):
        for name, rules in rounds_of(usage).items():
            held = first is not None and version_of(name) >= version_of(first)
            assert getattr(rules.package, rule) is held, rules.title


def test_software_may_be_updated_in_review_until_5_0() -> None:
    updates = [rules.title for rules in ROUNDS if rules.package.software_updates]
    assert updates[0] == "training 0.7"
    assert [title for title in updates if title.startswith("training")][-1] == "training 5.0"
    assert updates[-1] == "hpc 3.0"
