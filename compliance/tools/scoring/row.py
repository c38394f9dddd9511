"""A result as a row of the score report, and its scaling.json on request."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.judging.inputs.layout import SCALING_FILE
from podium.compliance.judging.results.factor import read_scaling
from podium.compliance.judging.results.result import Result
from podium.compliance.judging.results.score import final_quality
from podium.compliance.judging.results.summary import rcp_entry
from podium.compliance.reporting.console import write_whole
from podium.compliance.reporting.models import as_model
from podium.compliance.tools.scoring.report import RunEntry, ScoreEntry, SpreadEntry
from podium.rules.convergence.result import converged_at
from podium.rules.convergence.spread import Spread
from podium.rules.convergence.statistics import olympic_mean
from podium.rules.finding import Profile


def row_of(result: Result) -> ScoreEntry:
    """The row of one result; times in minutes, energies in joules."""
    location, rules, runs = result.place, result.rules, result.counted
    sizes = {run.batch_size for run in runs}
    return ScoreEntry(
        submitter=location.submitter,
        system=location.system,
        benchmark=location.benchmark,
        division=result.division,
        scaling=location.scaling,
        path=location.display_path,
        round=rules.title,
        runs=len(runs),
        converged=sum(run.converged for run in runs),
        needed=rules.benchmark(location.benchmark).runs,
        dropped=rules.benchmark(location.benchmark).dropped,
        batch_size=next(iter(sizes)) if len(sizes) == 1 else None,
        unit=next((run.unit for run in runs), "epochs"),
        to_converge=_mean_convergence(result),
        energy_joules=_energy(result),
        run_list=_run_list(result),
        rcp=as_model(rcp_entry(result.convergence)),
        # Only the open division reports the final quality: training rules, Quality measure
        quality=final_quality(runs) if result.division == "open" else None,
        **(_throughput(result) if result.weak else _time(result)),
    )


def _time(result: Result) -> dict[str, Any]:
    score = result.score
    # According to the policy, the mean is a score only if no runs are missing
    valid = result.profile is Profile.VERIFIER or not score.problems
    return {
        "minutes": score.minutes,
        "factor": score.factor.value,
        "factor_source": score.factor.source,
        "factors": score.factor.convention,
        "published_factor": score.factor.published,
        "computed_factor": score.factor.computed,
        "score": score.score if valid else None,
        "scaled_energy_joules": score.scaled(result.energy),
        "spread": _spread(result.spread),
    }


def _throughput(result: Result) -> dict[str, Any]:
    throughput = result.throughput
    assert throughput is not None
    return {
        "models": throughput.models,
        "instance_scale": throughput.instance_scale,
        "total_scale": throughput.total_scale,
        "time_to_train_all": throughput.time_to_train_all,
        "models_per_minute": throughput.models_per_minute,
    }


def _energy(result: Result) -> float | None:
    """The mean over the scored runs; for throughput, the sum over all instances."""
    if not result.weak:
        return result.energy
    # A sum over some instances would be too low: all energies must be known
    measured = [joules for joules in result.energies if joules is not None]
    return math.fsum(measured) if measured and len(measured) == len(result.energies) else None


def _mean_convergence(result: Result) -> float | None:
    if result.convergence.submission is not None:
        return result.convergence.submission
    # Without a reference, as in the open division, the mean is still useful. As in the score, a run
    # that did not converge counts as the slowest
    mean = olympic_mean([converged_at(run) for run in result.chosen], result.score.dropped)
    return mean if math.isfinite(mean) else None


def _spread(spread: Spread | None) -> SpreadEntry | None:
    if spread is None:
        return None
    return SpreadEntry(
        mean=spread.mean,
        deviation=spread.deviation,
        relative=spread.relative,
        usual=spread.usual,
        outliers=list(spread.outliers),
    )


def _run_list(result: Result) -> list[RunEntry]:
    return [
        RunEntry(
            path=run.display_path,
            minutes=facts.minutes,
            converged=facts.converged,
            # Throughput drops no instance: the roles of an olympic mean do not apply
            scored=facts.counts if result.weak else part.role == "scored",
            role="instance" if result.weak else part.role,
            why="" if result.weak else part.why,
            start_ms=facts.start_ms,
            stop_ms=facts.stop_ms,
            init_minutes=facts.init_minutes,
            staging_minutes=facts.staging_minutes,
            to_converge=facts.to_converge,
            batch_size=facts.batch_size,
            quality=facts.quality,
            energy_joules=energy,
            seed=list(facts.seeds),
        )
        for run, facts, part, energy in zip(
            result.runs, result.counted, result.score.runs, result.energies, strict=True
        )
    ]


class ScoredResult(msgspec.Struct, frozen=True):
    """One row and its result; `run_list` of the row has the order of the runs."""

    result: Result
    entry: ScoreEntry


def scored(result: Result) -> ScoredResult:
    """The result with its row."""
    return ScoredResult(result, row_of(result))


def by_path(results: Iterable[ScoredResult]) -> list[ScoredResult]:
    """Rows sorted by path."""
    # Loose logs of several benchmarks share a folder, and so the path
    return sorted(
        results, key=lambda item: (item.result.place.display_path, item.result.place.benchmark)
    )


def write_scaling(results: Iterable[ScoredResult]) -> Iterator[str]:
    """Write the factor of each result that its reference points scale; yields a line per file.

    An existing file is never changed: its factor comes from the committee.
    """
    for scored in results:
        factor = scored.result.score.factor
        # The factor applies to the time to train, which throughput does not have
        if scored.result.throughput is not None or scored.result.score.minutes is None:
            continue
        path = scored.result.place.folder / SCALING_FILE
        # The official tools overwrite or delete this file, and lose the decision of the committee
        if path.exists():
            yield _kept(scored, path)
        elif factor.computed != 1.0:
            write_whole(path, json.dumps({"scaling_factor": factor.computed}) + "\n")
            yield f"written: {path} ({factor.computed!r})"


def _kept(scored: ScoredResult, path: Path) -> str:
    factor, _ = read_scaling(path.parent)
    implied = scored.result.convergence.scaling_factor
    if factor is None:
        return f"kept: {path} (it has no factor)"
    # Some published files have the factor with six decimals
    same = math.isclose(factor, implied, rel_tol=1e-6)
    return f"kept: {path} ({factor!r}{'' if same else f'; the reference points imply {implied!r}'})"
