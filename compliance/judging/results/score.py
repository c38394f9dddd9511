"""Time to train, throughput, spread and final quality of one result, with the arithmetic. Pure.

Times are minutes. Source: training rules, Benchmark Results and Scoring; HPC rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.results.factor import Factor
from podium.compliance.text.words import there_are
from podium.rules.catalogue import find_round
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.statistics import mean_of, olympic_mean
from podium.rules.finding import Profile
from podium.rules.quirks import QUIRKS
from podium.rules.run import MINUTE_MS

Role = Literal["scored", "fastest", "slowest", "failed", "outside"]


class ScoredRun(msgspec.Struct, frozen=True):
    """One run and its role in the score; `why` is the reason if it is not scored."""

    name: str
    minutes: float | None
    role: Role
    why: str = ""


class Score(msgspec.Struct, frozen=True):
    """A result's time to train. `minutes` is the olympic mean, `score` the scaled mean.

    `minutes` is None if no mean is defined. A mean with `problems` is computed from the existing
    runs, but is not a valid score.
    """

    minutes: float | None
    runs: tuple[ScoredRun, ...]
    needed: int
    dropped: int
    factor: Factor = Factor()
    problems: tuple[str, ...] = ()

    @property
    def score(self) -> float | None:
        """Minutes after scaling."""
        return self.scaled(self.minutes)

    def scaled(self, mean: float | None) -> float | None:
        """A mean over the scored runs, for example of time or energy, after scaling."""
        return None if mean is None else mean * self.factor.value


class Throughput(msgspec.Struct, frozen=True):
    """HPC's second metric: M' models at scale S, on a system of scale T, and their minutes."""

    models: int
    instance_scale: float | None
    total_scale: float | None
    time_to_train_all: float | None
    problems: tuple[str, ...] = ()

    @property
    def models_per_minute(self) -> float | None:
        """Models trained per minute."""
        return self.models / self.time_to_train_all if self.time_to_train_all else None


def score_result(
    usage: str,
    round_name: str,
    benchmark: str,
    runs: Sequence[RunFacts],
    profile: Profile,
    factor: Factor | None = None,
) -> Score:
    """The score of a result, from the facts of its runs.

    The policy drops the number of runs in the benchmark's rule. With more runs than needed it uses
    the median window, and for NCF in 0.5 the first runs that converge. The verifier uses all runs.
    """
    rules = find_round(usage, round_name)
    definition = rules.benchmark(benchmark)
    needed_runs, dropped = definition.runs, definition.dropped
    chosen_runs = list(runs)
    reasons: dict[int, str] = {}
    problems: list[str] = []
    if QUIRKS[profile].counts_all_runs:
        pass
    elif definition.first_converging:
        chosen_runs, reasons = _first_converging(runs, needed_runs)
    elif len(runs) > needed_runs and rules.package.median_window:
        chosen_runs, reasons = median_window(runs, needed_runs, dropped)
    if len(chosen_runs) < needed_runs:
        problems.append(f"{there_are(len(chosen_runs), 'run')}; a result needs {needed_runs}")
    score = _score(chosen_runs, needed_runs, dropped, factor or Factor(), problems)
    return replace(score, runs=_parts(runs, reasons, dropped))


def _score(
    chosen_runs: list[RunFacts], needed_runs: int, dropped: int, factor: Factor, problems: list[str]
) -> Score:
    times = [_time(run) for run in chosen_runs]
    mean = olympic_mean(times, dropped) if len(times) > 2 * dropped else math.nan
    failed = sum(math.isinf(time) for time in times)
    if failed > dropped:
        problems.append(f"{failed} of {len(times)} runs failed; at most {dropped} may")
    elif math.isnan(mean):
        problems.append(
            f"none of {len(times)} runs is left after the {dropped} fastest and {dropped} slowest "
            "are dropped"
        )
    minutes = mean if math.isfinite(mean) else None
    return Score(minutes, (), needed_runs, dropped, factor, tuple(problems))


def _time(run: RunFacts) -> float:
    # Training rules: a run that fails ranks as the slowest, even if it stopped early
    return run.minutes if run.counts and run.minutes is not None else math.inf


def _parts(
    runs: Sequence[RunFacts], reasons: dict[int, str], dropped: int
) -> tuple[ScoredRun, ...]:
    indices = [i for i in range(len(runs)) if i not in reasons]
    indices.sort(key=lambda i: (_time(runs[i]), runs[i].name, i))
    rank = {index: position for position, index in enumerate(indices)}
    parts = [_part(run, i, rank, len(indices), reasons, dropped) for i, run in enumerate(runs)]
    return tuple(
        ScoredRun(run.name, run.minutes, role=role, why=reason)
        for run, (role, reason) in zip(runs, parts, strict=True)
    )


def _part(
    run: RunFacts, index: int, rank: dict[int, int], count: int, reasons: dict[int, str], drop: int
) -> tuple[Role, str]:
    if index in reasons:
        return "outside", reasons[index]
    if not run.counts:
        reason = run.refused or ("it has no time" if run.converged else "it did not converge")
        return "failed", f"{reason}: it counts as slowest"
    if rank[index] < drop:
        return "fastest", "dropped as fastest" if drop == 1 else f"among the {drop} fastest"
    if rank[index] >= count - drop:
        return "slowest", "dropped as slowest" if drop == 1 else f"among the {drop} slowest"
    return "scored", ""


def _launched(run: RunFacts) -> tuple[float, str]:
    return (math.inf if run.start_ms is None else run.start_ms, run.name)


def median_window(
    runs: Sequence[RunFacts], needed_runs: int, dropped: int
) -> tuple[list[RunFacts], dict[int, str]]:
    """The N scored runs among more than N, and the reasons for the others by index.

    Among all windows of N consecutive runs in order of launch, the window with the median score is
    used; for an even number of windows, the slower of the two in the middle. A window with too many
    failures has the worst score.
    """
    order = sorted(range(len(runs)), key=lambda i: (*_launched(runs[i]), i))
    windows = [order[start : start + needed_runs] for start in range(len(order) - needed_runs + 1)]
    scores = [olympic_mean([_time(runs[i]) for i in window], dropped) for window in windows]
    ranked = sorted(range(len(windows)), key=lambda index: (scores[index], index))
    window = windows[ranked[len(ranked) // 2]]
    reason = f"outside the median of {len(windows)} windows of {needed_runs} consecutive runs"
    return [runs[i] for i in window], {i: reason for i in order if i not in window}


def _first_converging(
    runs: Sequence[RunFacts], needed_runs: int
) -> tuple[list[RunFacts], dict[int, str]]:
    order = sorted(range(len(runs)), key=lambda i: (*_launched(runs[i]), i))
    chosen_indices = [i for i in order if runs[i].counts][:needed_runs]
    reason = f"not among the first {needed_runs} runs that converge"
    return [runs[i] for i in chosen_indices], {i: reason for i in order if i not in chosen_indices}


def score_throughput(
    usage: str,
    round_name: str,
    benchmark: str,
    runs: Sequence[RunFacts],
    total_scale: float | None = None,
) -> Throughput:
    """HPC's throughput of all instances, from the first start to the last stop.

    Scales are numbers of accelerators, or of nodes without accelerators. Instances that did not
    converge must be pruned: they are counted, as in the official tools, and reported as a problem.
    """
    problems = []
    needed_runs = find_round(usage, round_name).benchmark(benchmark).runs
    if len(runs) < needed_runs:
        problems.append(f"{there_are(len(runs), 'instance')}; throughput needs {needed_runs}")
    failed = sorted(run.name for run in runs if not run.counts)
    if failed:
        problems.append(f"these did not converge and must be pruned: {', '.join(failed)}")
    scales = {run.accelerators or run.nodes for run in runs}
    scale = next(iter(scales)) if len(scales) == 1 else None
    if len(scales) > 1:
        problems.append("the instances have different scales")
    if total_scale is not None and scale and not scale <= total_scale <= len(runs) * scale:
        problems.append(
            f"the system's scale {total_scale:.15g} must be at least that of one instance (S) and "
            "at most that of all instances (M * S)"
        )
    starts = [run.start_ms for run in runs if run.start_ms is not None]
    stops = [run.stop_ms for run in runs if run.stop_ms is not None]
    all_minutes = (max(stops) - min(starts)) / MINUTE_MS if starts and stops else None
    return Throughput(len(runs), scale, total_scale, all_minutes, tuple(problems))


def final_quality(runs: Sequence[RunFacts]) -> float | None:
    """Geometric mean of the runs' final quality, which the open division reports."""
    values = [run.quality for run in runs if run.quality is not None]
    # Only numbers above 0 have a geometric mean
    if not values or any(value <= 0 for value in values):
        return None
    from statistics import geometric_mean

    return geometric_mean(values)


def olympic_energy(score: Score, joules: Sequence[float | None]) -> float | None:
    """Mean energy in joules of the scored runs; runs dropped by time are dropped here, too.

    `joules` is each run's energy, in the order of the score's runs. None if a value is unknown.
    """
    energies = [
        energy for run, energy in zip(score.runs, joules, strict=True) if run.role == "scored"
    ]
    values = [energy for energy in energies if energy is not None]
    return mean_of(values) if values and len(values) == len(energies) else None
