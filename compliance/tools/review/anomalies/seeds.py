"""Seeds that come again in another result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from podium.compliance.judging.results.result import Result
from podium.compliance.tools.review.anomalies.stretches import seeds_of
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.review_rules import SEEDS_REUSED
from podium.rules.finding import Finding, Profile

LARGE = 1_000_000
"""A seed from here on that comes twice by chance is one in some thousand rounds."""

LEAST_SHARED = 3
"""Seeds that two results must share where they are smaller: many scripts draw from 32,768."""

LEAST_TELLING = 100
"""Smaller seeds are counted up from nothing, which `seeds.run-index` tells of."""


def reused(material: Material) -> Iterator[Finding]:
    """Results with the seeds of another one, of this round or an earlier one."""
    known: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for earlier in material.earlier:
        for result in earlier.results:
            _add(known, result, earlier.place(result.place.display_path), f" ({earlier.title})")
    copies = {
        finding.path
        for finding in material.outcome.findings
        if finding.id in ("earlier.resubmitted", "result.copied-run")
    }
    for result in material.results:
        path = result.place.display_path
        seeds = _seeds(result)
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for seed in sorted(seeds):
            for place in known[seed]:
                places[place].append(seed)
        if places and not _copied(result, copies):
            (other, round_), shared = max(places.items(), key=lambda each: len(each[1]))
            if len(shared) >= LEAST_SHARED or max(shared) >= LARGE:
                yield SEEDS_REUSED.found(
                    Profile.POLICY,
                    path,
                    count=len(shared),
                    total=len(seeds),
                    seed=shared[-1],
                    other=other,
                    round=round_,
                )
        _add(known, result, path, "")


def _copied(result: Result, copies: set[str]) -> bool:
    """Whether its logs are those of another result: then its seeds are, too, of course."""
    return result.place.display_path in copies or any(
        run.display_path in copies for run in result.runs
    )


def _add(known: dict[int, list[tuple[str, str]]], result: Result, path: str, round_: str) -> None:
    for seed in _seeds(result):
        known[seed].append((path, round_))


def _seeds(result: Result) -> set[int]:
    """The telling seeds of a result, the first of each run: ranks may have more."""
    firsts = (seeds_of(run)[:1] for run in result.runs)
    return {seed for first in firsts for seed in first if abs(seed) >= LEAST_TELLING}
