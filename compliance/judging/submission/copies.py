"""Runs and results that are not independent: copies, equal scores, runs at the same time."""

from __future__ import annotations

import math
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
"""The least number of times to compare: short logs of different runs may have the same times."""


_R = TypeVar("_R")


class FingerprintIndex(msgspec.Struct, Generic[_R]):
    """Runs, or data about them, by their marks.

    Comparing marks is slow, so only runs with equal durations are compared. `first` has the first
    run of each duration; `logged` and `moved` have the compared runs by their times, and by their
    times relative to the start.
    """

    first: dict[tuple[float, float], tuple[RunFingerprint, _R]] = {}
    logged: dict[RunFingerprint, _R] = {}
    moved: dict[RunFingerprint, _R] = {}

    def find(self, marks: RunFingerprint) -> tuple[_R | None, bool]:
        """The first run added that has these marks, and whether at another time; or None."""
        duration = _duration(marks)
        first = None if duration is None else self.first.get(duration)
        return (None, False) if first is None else self._like(first, marks)

    def add(self, marks: RunFingerprint, run: _R) -> tuple[_R | None, bool]:
        """Add a run, if its marks identify it. Return the result of `find` before the addition."""
        duration = _duration(marks)
        if duration is None:
            return None, False
        first = self.first.setdefault(duration, (marks, run))
        # setdefault returned the new item: no earlier run has this duration
        if first[0] is marks:
            return None, False
        match = self._like(first, marks)
        self._compare(marks, run)
        return match

    def _like(
        self, first: tuple[RunFingerprint, _R], marks: RunFingerprint
    ) -> tuple[_R | None, bool]:
        self._compare(*first)
        twin = self.logged.get(marks)
        return (twin, False) if twin is not None else (self.moved.get(from_its_start(marks)), True)

    def _compare(self, marks: RunFingerprint, run: _R) -> None:
        self.logged.setdefault(marks, run)
        self.moved.setdefault(from_its_start(marks), run)


class Origin(msgspec.Struct):
    """The earliest of several similar runs, and the submission that has it."""

    path: str
    facts: Facts
    submission: str

    @property
    def start(self) -> float | None:
        """The start of the run, in milliseconds since 1970."""
        return self.facts.run.start_ms


class SubmissionIndex(msgspec.Struct):
    """The runs seen so far, with their paths, and results by benchmark and mean time.

    `learned` finds runs by a hash of the values of their evaluations. `submission` is the current
    submission, `measured` are the folders of results with power measurements. `alike` are all runs
    that are similar to another. `later` are findings about submissions that were checked before the
    original was seen, by the path of the submission.
    """

    runs: FingerprintIndex[Origin] = msgspec.field(default_factory=FingerprintIndex)
    learned: dict[int, Origin] = msgspec.field(default_factory=dict)
    scores: dict[tuple[str, float], str] = msgspec.field(default_factory=dict)
    submission: str = ""
    measured: set[str] = msgspec.field(default_factory=set)
    alike: set[str] = msgspec.field(default_factory=set)
    later: dict[str, list[Finding]] = msgspec.field(default_factory=lambda: defaultdict(list))


def copies(
    runs: Iterable[tuple[str, Facts]], context: JudgingContext, index: SubmissionIndex | None = None
) -> Iterator[Finding]:
    """Findings about runs with the times and evaluations of another: one run submitted twice.

    Copies are found across systems, and across submitters if they share `index`. The run that began
    later is the copy. If two submissions have runs that began at the same time, each has a finding.
    """
    index = SubmissionIndex() if index is None else index
    for path, facts in runs:
        run = Origin(path, facts, index.submission)
        other, moved = index.runs.add(facts.fingerprint, run)
        learned = facts.fingerprint.learned
        # Set for every run, so that a copy of a copy is found as well
        similar_run = None if learned is None else index.learned.setdefault(learned, run)
        pair = other or similar_run
        if pair is not None and pair is not run:
            likeness = _Likeness(exact=other is not None, moved=moved)
            yield from _of_pair(run, pair, likeness, context, index)


class _Likeness(msgspec.Struct, frozen=True):
    """The similarity of two runs: `exact` in times and values, `moved` in values and intervals."""

    exact: bool
    moved: bool

    def words(self, other: str) -> str:
        """The description of the copy in a finding."""
        if not self.exact:
            return f"has exactly the losses and outcomes of {other}, at other times"
        if self.moved:
            detail = "every evaluation has the same value and the same time since the start"
            return f"is a copy of {other} at another time: {detail}"
        return f"has the times and evaluations of {other}"


