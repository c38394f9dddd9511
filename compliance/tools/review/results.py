"""The entries of a round's results: what tables and curves show of each."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.judging.logs.trace import Series, thinned
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.summary import rcp_entry
from podium.compliance.reporting.data import ResultEntry as Judged
from podium.compliance.tools.review.anomalies.peers import margin_of, sigmas_below, speeds
from podium.compliance.tools.review.anomalies.stretches import seeds_of
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.model import (
    Curve,
    CurvePoint,
    ResultEntry,
    RunEntry,
    Setting,
    SpeedEntry,
    SystemEntry,
)
from podium.compliance.tools.review.settings import compared_settings
from podium.rules.constraints.bounds import Limit
from podium.rules.run import MINUTE_MS

MOST_SHOWN = 60
"""Points of a curve that `review.json` and the pages have."""

LARGEST_SEED = 1 << 53
"""Larger seeds have no number in JSON that all readers agree on."""


def result_entries(material: Material) -> list[ResultEntry]:
    """Every result of the round, by benchmark, then from the fastest to the slowest."""
    judged = {entry.path: entry for entry in material.outcome.results}
    fast = speeds(material)
    compared = compared_settings(material)
    entries = []
    for result in material.results:
        path = result.place.display_path
        entries.append(_entry(result, judged.get(path), fast.get(path), *compared[path]))
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
    place, convergence, spread = result.place, result.convergence, result.spread
    facts = [run.facts.run for run in result.runs]
    means = [each.to_converge for each in facts if each.to_converge]
    return ResultEntry(
        path=place.display_path,
        submitter=place.submitter,
        system=_system(result),
        benchmark=place.benchmark,
        division=result.division,
        scaling=place.scaling,
        verdict=judged.verdict if judged else None,
        official_verdict=judged.official_verdict if judged else None,
        batch_size=next((each.batch_size for each in facts if each.batch_size), None),
        to_converge=convergence.submission or (sum(means) / len(means) if means else None),
        unit=facts[0].unit if facts else "samples",
        rcp=rcp_entry(convergence),
        deviation=convergence.deviation,
        margin=margin_of(result),
        target=_target(result),
        minutes=result.score.minutes,
        score=result.score.score,
        spread=spread.relative if spread is not None else None,
        speed=speed,
        joules=result.energy if result.power is not None else None,
        runs=_runs(result),
        settings=settings,
        borrows=borrows,
    )


def _system(result: Result) -> SystemEntry:
    described, place = result.description, result.place
    if described is None:
        return SystemEntry(name=place.system)
    return SystemEntry(
        name=place.system,
        status=described.category or described.status,
        nodes=described.nodes,
        accelerators=described.accelerators,
        accelerator=described.accelerator_model_name,
        framework=described.framework,
    )


def _target(result: Result) -> float | None:
    """The quality that one evaluation of a closed result must reach, where that is one number."""
    row = result.rules.benchmark(result.place.benchmark).quality
    if row is None or result.division != "closed":
        return None
    bounds = (each.bound for each in row.some if isinstance(each, Limit))
    return next((float(each) for each in bounds if isinstance(each, int | float)), None)


def _runs(result: Result) -> list[RunEntry]:
    roles: Mapping[str, str] = {part.name: part.why or part.role for part in result.score.runs}
    return [_run(result, run, roles.get(run.facts.run.name, "scored")) for run in result.runs]


def _run(result: Result, run: Run, role: str) -> RunEntry:
    facts, told = run.facts.run, trace(run)
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
        quality=curve_of(told.quality, facts.start_ms),
        loss=curve_of(told.loss, facts.start_ms),
        throughput=curve_of(told.throughput, facts.start_ms),
    )


def curve_of(series: Series, start_ms: float | None) -> Curve:
    """The curve of a quantity over minutes since a run began, thinned to what is shown."""
    points = series.points
    start = start_ms if start_ms is not None else (points[0][1] if points else 0.0)
    found: list[CurvePoint] = [
        (round((time - start) / MINUTE_MS, 4), at, float(f"{value:.6g}"))
        for _, time, at, value in thinned(points, MOST_SHOWN)
    ]
    return Curve(unit=series.unit, logged=series.total, points=found)
