"""Copies: stretches of a run that are also in another run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import msgspec

from podium.compliance.judging.logs.trace import Stretch
from podium.compliance.judging.results.result import Run
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.review_rules import COPIED_STRETCH
from podium.rules.finding import Finding, Profile

_PROFILE = Profile.POLICY
_WHAT = {"values": "evaluations or losses", "times": "the times between evaluations"}


class _Place(msgspec.Struct, frozen=True):
    """The first place of a stretch: the run, the path of its log and the lines."""

    run: Run
    path: str
    stretch: Stretch


class _Shared(msgspec.Struct):
    """Stretches that one run shares: the first place, its lines, and the count for each log."""

    first: _Place
    own: Stretch
    counts: Counter[str]


def copied_stretches(material: Material) -> Iterator[Finding]:
    """Runs with a sequence of numbers or times that is also in a run that began earlier.

    `result.copied-run` and `earlier.*` report whole copies, which are not repeated here.
    """
    stretches: dict[tuple[str, int], _Place] = {}
    for earlier in material.earlier:
        for result in earlier.results:
            for run in result.runs:
                _add(stretches, run, earlier.place(run.display_path))
    copies = _whole_copies(material)
    runs = [run for result in material.results for run in result.runs]
    for run in sorted(runs, key=began):
        shared = _shared(stretches, run)
        if shared is not None and run.display_path not in copies:
            yield _found(run, shared)
        _add(stretches, run, run.display_path)


def _add(stretches: dict[tuple[str, int], _Place], run: Run, path: str) -> None:
    for stretch in trace(run).stretches:
        stretches.setdefault((stretch.kind, stretch.mark), _Place(run, path, stretch))


def _whole_copies(material: Material) -> set[str]:
    rules = ("result.copied-run", "earlier.shifted-log", "earlier.resubmitted")
    paths = {finding.path for finding in material.outcome.findings if finding.id in rules}
    # A resubmitted result is reported at its folder
    return paths | {
        run.display_path
        for result in material.results
        if result.place.display_path in paths
        for run in result.runs
    }


def _shared(stretches: dict[tuple[str, int], _Place], run: Run) -> _Shared | None:
    shared: _Shared | None = None
    for stretch in trace(run).stretches:
        first = stretches.get((stretch.kind, stretch.mark))
        if first is None:
            continue
        if shared is None:
            shared = _Shared(first, stretch, Counter())
        shared.counts[first.path] += 1
    return shared


def _found(run: Run, shared: _Shared) -> Finding:
    first, stretch = shared.first, shared.own
    surplus = sum(shared.counts.values()) - 1
    others = len(shared.counts) - 1
    text = f"; {surplus} more such stretches" if surplus else ""
    text += f" (other logs: {others})" if others else ""
    return COPIED_STRETCH.found(
        _PROFILE,
        run.display_path,
        line=stretch.first,
        what=_WHAT[stretch.kind],
        lines=f"{stretch.first} to {stretch.last}",
        theirs=f"{first.stretch.first} to {first.stretch.last}",
        other=first.path,
        others=text,
    )


def began(run: Run) -> tuple[float, str]:
    """The order of runs in time; a run that does not log its start comes last."""
    start = run.facts.run.start_ms
    return (math.inf if start is None else start, run.display_path)


def seeds_of(run: Run) -> list[int]:
    """The seeds that a run logs, without values that are not whole numbers."""
    return [value for value, *_ in run.facts.seeds.seeds if type(value) is int]
