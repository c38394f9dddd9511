"""The list on the first page of a review: one row for each cause, the most serious kinds first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from podium.compliance.tools.review.model import Objection, ResultEntry, Review, RunEntry
from podium.compliance.tools.review.objections import gravity
from podium.rules.finding import RANK, Severity

MOST_LOGS = 2
"""Maximum number of logs for which several rules that report the same logs have one cause."""

GRID = 1e-6
"""A mean equals the minimum if it is closer than this share of the minimum."""


class Thumbnail(NamedTuple):
    """A small picture of the evidence: paths of curves, or dots on a line with a mark."""

    label: str
    paths: Sequence[str] = ()
    places: Sequence[int] = ()
    at: int | None = None


class Cause(NamedTuple):
    """One row: the leading objection, and the others with the same cause."""

    kind: str
    lead: Objection
    others: Sequence[Objection]
    benchmarks: Sequence[str]
    thumbnail: Thumbnail | None

    @property
    def places(self) -> int:
        """The number of places."""
        return len(
            {
                (evidence.path, evidence.line)
                for objection in self.every
                for evidence in objection.evidence
            }
        )

    @property
    def every(self) -> list[Objection]:
        """All objections of the cause."""
        return [self.lead, *self.others]


class MatrixCell(NamedTuple):
    """The open objections about one benchmark of a submitter; `worst` is empty without any."""

    worst: str
    asked: int
    results: int


def queue(review: Review) -> list[Cause]:
    """The causes of all open objections."""
    groups: dict[tuple[str, ...], list[Objection]] = {}
    for objection in review.objections:
        if objection.is_open:
            groups.setdefault(_cause(objection), []).append(objection)
    causes = [_row(review, sorted(objections, key=_weight)) for objections in groups.values()]
    return sorted(causes, key=lambda cause: (*_weight(cause.lead), -cause.places))


def _cause(objection: Objection) -> tuple[str, ...]:
    paths = sorted({evidence.path for evidence in objection.evidence})
    logs = [path for path in paths if path.rpartition("/")[2].startswith("result_")]
    if logs == paths and 0 < len(paths) <= MOST_LOGS and objection.severity == "error":
        return objection.submission, objection.submitter, *paths
    return objection.submission, objection.submitter, objection.rule


def _weight(objection: Objection) -> tuple[int, int, bool, bool, str]:
    return (*gravity(objection), objection.id)


def _row(review: Review, objections: Sequence[Objection]) -> Cause:
    benchmarks = {
        name: None for objection in objections for name in benchmarks_of(objection, review.results)
    }
    lead, *others = objections
    picture = _thumbnail(lead.kind, lead, review.results)
    return Cause(lead.kind, lead, others, [*benchmarks], picture)


def benchmarks_of(objection: Objection, results: Sequence[ResultEntry]) -> list[str]:
    """The benchmarks of the results with evidence of an objection."""
    return [*dict.fromkeys(result.benchmark for result in _results(objection, results))]


def _results(objection: Objection, results: Sequence[ResultEntry]) -> Iterator[ResultEntry]:
    paths = [evidence.path for evidence in objection.evidence]
    for result in results:
        if any(path == result.path or path.startswith(f"{result.path}/") for path in paths):
            yield result


def matrix(review: Review, benchmarks: Sequence[str]) -> dict[str, list[MatrixCell]]:
    """For each submission, by path: a cell for each benchmark, and one for everything else."""
    by_cell: dict[tuple[str, str], list[Objection]] = {}
    for objection in review.objections:
        if objection.is_open:
            for name in benchmarks_of(objection, review.results) or [""]:
                by_cell.setdefault((objection.submission, name), []).append(objection)
    return {
        entry.path: [
            _cell(
                by_cell.get((entry.path, name), []),
                sum((entry.submitter, name) == (r.submitter, r.benchmark) for r in review.results),
            )
            for name in (*benchmarks, "")
        ]
        for entry in review.submissions
    }


def _cell(objections: Sequence[Objection], results: int) -> MatrixCell:
    worst = min(
        (objection.severity for objection in objections),
        key=lambda severity: RANK[Severity(severity)],
        default="",
    )
    return MatrixCell(worst, len(objections), results)


# --- small pictures -------------------------------------------------------------------------------


def _thumbnail(kind: str, objection: Objection, results: Sequence[ResultEntry]) -> Thumbnail | None:
    if kind == "copies":
        curves = _pair(objection, results)
        return Thumbnail("curves of the two runs", curves) if len(curves) > 1 else None
    result = next(_results(objection, results), None)
    if result is None:
        return None
    if kind == "convergence":
        return distance(result)
    return Thumbnail("minutes of the runs", places=minutes_dots(result))


def _pair(objection: Objection, results: Sequence[ResultEntry]) -> list[str]:
    """The curves of the runs that the first place of the evidence names."""
    if not objection.evidence:
        return []
    first = objection.evidence[0]
    runs = [run for result in results for run in result.runs]
    named_runs = [run for run in runs if run.path == first.path]
    named_runs += [run for run in runs if run.path in first.message and run.path != first.path]
    return [path for run in named_runs[:2] if (path := curve_path(run))]


def curve_path(run: RunEntry) -> str:
    """The curve of a run in a box of 100 by 20; empty without one."""
    points = (run.loss.points or run.quality.points)[:60]
    values = [value for *_, value in points]
    if len(values) < 2:
        return ""
    low, reach = min(values), (max(values) - min(values)) or 1.0
    steps = (
        f"{round(100 * index / (len(values) - 1))} {round(18 - 16 * (value - low) / reach)}"
        for index, value in enumerate(values)
    )
    return f"M{'L'.join(steps)}"


def distance(result: ResultEntry) -> Thumbnail | None:
    """The distance of a result from the minimum, on a scale from 20 % below to 60 % above."""
    to_converge, least = result.to_converge, result.rcp.minimum
    if not to_converge or not least:
        return None
    position = round(25 + (to_converge / least - 1) * 125)
    label = f"{(to_converge / least - 1) * 100:+.3g} % of the minimum"
    return Thumbnail(label, places=[max(2, min(98, position))], at=25)


def minutes_dots(result: ResultEntry) -> list[int]:
    """The runs of a result by their minutes on a scale of 0 to 100."""
    minutes = [run.minutes for run in result.runs if run.minutes]
    if not minutes:
        return []
    low, high = min(minutes), max(minutes)
    reach = max((high - low) / 2, (low + high) / 20) or 1.0
    return sorted({round(50 + 46 * (value - (low + high) / 2) / reach) for value in minutes})


def is_tie(submission: float, minimum: float) -> bool:
    """Whether a result equals the minimum, which is not significant with coarse evaluations."""
    return abs(submission - minimum) <= GRID * abs(minimum)
