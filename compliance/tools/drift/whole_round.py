"""Compare the data of a round outside the rule files: runs, names, reference points."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.text.words import join_limited
from podium.compliance.tools.drift.installed import About, OfficialPoint
from podium.compliance.tools.drift.text import Disagreement
from podium.rules.benchmark_names import intended
from podium.rules.convergence.data import Point, points_of
from podium.rules.model.round import Round


def compare_round(rules: Round, release: About, benchmark: str = "") -> Iterator[Disagreement]:
    """The differences of a round, or of one benchmark in it.

    Tables that a release does not have are skipped; older releases have no points, for example.
    """
    title = f"{rules.usage} {rules.name}"
    names = [benchmark] if benchmark else [*rules.allowed]
    yield from _names(rules, release.names.get(title, ()), benchmark)
    yield from _aliases(rules, release, benchmark)
    runs, points = release.runs.get(rules.usage, {}), release.points.get(title, {})
    for name in names:
        our_runs = rules.benchmark(name).runs
        if runs and name in rules.allowed and runs.get(name) != our_runs:
            yield _row(rules, name, "runs", "benchmark_meta", str(our_runs), _text(runs.get(name)))
        if points:
            yield from _points(rules, name, points.get(name, {}))


def _names(rules: Round, official_names: tuple[str, ...], benchmark: str) -> Iterator[Disagreement]:
    differing = {*official_names} ^ {*rules.allowed} if official_names else set()
    for name in sorted(differing):
        if benchmark in ("", name):
            our_name, official_name = ("", name) if name in official_names else (name, "")
            yield _row(rules, name, "benchmark", "benchmark_meta", our_name, official_name)


def _aliases(rules: Round, release: About, benchmark: str) -> Iterator[Disagreement]:
    for alias, name in release.aliases.items():
        our_name = rules.aliases.get(alias) or intended(alias, rules)
        if name in rules.allowed and our_name != name and benchmark in ("", name):
            yield _row(rules, name, f"alias {alias}", "result_summarizer", our_name, name)


def _points(
    rules: Round, name: str, official_points: dict[str, OfficialPoint]
) -> Iterator[Disagreement]:
    our_points = {point.id: point for point in points_of(rules.usage, rules.name, name)}
    for point in dict.fromkeys((*our_points, *official_points)):
        our_point, official_point = our_points.get(point), official_points.get(point)
        converted = None if our_point is None else _official(our_point)
        if converted != official_point:
            text, other = _point_text(converted), _point_text(official_point)
            yield _row(rules, name, f"reference point {point}", f"rcps_{name}", text, other)


def _official(point: Point) -> OfficialPoint:
    return OfficialPoint(point.batch_size, point.to_converge)


def _point_text(point: OfficialPoint | None) -> str:
    if point is None:
        return ""
    values = join_limited([f"{value:g}" for value in sorted(point.to_converge)], 6)
    return f"batch size {point.batch_size:g}, {len(point.to_converge)} runs: {values}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _row(
    rules: Round, benchmark: str, key: str, file: str, our_text: str, official_text: str
) -> Disagreement:
    return Disagreement(rules.usage, rules.name, "", benchmark, key, file, our_text, official_text)
