"""Runs of a result or system that do not fit together: overlaps, gaps and reused seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from podium.compliance.judging.results.result import Result, Run
from podium.compliance.tools.review.anomalies.stretches import began, seeds_of
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.review_rules import (
    MISSING_RUN,
    OVERLAPPING_RUNS,
    SEEDS_REUSED,
)
from podium.rules.finding import Finding, Profile
from podium.rules.run import MINUTE_MS

_PROFILE = Profile.POLICY

LEAST_OVERLAP_MS = 1000.0
"""Minimum overlap of two runs in milliseconds: clocks of machines differ by less."""

LEAST_RUNS, MOST_USUAL_GAP, LEAST_FIT, MOST_FIT = 4, 0.25, 0.9, 3.5
"""Minimum back-to-back runs, maximum of their usual gap as a share of a run, and the range of runs
that fit in a reported gap: a night between two runs fits many."""


class Span(msgspec.Struct, frozen=True):
    """The start and end of one run, and its number of accelerators; None if unknown."""

    start: float
    stop: float
    accelerators: float | None
    run: Run


def spans_of(result: Result) -> list[Span]:
    """The runs of a result that have a start and an end, in order."""
    spans = []
    for run in result.runs:
        facts = run.facts.run
        start, stop = facts.start_ms, facts.stop_ms
        if start is not None and stop is not None and start < stop:
            spans.append(Span(start, stop, facts.accelerators, run))
    return sorted(spans, key=lambda span: (span.start, span.run.display_path))


def overlapping(material: Material) -> Iterator[Finding]:
    """Pairs of runs that are too large for their system together, one finding for each system."""
    systems: dict[tuple[str, str], list[Span]] = defaultdict(list)
    sizes: dict[tuple[str, str], int | None] = {}
    for result in material.timed():
        key = (result.place.submitter, result.place.system)
        systems[key] += spans_of(result)
        description = result.description
        sizes[key] = description.accelerators if description is not None else None
    for key, spans in systems.items():
        pairs = [*_too_many(sorted(spans, key=lambda span: span.start), sizes[key])]
        # If all runs overlap, there are several such systems
        if 0 < len({span.run.display_path for pair in pairs for span in pair}) < len(spans):
            yield _overlap(pairs, len(spans), sizes[key])


def _too_many(spans: Sequence[Span], size: int | None) -> Iterator[tuple[Span, Span]]:
    for index, first in enumerate(spans):
        for second in spans[index + 1 :]:
            if second.start >= first.stop - LEAST_OVERLAP_MS:
                break
            shared = min(first.stop, second.stop) - second.start
            if shared >= LEAST_OVERLAP_MS and _needed(first, second, size) > (size or 0):
                yield first, second


def _needed(first: Span, second: Span, size: int | None) -> float:
    """Accelerators of both runs; a run that does not log its number uses all of them."""
    system_size = size or 1
    return sum(
        system_size if span.accelerators is None else span.accelerators for span in (first, second)
    )


def _overlap(pairs: Sequence[tuple[Span, Span]], total: int, size: int | None) -> Finding:
    first, second = max(pairs, key=lambda pair: min(span.stop for span in pair) - pair[1].start)
    runs = {span.run.display_path for pair in pairs for span in pair}
    needed = _needed(first, second, size)
    return OVERLAPPING_RUNS.found(
        _PROFILE,
        second.run.display_path,
        first=first.run.display_path,
        second=second.run.name,
        minutes=(min(first.stop, second.stop) - second.start) / MINUTE_MS,
        needed=f"{needed:g}" if size else "all",
        there=f"{size:,}" if size else "an unknown number",
        count=len(runs),
        total=total,
    )


def missing(material: Material) -> Iterator[Finding]:
    """Results with back-to-back runs except for a gap that fits further runs."""
    for result in material.timed():
        spans = spans_of(result)
        if len(spans) < LEAST_RUNS:
            continue
        length = median(span.stop - span.start for span in spans)
        gaps = [(b.start - a.stop, a, b) for a, b in pairwise(spans)]
        usual_gap = median(gap for gap, *_ in gaps)
        # There is always some setup between two runs
        if not 0 <= usual_gap <= MOST_USUAL_GAP * length:
            continue
        for gap, before, after in gaps:
            fits = (gap - usual_gap) / (length + usual_gap)
            if LEAST_FIT <= fits <= MOST_FIT:
                yield MISSING_RUN.found(
                    _PROFILE,
                    after.run.display_path,
                    before=before.run.name,
                    after=after.run.name,
                    gap=gap / MINUTE_MS,
                    fits=fits,
                    length=length / MINUTE_MS,
                    usual=usual_gap / MINUTE_MS,
                )


LARGE = 1_000_000
"""A seed of at least this size repeats by chance once in some thousand rounds."""

LEAST_SHARED = 3
"""Minimum number of smaller seeds that two results share: many scripts draw from 32,768."""

LEAST_TELLING = 100
"""Smaller seeds are probably counters, which `seeds.run-index` reports."""


def reused(material: Material) -> Iterator[Finding]:
    """Results with the seeds of another result of this round or an earlier one."""
    paths_by_seed: dict[int, list[str]] = defaultdict(list)
    for earlier in material.earlier:
        for result in earlier.results:
            _add(paths_by_seed, result, earlier.place(result.place.display_path))
    copies = {
        finding.path
        for finding in material.outcome.findings
        if finding.id in ("earlier.resubmitted", "result.copied-run")
    }
    ordered = sorted(
        material.results, key=lambda result: min(map(began, result.runs), default=(math.inf, ""))
    )
    for result in ordered:
        path = result.place.display_path
        seeds = _seeds(result)
        seeds_by_path: dict[str, list[int]] = defaultdict(list)
        for seed in sorted(seeds):
            for location in paths_by_seed[seed]:
                seeds_by_path[location].append(seed)
        if seeds_by_path and not _copied(result, copies):
            other, shared = max(seeds_by_path.items(), key=lambda item: len(item[1]))
            if len(shared) >= LEAST_SHARED or max(shared) >= LARGE:
                yield SEEDS_REUSED.found(
                    Profile.POLICY,
                    path,
                    count=len(shared),
                    total=len(seeds),
                    seed=shared[-1],
                    other=other,
                )
        _add(paths_by_seed, result, path)


def _copied(result: Result, copies: set[str]) -> bool:
    """Whether its logs are copies from another result, which have the same seeds."""
    return result.place.display_path in copies or any(
        run.display_path in copies for run in result.runs
    )


def _add(paths_by_seed: dict[int, list[str]], result: Result, path: str) -> None:
    for seed in _seeds(result):
        paths_by_seed[seed].append(path)


def _seeds(result: Result) -> set[int]:
    """The distinctive seeds of a result, the first of each run: ranks may have more."""
    firsts = (seeds_of(run)[:1] for run in result.runs)
    return {seed for first in firsts for seed in first if abs(seed) >= LEAST_TELLING}
