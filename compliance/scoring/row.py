"""What a row of scores holds, from the arithmetic behind it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from podium.compliance.report.models import RcpEntry
from podium.compliance.results.score import Score, final_quality, olympic_energy
from podium.compliance.scoring.report import RunEntry, ScoreEntry, SpreadEntry
from podium.compliance.submission.judge import rcp_entry
from podium.rules.convergence.statistics import olympic_mean
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.compliance.scoring.result import ScoredResult


def completed(working: ScoredResult) -> ScoreEntry:
    """The row, filled in."""
    score, runs, convergence = working.score, working.runs, working.convergence
    sizes = {run.batch_size for run in runs}
    weak = working.throughput is not None
    energy = _energy(working)
    found: dict[str, Any] = {
        "runs": len(runs),
        "converged": sum(run.converged for run in runs),
        "batch_size": next(iter(sizes)) if len(sizes) == 1 else None,
        "unit": next((run.unit for run in runs), "epochs"),
        "to_converge": _mean_convergence(working),
        "energy_joules": energy,
        "run_list": _run_list(working),
        "rcp": None if convergence is None else RcpEntry.model_validate(rcp_entry(convergence)),
    }
    if working.entry.division == "open":
        found["quality"] = final_quality(runs)
    if weak:
        return working.entry.model_copy(update={**found, **_throughput(working)})
    factor = score.factor
    found |= {
        "minutes": score.minutes,
        "factor": factor.value,
        "factor_source": factor.source,
        "score": score.score if _valid(working) else None,
        "scaled_energy_joules": score.scaled(energy),
        "spread": _spread(score),
    }
    return working.entry.model_copy(update=found)


def _valid(working: ScoredResult) -> bool:
    """Whether the mean is a score: by the policy not where runs are missing."""
    return working.profile is Profile.VERIFIER or not working.score.problems


def _throughput(working: ScoredResult) -> dict[str, Any]:
    throughput = working.throughput
    assert throughput is not None
    return {
        "models": throughput.models,
        "instance_scale": throughput.instance_scale,
        "total_scale": throughput.total_scale,
        "time_to_train_all": throughput.time_to_train_all,
        "models_per_minute": throughput.models_per_minute,
    }


def _energy(working: ScoredResult) -> float | None:
    """Of runs the mean of those scored; of instances, all of which count, the sum."""
    if working.throughput is None:
        return olympic_energy(working.score, working.energies)
    known = [joules for joules in working.energies if joules is not None]
    return math.fsum(known) if known and len(known) == len(working.energies) else None


def _mean_convergence(working: ScoredResult) -> float | None:
    convergence = working.convergence
    if convergence is not None and convergence.submission is not None:
        return convergence.submission
    runs = working.runs if working.throughput is not None else working.chosen
    drop = working.score.dropped
    values = [
        run.to_converge if run.converged and run.to_converge is not None else math.inf
        for run in runs
    ]
    mean = olympic_mean(values, drop) if len(values) > 2 * drop else math.nan
    return mean if math.isfinite(mean) else None


def _spread(score: Score) -> SpreadEntry | None:
    spread = score.spread
    if spread is None:
        return None
    return SpreadEntry(
        mean=spread.mean,
        deviation=spread.deviation,
        relative=spread.relative,
        usual=spread.usual,
        outliers=list(spread.outliers),
    )


def _run_list(working: ScoredResult) -> list[RunEntry]:
    weak = working.throughput is not None
    return [
        RunEntry(
            path=member.display_path,
            minutes=run.minutes,
            converged=run.converged,
            scored=run.counts if weak else part.role == "scored",
            role="instance" if weak else part.role,
            why="" if weak else part.why,
            start_ms=run.start_ms,
            stop_ms=run.stop_ms,
            init_minutes=run.init_minutes,
            staging_minutes=run.staging_minutes,
            to_converge=run.to_converge,
            batch_size=run.batch_size,
            quality=run.quality,
            energy_joules=energy,
            seed=list(run.seeds),
        )
        for member, run, part, energy in zip(
            working.members, working.runs, working.score.runs, working.energies, strict=True
        )
    ]
