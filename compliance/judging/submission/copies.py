"""Runs and results that are not their own: copies, equal scores, runs at the same time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from podium.compliance.judging.logs.facts import Facts, RunFingerprint
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.rules.consistency_rules import (
    COPIED_RUN,
    OVERLAPPING_RUNS,
    SAME_SCORE,
)
from podium.rules.finding import Finding, Severity
from podium.rules.run import MINUTE_MS

if TYPE_CHECKING:
    from podium.compliance.judging.inputs.layout import Tree

_LEAST_MARKS = 3
"""Fewer times than these say nothing: short logs of different runs may share them."""


_R = TypeVar("_R")


class FingerprintIndex(Generic[_R]):
    """Runs, or what is known of each, by their marks.

    Marks take long to compare: only those of runs that took equally long ever are.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[float, ...], tuple[RunFingerprint, _R]] = {}
        self._logged: dict[RunFingerprint, _R] = {}
        self._moved: dict[RunFingerprint, _R] = {}

    def find(self, marks: RunFingerprint) -> tuple[_R | None, bool]:
        """The first run added that has these marks, and whether at another time; or None."""
        first = self._first.get(_length(marks)) if tells_apart(marks) else None
        return (None, False) if first is None else self._like(first, marks)

    def add(self, marks: RunFingerprint, run: _R) -> tuple[_R | None, bool]:
        """Add a run, if its marks tell it apart; gives what `find` would have given before."""
        if not tells_apart(marks):
            return None, False
        first = self._first.setdefault(_length(marks), (marks, run))
        # setdefault gave back what it just took: no run of this length came before
        if first[0] is marks:
            return None, False
        found = self._like(first, marks)
        self._compare(marks, run)
        return found

    def _like(
        self, first: tuple[RunFingerprint, _R], marks: RunFingerprint
    ) -> tuple[_R | None, bool]:
        self._compare(*first)
        same = self._logged.get(marks)
        return (same, False) if same is not None else (self._moved.get(from_its_start(marks)), True)

    def _compare(self, marks: RunFingerprint, run: _R) -> None:
        self._logged.setdefault(marks, run)
        self._moved.setdefault(from_its_start(marks), run)


class SubmissionIndex(msgspec.Struct):
    """The runs looked at so far: where each lies; and results, by benchmark and mean time.

    `learned` finds runs by the hash of what their evaluations gave, a number for each run.
    """

    runs: FingerprintIndex[str] = msgspec.field(default_factory=FingerprintIndex)
    learned: dict[int, str] = msgspec.field(default_factory=dict)
    scores: dict[tuple[str, float], str] = msgspec.field(default_factory=dict)


def copies(
    runs: Iterable[tuple[str, Facts]], context: JudgingContext, seen: SubmissionIndex | None = None
) -> Iterator[Finding]:
    """Runs that share their times and evaluations with another: one run submitted twice.

    Copies are found across systems, and across submitters where `seen` goes from one to the next.
    """
    seen = SubmissionIndex() if seen is None else seen
    for display_path, facts in runs:
        other, moved = seen.runs.add(facts.fingerprint, display_path)
        learned = facts.fingerprint.learned
        # Noted for every run, so that a copy of a copy is found as well
        alike = None if learned is None else seen.learned.setdefault(learned, display_path)
        # The same numbers at other times may come of one seed twice: that alone rejects nothing
        certain = other is not None
        if other is not None:
            likeness = f"has the times and evaluations of {other}"
            if moved:
                likeness = f"is that of {other} at another time: every evaluation comes as long "
                likeness += "after the start, with the same value"
        elif alike is not None and alike != display_path:
            other = alike
            likeness = f"has the losses and outcomes of {other} to the last digit, at other times"
        else:
            continue
        yield COPIED_RUN.found(
            context.profile,
            display_path,
            severity=_weight_of_copy(display_path, other, certain),
            likeness=likeness,
        )


def _weight_of_copy(path: str, other: str, certain: bool) -> Severity:
    """An error where one result counts a run twice: its runs must be runs of their own.

    Two results may share a log for a reason, such as one system submitted by two partners.
    """
    same_result = path.rpartition("/")[0] == other.rpartition("/")[0]
    return Severity.ERROR if certain and same_result else Severity.WARNING


def same_scores(
    tree: Tree,
    results: Iterable[ResultVerdict],
    copied: set[str],
    context: JudgingContext,
    seen: SubmissionIndex | None = None,
) -> Iterator[Finding]:
    """Results whose mean time is that of another to the millisecond, though no run is a copy.

    `copied` are the runs that were reported as copies.
    """
    known = {} if seen is None else seen.scores
    for verdict in results:
        minutes = verdict.result.score.minutes
        # Instances have no olympic mean: throughput spans them all
        if minutes is None or verdict.folder.scaling == "weak":
            continue
        path = tree.place(verdict.folder.path)
        # Of whole milliseconds the mean has thirds, fifths and the like.
        key = verdict.folder.benchmark, round(minutes * MINUTE_MS, 3)
        other = known.setdefault(key, path)
        if other != path and not any(run.display_path in copied for run in verdict.result.runs):
            yield SAME_SCORE.found(context.profile, path, minutes=minutes, other=other)


def tells_apart(marks: RunFingerprint) -> bool:
    """Whether there are marks enough that only one run can have them."""
    return len(marks.times) >= _LEAST_MARKS


def from_its_start(marks: RunFingerprint) -> RunFingerprint:
    """The same marks with times counted from the first."""
    # A copy may have been given another time of day: then only the distances are equal
    start = marks.times[0]
    return RunFingerprint(tuple([time - start for time in marks.times]), marks.values)


def _length(marks: RunFingerprint) -> tuple[float, ...]:
    """How long a run took, and how long until the last of its marks."""
    times = marks.times
    return times[1] - times[0], times[-1] - times[0]


def overlaps(
    results: Iterable[ResultVerdict], folder: str, context: JudgingContext
) -> Iterator[Finding]:
    """Runs of one system that were made at the same time: a note, as a system may hold several.

    `folder` is that of the results, as a report shows it.
    """
    spans: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for verdict in results:
        if verdict.folder.scaling == "weak":
            continue  # instances run side by side by design
        for run in verdict.result.runs:
            start, stop = run.facts.run.start_ms, run.facts.run.stop_ms
            if start is not None and stop is not None and start < stop:
                spans[verdict.folder.system].append((start, stop, run.display_path))
    for system, times in sorted(spans.items()):
        pairs = _overlapping(sorted(times))
        if pairs:
            first, second = pairs[0]
            yield OVERLAPPING_RUNS.found(
                context.profile,
                f"{folder}/{system}",
                count=len(pairs),
                total=len(times),
                first=first,
                second=second,
            )


def _overlapping(times: list[tuple[float, float, str]]) -> list[tuple[str, str]]:
    found = []
    latest = times[0]
    for span in times[1:]:
        if span[0] < latest[1]:
            found.append((latest[2], span[2]))
        # The run that ends last, not the one before: a long run may overlap several
        latest = max(latest, span, key=lambda each: each[1])
    return found
