"""The entries of a round's results for tables, curves and comparisons of settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from podium.compliance.judging.logs.trace import Series, thinned
from podium.compliance.judging.results.consistency import canonical_text
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.summary import rcp_entry
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.reporting.data import ResultEntry as Judged
from podium.compliance.tools.history.hyperparameter_borrowing import differing
from podium.compliance.tools.review.anomalies.peers import margin_of, sigmas_below, speeds
from podium.compliance.tools.review.anomalies.stretches import seeds_of
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.model import (
    Curve,
    CurvePoint,
    LoggedKey,
    ResultEntry,
    RunEntry,
    Setting,
    SpeedEntry,
    SystemEntry,
)
from podium.rules.constraints.bounds import Limit
from podium.rules.run import MINUTE_MS

Compared = tuple[dict[str, Setting], list[str]]
"""The settings of a result, and the results of other submitters with the same settings."""

_LONGEST = 200


def compared_settings(material: Material) -> dict[str, Compared]:
    """The settings of every result, by path, compared with its benchmark's other results."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in material.results:
        groups[result.place.benchmark].append(result)
    first = _first_seen(material)
    compared: dict[str, Compared] = {}
    for benchmark, results in groups.items():
        values = {result.place.display_path: settings_of(result) for result in results}
        holders = _holders(results, values)
        for result in results:
            path = result.place.display_path
            marked = {
                key: _marked(key, value, result, results, holders, first.get(benchmark, {}))
                for key, value in values[path].items()
            }
            compared[path] = marked, _lenders(result, results, values)
    return compared


def settings_of(result: Result) -> dict[str, Any]:
    """The hyperparameters that the first run of a result logs."""
    return result.runs[0].facts.settings.as_dict() if result.runs else {}


_Spelled = tuple[str, str]
"""A key, and its value in the form that is compared."""


def _holders(results: list[Result], values: dict[str, dict[str, Any]]) -> dict[_Spelled, list[str]]:
    """The submitters of the results with each value."""
    holders: dict[_Spelled, list[str]] = defaultdict(list)
    for result in results:
        for key, value in values[result.place.display_path].items():
            holders[key, canonical_text(value)].append(result.place.submitter)
    return holders


def _first_seen(material: Material) -> dict[str, dict[_Spelled, str]]:
    """The first result of earlier rounds with a value, by benchmark."""
    first_results: dict[str, dict[_Spelled, str]] = defaultdict(dict)
    for earlier in material.earlier:
        for result in earlier.results:
            path = earlier.place(result.place.display_path)
            for key, value in settings_of(result).items():
                first_results[result.place.benchmark].setdefault((key, canonical_text(value)), path)
    return first_results


def _marked(
    key: str,
    value: Any,
    result: Result,
    results: list[Result],
    holders: dict[_Spelled, list[str]],
    first: dict[_Spelled, str],
) -> Setting:
    spelled = key, canonical_text(value)
    submitters_of_value = holders[spelled]
    submitters = {entry.place.submitter for entry in results}
    return Setting(
        value=shown(value),
        alone=len(submitters) > 1 and {*submitters_of_value} == {result.place.submitter},
        usual=len(submitters_of_value) == len(results),
        first=first.get(spelled, ""),
    )


def _lenders(result: Result, results: list[Result], values: dict[str, dict[str, Any]]) -> list[str]:
    own_settings = values[result.place.display_path]
    return [
        other.place.display_path
        for other in results
        if own_settings
        and other.division == result.division
        and not same_organization(other.place.submitter, result.place.submitter)
        and not differing(values[other.place.display_path], own_settings)
    ]