def _of_pair(
    run: Origin,
    known_run: Origin,
    likeness: _Likeness,
    context: JudgingContext,
    index: SubmissionIndex,
) -> Iterator[Finding]:
    """Findings about this submission's runs in a pair; findings about others go into `index`."""
    index.alike |= {run.path, known_run.path}
    snapshot = msgspec.structs.replace(known_run)
    is_unclear = _unclear(run, snapshot) and run.submission != snapshot.submission
    if is_unclear:
        pairs = [(run, snapshot), (snapshot, run)]
    elif _began(run) < _began(snapshot):
        pairs = [(snapshot, run)]
        # Later runs are compared with the earliest
        known_run.path, known_run.facts, known_run.submission = run.path, run.facts, run.submission
    else:
        pairs = [(run, snapshot)]
    for copy, original in pairs:
        words = likeness.words(original.path)
        words += "; it is not clear which of the two is the copy" if is_unclear else ""
        severity = _weight_of_copy(copy, original, likeness, index)
        finding = COPIED_RUN.found(context.profile, copy.path, severity=severity, likeness=words)
        if copy.submission == index.submission:
            yield finding
        elif all(other.path != finding.path for other in index.later[copy.submission]):
            index.later[copy.submission].append(finding)


_LEAST_APART_MS = 1000.0
"""The least difference in milliseconds for one of two starts to be later."""


def _unclear(run: Origin, other: Origin) -> bool:
    if run.start is None or other.start is None:
        return True
    return abs(run.start - other.start) < _LEAST_APART_MS


def _began(run: Origin) -> float:
    return math.inf if run.start is None else run.start


def _weight_of_copy(
    copy: Origin, other: Origin, likeness: _Likeness, index: SubmissionIndex
) -> Severity:
    """An error if one result counts a run twice, or if two seeds give the same numbers.

    Two results may share a log for a good reason, such as one system submitted by two partners, or
    one result submitted with and without its power measurements.
    """
    folder, other_folder = (origin.path.rpartition("/")[0] for origin in (copy, other))
    seeds, other_seeds = (_seeds(origin.facts) for origin in (copy, other))
    if seeds and other_seeds and seeds != other_seeds:
        return Severity.ERROR
    if likeness.exact and folder == other_folder:
        return Severity.ERROR
    companions = likeness.exact and not likeness.moved and copy.facts.org == other.facts.org
    if companions and (folder in index.measured or other_folder in index.measured):
        return Severity.NOTE
    return Severity.WARNING


def _seeds(facts: Facts) -> list[int]:
    return [value for value, *_ in facts.seeds.seeds if type(value) is int]


def same_scores(
    tree: Tree,
    results: Iterable[ResultVerdict],
    copied: set[str],
    context: JudgingContext,
    index: SubmissionIndex | None = None,
) -> Iterator[Finding]:
    """Findings about results with equal mean times to the millisecond, although no run is a copy.

    `copied` are the runs that are copies, or have copies.
    """
    scores = {} if index is None else index.scores
    for verdict in results:
        minutes = verdict.result.score.minutes
        # Instances have no olympic mean: throughput is computed from all of them
        if minutes is None or verdict.folder.scaling == "weak":
            continue
        path = tree.place(verdict.folder.path)
        # The mean of whole milliseconds may be a fraction.
        key = verdict.folder.benchmark, round(minutes * MINUTE_MS, 3)
        other = scores.setdefault(key, path)
        if other != path and not any(run.display_path in copied for run in verdict.result.runs):
            yield SAME_SCORE.found(context.profile, path, minutes=minutes, other=other)


def from_its_start(marks: RunFingerprint) -> RunFingerprint:
    """The same marks with times relative to the first."""
    # A copy may have another time of day: then only the intervals are equal
    start = marks.times[0]
    return RunFingerprint(tuple([time - start for time in marks.times]), marks.values)


def _duration(marks: RunFingerprint) -> tuple[float, float] | None:
    """The duration of a run, and the time from its start to its last mark.

    None if there are too few marks to identify a run.
    """
    times = marks.times
    if len(times) < _LEAST_MARKS:
        return None
    return times[1] - times[0], times[-1] - times[0]


def overlaps(
    results: Iterable[ResultVerdict], folder: str, context: JudgingContext
) -> Iterator[Finding]:
    """Notes about runs at the same time on one system, which may be large enough for several.

    `folder` is the folder of the results, as a report shows it.
    """
    spans: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for verdict in results:
        if verdict.folder.scaling == "weak":
            continue  # instances run at the same time by design
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
    pairs = []
    latest = times[0]
    for span in times[1:]:
        if span[0] < latest[1]:
            pairs.append((latest[2], span[2]))
        # The run that ends last, not the previous run: a long run may overlap several
        latest = max(latest, span, key=lambda span: span[1])
    return pairs
