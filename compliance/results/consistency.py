"""Whether the runs of a result are repetitions of one experiment, and each a run of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from podium.compliance.logs.facts import NO_SETTINGS, Facts, RunFingerprint, Settings
from podium.compliance.report.terminal import join_limited
from podium.compliance.results.consistency_rules import (
    COPIED_RUN,
    MIXED_SETTINGS,
    OTHER_BENCHMARK,
    OTHER_CODE,
    OTHER_DIVISION,
    OVERLAPPING_RUNS,
    SAME_SCORE,
)
from podium.compliance.results.model import JudgingContext, ResultVerdict
from podium.compliance.results.result import Result, Run
from podium.logging_spec.reader.read import read_log
from podium.rules.finding import Finding, Severity
from podium.rules.run import MINUTE_MS, as_number

if TYPE_CHECKING:
    from podium.compliance.inputs.layout import Tree

_LEAST_MOVED = 2
"""One setting alone may be logged elsewhere by another branch of the same code."""

_LEAST_MARKS = 3
"""Fewer times than these say nothing: short logs of different runs may share them."""


def one_kind(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    """All runs of one result have the folder's benchmark, one division, one set of settings."""
    folder = verdict.folder
    # A folder of 0.6 may be called mask for maskrcnn, and its logs say the same
    names = (None, "", folder.benchmark, folder.path.rpartition("/")[2])
    for run in verdict.result.runs:
        facts = run.facts.run
        if facts.benchmark not in names or facts.division != verdict.result.described_division:
            yield from _as_its_folder(verdict, run, context, names)
    yield from _settings(verdict, path, context)
    yield from _code(verdict.result, context)


def _as_its_folder(
    verdict: ResultVerdict, run: Run, context: JudgingContext, names: Sequence[str | None]
) -> Iterator[Finding]:
    facts, division = run.facts.run, verdict.result.described_division
    if facts.benchmark not in names:
        yield OTHER_BENCHMARK.found(
            context.profile,
            run.display_path,
            key="submission_benchmark",
            logged=facts.benchmark,
            benchmark=verdict.folder.benchmark,
        )
    if facts.division and division and facts.division != division:
        yield OTHER_DIVISION.found(
            context.profile,
            run.display_path,
            key="submission_division",
            severity=None if context.rules.package.one_division else Severity.WARNING,
            logged=facts.division,
            described=division,
        )


def _settings(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    runs = verdict.result.runs
    settings = [run.facts.settings for run in runs]
    if _are_the_same(settings):
        return
    given: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run, each in zip(runs, settings, strict=True):
        for key, value in each.as_dict().items():
            given[key][canonical_text(value)].append(run)
    for key, by_value in sorted(given.items()):
        if len(by_value) > 1:
            yield _mixed(key, by_value, path, context)


def _mixed(key: str, by_value: dict[str, list[Run]], path: str, context: JudgingContext) -> Finding:
    """A setting that differs: at the one log that is out of step where there is one."""
    *odd, most = sorted(by_value.items(), key=lambda each: len(each[1]))
    alone = [run for _, runs in odd for run in runs]
    places = {run.name: line_of(run.path, key) for run in alone[:_MOST_NAMED]}
    parts = [f"{shortened(value)} in {_named(runs, places)}" for value, runs in odd[:_MOST_NAMED]]
    if len(odd) > _MOST_NAMED:
        parts.append(f"{len(odd) - _MOST_NAMED} other values")
    # Of one run against another neither is out of step
    single = len(alone) == 1 and len(most[1]) > 1
    others = f"the {len(most[1])} others" if single else _named(most[1], {})
    return MIXED_SETTINGS.found(
        context.profile,
        alone[0].display_path if single else path,
        line=places[alone[0].name] if single else None,
        key=key,
        setting=key,
        values="; ".join([*parts, f"{shortened(most[0])} in {others}"]),
    )


_MOST_NAMED = 3
"""Runs, and values, that a message names; more are counted."""


def _named(runs: Sequence[Run], lines: Mapping[str, int | None]) -> str:
    names = [
        run.name if lines.get(run.name) is None else f"{run.name}:{lines[run.name]}" for run in runs
    ]
    return join_limited(names, _MOST_NAMED)


def line_of(path: Path, key: str) -> int | None:
    """The line of a log that gives a key first: read again, as hardly any result is mixed."""
    for line, record in read_log(path).all_records():
        if record.key == key:
            return line
    return None


def _are_the_same(settings: list[Settings]) -> bool:
    """Whether all are equal and written alike, as nearly always."""
    first, *others = settings or [NO_SETTINGS]
    kinds = first.kinds()
    return all(
        each.values == first.values and each.keys == first.keys and each.kinds() == kinds
        for each in others
    )


def canonical_text(value: Any) -> str:
    """One spelling of equal values: 8, 8.0 and "8" are one setting."""
    number = None if isinstance(value, bool) else as_number(value)
    return repr(value) if number is None else f"{number:.15g}"


def shortened(text: str, most: int = 60) -> str:
    """A canonical text for a message; compared are whole texts."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _code(result: Result, context: JudgingContext) -> Iterator[Finding]:
    """Runs whose settings are logged elsewhere than in most; one finding for each version.

    Logs name no version of the code. But a record has the source line that logged it, and with any
    change above it that line moves.
    """
    versions: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Run]] = {}
    for run in result.runs:
        facts = run.facts
        versions.setdefault((facts.settings.keys, facts.logged_at), []).append(run)
    if len(versions) < 2:
        return
    # Of versions with as many runs each, the first is the one to compare with
    usual = max(versions, key=lambda version: len(versions[version]))
    most, there = len(versions[usual]), dict(zip(*usual, strict=True))
    for version, runs in versions.items():
        here = {key: at for key, at in zip(*version, strict=True) if at and there.get(key)}
        moved = [key for key, at in here.items() if at != there[key]]
        if len(moved) < _LEAST_MOVED:
            continue
        yield OTHER_CODE.found(
            context.profile,
            runs[0].display_path,
            key=moved[0],
            setting=moved[0],
            count=len(moved),
            total=len(here),
            most=f"{most} other run{'s' * (most > 1)}",
            here=here[moved[0]],
            there=there[moved[0]],
            alike=f"; so in {len(runs) - 1} more" if len(runs) > 1 else "",
        )


# --- several results ---


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