def shown(value: Any) -> Any:
    """A value as a review keeps it: plain values unchanged, all others as a short string."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


MOST_SHOWN = 60
"""Maximum number of points of a curve in `review.json` and on the pages."""

LARGEST_SEED = 1 << 53
"""Larger seeds are not read exactly by all JSON readers."""


def result_entries(material: Material) -> list[ResultEntry]:
    """Every result of the round, by benchmark, then from the fastest to the slowest."""
    judged = {entry.path: entry for entry in material.outcome.results}
    fast = speeds(material)
    compared = compared_settings(material)
    entries = []
    for result in material.results:
        path = result.place.display_path
        settings, borrows = compared[path]
        entries.append(_entry(result, judged.get(path), fast.get(path), settings, borrows))
    return sorted(entries, key=_order)


def _order(entry: ResultEntry) -> tuple[str, bool, float, str]:
    score = entry.score
    return (
        entry.benchmark,
        entry.division != "closed",
        1e300 if score is None else score,
        entry.path,
    )


def _entry(
    result: Result,
    judged: Judged | None,
    speed: SpeedEntry | None,
    settings: dict[str, Setting],
    borrows: list[str],
) -> ResultEntry:
    location, convergence, spread = result.place, result.convergence, result.spread
    facts = [run.facts.run for run in result.runs]
    means = [run_facts.to_converge for run_facts in facts if run_facts.to_converge]
    return ResultEntry(
        path=location.display_path,
        submitter=location.submitter,
        system=_system(result),
        benchmark=location.benchmark,
        division=result.division,
        scaling=location.scaling,
        verdict=judged.verdict if judged else None,
        official_verdict=judged.official_verdict if judged else None,
        batch_size=next(
            (run_facts.batch_size for run_facts in facts if run_facts.batch_size), None
        ),
        to_converge=convergence.submission or (sum(means) / len(means) if means else None),
        unit=facts[0].unit if facts else "samples",
        rcp=rcp_entry(convergence),
        deviation=convergence.deviation,
        margin=margin_of(result),
        target=_target(result),
        minutes=result.minutes,
        score=result.scaled_minutes,
        spread=spread.relative if spread is not None else None,
        speed=speed,
        official_joules=result.official_energy.joules,
        energy_gap=result.official_energy.gap,
        joules=result.energy if result.power is not None else None,
        models_per_minute=result.throughput.models_per_minute if result.throughput else None,
        runs=_runs(result),
        settings=settings,
        borrows=borrows,
    )


def _system(result: Result) -> SystemEntry:
    description, location = result.description, result.place
    if description is None:
        return SystemEntry(name=location.system)
    return SystemEntry(
        name=location.system,
        status=description.category or description.status,
        nodes=description.number_of_nodes,
        accelerators=description.accelerators,
        accelerator=description.accelerator_model_name,
        framework=description.framework,
    )


def _target(result: Result) -> float | None:
    """The quality that one evaluation of a closed result must reach, if it is one number."""
    row = result.rules.benchmark(result.place.benchmark).quality
    if row is None or result.division != "closed":
        return None
    bounds = (limit.bound for limit in row.some if isinstance(limit, Limit))
    return next((float(bound) for bound in bounds if isinstance(bound, int | float)), None)


def _runs(result: Result) -> list[RunEntry]:
    roles: Mapping[str, str] = {part.name: part.why or part.role for part in result.score.runs}
    return [_run(result, run, roles.get(run.facts.run.name, "scored")) for run in result.runs]


def _run(result: Result, run: Run, role: str) -> RunEntry:
    facts, traced = run.facts.run, trace(run)
    seed = next(iter(seeds_of(run)), None)
    return RunEntry(
        path=run.display_path,
        seed=seed if seed is not None and abs(seed) <= LARGEST_SEED else None,
        started=facts.start_ms,
        minutes=facts.minutes,
        converged=facts.converged,
        to_converge=facts.to_converge,
        sigmas_below=sigmas_below(result, run),
        role=role,
        quality=curve_of(traced.quality, facts.start_ms),
        loss=curve_of(traced.loss, facts.start_ms),
        throughput=curve_of(traced.throughput, facts.start_ms),
        records={
            key: LoggedKey(
                count=record.count,
                value=shown(record.value),
                values=record.values,
                times=record.times,
            )
            for key, record in traced.records.items()
        },
    )


def curve_of(series: Series, start_ms: float | None) -> Curve:
    """The curve of a quantity over minutes since a run began, thinned for display."""
    points = series.points
    start = start_ms if start_ms is not None else (points[0][1] if points else 0.0)
    curve_points: list[CurvePoint] = [
        (round((time - start) / MINUTE_MS, 4), position, float(f"{value:.6g}"))
        for _, time, position, value in thinned(points, MOST_SHOWN)
    ]
    return Curve(unit=series.unit, logged=series.total, points=curve_points)
