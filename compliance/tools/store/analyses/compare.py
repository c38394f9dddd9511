"""Two results, or two systems, point by point, and the reasons why they may not be compared."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.tools.store.analyses.material import ResultRow, mean, round_order
from podium.compliance.tools.store.analyses.table import Analysis


def obstacles(first: ResultRow, second: ResultRow) -> list[str]:
    """The reasons why two results must not be compared; empty if they may be."""
    reasons = []
    if (first.suite, first.model) != (second.suite, second.model):
        reasons.append(f"benchmarks differ: {first.benchmark}, {second.benchmark}")
    elif first.round != second.round and (first.comparable_from, first.comparable_to) != (
        second.comparable_from,
        second.comparable_to,
    ):
        reasons.append(
            f"rounds {first.round} and {second.round} are not compatible for {first.model}"
        )
    if first.division != second.division:
        reasons.append(f"divisions differ: {first.division or '-'}, {second.division or '-'}")
    elif first.division == "open":
        reasons.append("results of the open division may use different models")
    if first.scaling != second.scaling:
        reasons.append("one is a time to train, the other a throughput")
    return reasons


def differences(first: ResultRow, second: ResultRow) -> list[str]:
    """Differences that must be stated with an allowed comparison."""
    notes = []
    for name, label in (("round", "rounds"), ("category", "categories"), ("chips", "chips")):
        value, other = getattr(first, name), getattr(second, name)
        if value != other:
            notes.append(f"{label} differ: {value or '-'}, {other or '-'}")
    return notes


def named(results: Sequence[ResultRow], word: str) -> list[ResultRow]:
    """The results whose path matches a word (whole, its end, or a glob), else those of a system."""
    word = word.rstrip("/") or word
    exact = [
        result for result in results if result.result == word or result.result.endswith(f"/{word}")
    ]
    matches = exact or [result for result in results if fnmatch.fnmatchcase(result.result, word)]
    return matches or [result for result in results if result.system == word]


POINTS = (
    *("suite", "round", "submitter", "system", "benchmark", "division", "category", "verdict"),
    *("nodes", "chips", "chip", "framework", "batch_size", "score", "minutes", "factor"),
    *("to_converge", "unit", "joules", "models_per_minute"),
)
_PARTS = {
    "initialisation": "init_minutes",
    "staging": "staging_minutes",
    "to first epoch": "first_epoch_minutes",
    "evaluation": "evaluation_minutes",
    "training": "training_minutes",
}
"""Parts of a run's minutes: the name in the table, and the column."""

COLUMNS = ("point", "a", "b", "b_over_a")


def compare(results: Sequence[ResultRow], a: str, b: str) -> Analysis:
    """Two results, or the results of two systems, side by side.

    Raises UsageFault if a word names nothing, or if the results have no benchmark in common.
    """
    first, second = named(results, a), named(results, b)
    for word, matches in ((a, first), (b, second)):
        if not matches:
            raise UsageFault(f"no result or system in the store is named {word}")
    if len(first) == len(second) == 1:
        return _two_results(first[0], second[0])
    return _two_systems(first, second, a, b)


def _two_results(first: ResultRow, second: ResultRow) -> Analysis:
    rows = [_row(name, getattr(first, name), getattr(second, name)) for name in POINTS]
    rows += [_row(name, _mean(first, part), _mean(second, part)) for name, part in _PARTS.items()]
    title = f"Comparison: a is {first.result}, b is {second.result}"
    return Analysis("compare", title, COLUMNS, rows, notes=_notes(first, second))


def _mean(result: ResultRow, part: str) -> float | None:
    return mean([getattr(run, part) for run in result.scored or result.counted])


def _row(point: str, first: Any, second: Any) -> dict[str, Any]:
    numbers = all(isinstance(value, int | float) for value in (first, second))
    ratio = second / first if numbers and first else None
    return {"point": point, "a": first, "b": second, "b_over_a": ratio}


def _notes(first: ResultRow, second: ResultRow) -> list[str]:
    against = obstacles(first, second)
    if against:
        return [f"Not comparable: {reason}." for reason in against]
    return [f"Note: {note}." for note in differences(first, second)]


def _two_systems(
    first: Sequence[ResultRow], second: Sequence[ResultRow], a: str, b: str
) -> Analysis:
    rows, notes = [], []
    first_by_benchmark, second_by_benchmark = _by_benchmark(first), _by_benchmark(second)
    for name in sorted(first_by_benchmark.keys() & second_by_benchmark.keys()):
        result, other = first_by_benchmark[name], second_by_benchmark[name]
        if against := obstacles(result, other):
            notes.append(f"{name}: not comparable: {'; '.join(against)}.")
            continue
        rows.append(_row(f"{name} (minutes)", result.score, other.score))
    if not rows and not notes:
        raise UsageFault(f"{a} and {b} have no benchmark in common")
    title = f"Comparison: a is {a}, b is {b}"
    return Analysis("compare", title, COLUMNS, rows, notes=notes)


def _by_benchmark(results: Sequence[ResultRow]) -> dict[str, ResultRow]:
    """The timed result of each benchmark in the last round."""
    ordered = sorted(results, key=lambda result: round_order(result.round))
    return {result.model: result for result in ordered if result.score is not None}
