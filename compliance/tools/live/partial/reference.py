"""The reference convergence point that a run's batch size is measured by."""

from __future__ import annotations

from dataclasses import dataclass

from podium.compliance.judging.results.convergence import applies, references
from podium.rules.finding import Profile
from podium.rules.model.round import Round


@dataclass(frozen=True, slots=True)
class Expected:
    """How the reference converges at a batch size; `reason` says why that is not known.

    `mean` and `minimum` are in `unit`: the mean of a result's `runs` must be at least `minimum`.
    """

    batch_size: float | None = None
    case: str = "none"
    mean: float | None = None
    minimum: float | None = None
    unit: str = ""
    runs: int | None = None
    reason: str = ""


def reference_at(
    rules: Round, benchmark: str, division: str, batch_size: float | None, profile: Profile
) -> Expected:
    """What is expected of a run at a batch size."""
    unit = rules.benchmark(benchmark).convergence.unit
    reason = applies(rules, benchmark, division)
    if reason or batch_size is None:
        return Expected(unit=unit, reason=reason or "global_batch_size is not known")
    try:
        known = references(profile, rules, benchmark)
        case, point = known.match(batch_size)
    except ImportError as error:
        return Expected(batch_size, unit=unit, reason=f"{error.name} is not installed")
    if point is None:
        none = f"no reference convergence point for batch size {batch_size:g}"
        return Expected(batch_size, case, unit=unit, runs=known.needed, reason=none)
    return Expected(batch_size, case, point.mean, point.minimum, unit, known.needed)
