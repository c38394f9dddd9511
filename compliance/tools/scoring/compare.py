"""Compare two sets of scores, for rounds that may be compared.

Source: the MLCommons table of compatible results. A benchmark is unchanged only within one span of
rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from podium.rules.catalogue import UnknownRound, find_round
from podium.rules.model.benchmark import Benchmark, unknown_benchmark
from podium.rules.model.round import version_of

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import ScoreEntry, Scores


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One result now and then; `why` is the reason if the two cannot be compared."""

    now: ScoreEntry | None
    then: ScoreEntry | None
    why: str = ""

    @property
    def relative(self) -> float | None:
        """The relative change of the score; for throughput, of the models per minute."""
        if self.why or self.now is None or self.then is None:
            return None
        new, old = headline(self.now), headline(self.then)
        return None if new is None or not old else new / old - 1


def headline(entry: ScoreEntry) -> float | None:
    """The number that represents a result in a comparison."""
    return entry.models_per_minute if entry.scaling == "weak" else entry.score


def comparable(first: str, second: str, benchmark: str, other: str) -> str:
    """The reason why two results are not comparable; empty if they are.

    `first` and `second` are rounds, such as `training 5.0`.
    """
    (usage, old), (other_usage, new) = first.split(" ", 1), second.split(" ", 1)
    if usage != other_usage:
        return f"{usage} and {other_usage} results are not comparable"
    first_benchmark, second_benchmark = _benchmark(first, benchmark), _benchmark(second, other)
    # A name may change without the benchmark (ssd, retinanet), and a benchmark without its name
    if first_benchmark.lineage != second_benchmark.lineage:
        return f"{benchmark} of {old} and {other} of {new} are different benchmarks"
    # Results of the same round are always comparable
    if old == new:
        return ""
    versions = sorted((version_of(old), version_of(new)))
    # Either round may state the span, and both rounds must be in it
    for low, high in filter(None, (first_benchmark.comparable, second_benchmark.comparable)):
        if version_of(low) <= versions[0] and versions[1] <= version_of(high):
            return ""
    return f"results of {benchmark} in {old} and {new} are not compatible"


def _benchmark(title: str, name: str) -> Benchmark:
    """The facts of a benchmark in a round; default facts for an unknown round."""
    usage, round_name = title.split(" ", 1)
    try:
        return find_round(usage, round_name).benchmark(name)
    except UnknownRound:
        return unknown_benchmark(name)


def changes(now: Scores, then: Scores) -> list[ScoreChange]:
    """All results of both sets, matched by submitter, system, benchmark, division and metric."""
    old = {_identity(entry): entry for entry in then.results}
    pairs = []
    for entry in now.results:
        before = old.pop(_identity(entry), None)
        reason = ""
        if before is None:
            reason = "only in the first"
        else:
            reason = comparable(before.round, entry.round, before.benchmark, entry.benchmark)
        pairs.append(ScoreChange(entry, before, reason))
    pairs += [ScoreChange(None, entry, "only in the second") for entry in old.values()]
    return pairs


def _identity(entry: ScoreEntry) -> tuple[str, ...]:
    name = _benchmark(entry.round, entry.benchmark).lineage
    # Loose logs name neither submitter nor system: only their path identifies them
    path = "" if entry.submitter and entry.system else entry.path
    return (entry.submitter, entry.system, path, name, entry.division, entry.scaling)
