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
from podium.rules.quirks import quirks_of
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
    known = rules.benchmark(benchmark)
    needed, dropped = known.runs, known.dropped
    chosen = list(runs)
    outside: dict[int, str] = {}
    problems: list[str] = []
    if quirks_of(profile).counts_all_runs:
        pass
    elif known.first_converging:
        chosen, outside = _first_converging(runs, needed)
    elif len(runs) > needed and rules.package.median_window:
        chosen, outside = median_window(runs, needed, dropped)
    if len(chosen) < needed:
        problems.append(f"{there_are(len(chosen), 'run')}; a result needs {needed}")
    score = _score(chosen, needed, dropped, factor or Factor(), problems)
    return replace(score, runs=_parts(runs, outside, dropped))


def _score(
    chosen: list[RunFacts], needed: int, dropped: int, factor: Factor, problems: list[str]
) -> Score:
    times = [_time(run) for run in chosen]
    mean = olympic_mean(times, dropped) if len(times) > 2 * dropped else math.nan
    failed = sum(math.isinf(time) for time in times)
    if failed > dropped:
        problems.append(f"{failed} of {len(times)} runs failed; at most {dropped} may")
    elif math.isnan(mean):
        problems.append(f"{len(times)} runs leave none after {dropped} at each end are dropped")
    minutes = mean if math.isfinite(mean) else None
    return Score(minutes, (), needed, dropped, factor, tuple(problems))


def _time(run: RunFacts) -> float:
    # Training rules: a run that fails ranks as the slowest, even if it stopped early
    return run.minutes if run.counts and run.minutes is not None else math.inf


def _parts(
    runs: Sequence[RunFacts], outside: dict[int, str], dropped: int
) -> tuple[ScoredRun, ...]:
    inside = [i for i in range(len(runs)) if i not in outside]
    inside.sort(key=lambda i: (_time(runs[i]), runs[i].name, i))
    rank = {index: place for place, index in enumerate(inside)}
    parts = [_part(run, i, rank, len(inside), outside, dropped) for i, run in enumerate(runs)]
    return tuple(
        ScoredRun(run.name, run.minutes, role=role, why=why)
        for run, (role, why) in zip(runs, parts, strict=True)
    )


def _part(
    run: RunFacts, index: int, rank: dict[int, int], count: int, outside: dict[int, str], drop: int
) -> tuple[Role, str]:
    if index in outside:
        return "outside", outside[index]
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
    runs: Sequence[RunFacts], needed: int, dropped: int
) -> tuple[list[RunFacts], dict[int, str]]:
    """The N scored runs among more than N, and the reasons for the others by index.

    Among all windows of N consecutive runs in order of launch, the window with the median score is
    used; for an even number of windows, the slower of the two in the middle. A window with too many
    failures has the worst score.
    """
    order = sorted(range(len(runs)), key=lambda i: (*_launched(runs[i]), i))
    windows = [order[at : at + needed] for at in range(len(order) - needed + 1)]
    scores = [olympic_mean([_time(runs[i]) for i in window], dropped) for window in windows]
    ranked = sorted(range(len(windows)), key=lambda at: (scores[at], at))
    window = windows[ranked[len(ranked) // 2]]
    why = f"outside the median of {len(windows)} windows of {needed} consecutive runs"
    return [runs[i] for i in window], {i: why for i in order if i not in window}


def _first_converging(
    runs: Sequence[RunFacts], needed: int
) -> tuple[list[RunFacts], dict[int, str]]:
    order = sorted(range(len(runs)), key=lambda i: (*_launched(runs[i]), i))
    chosen = [i for i in order if runs[i].counts][:needed]
    why = f"not among the first {needed} runs that converge"
    return [runs[i] for i in chosen], {i: why for i in order if i not in chosen}


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
    needed = find_round(usage, round_name).benchmark(benchmark).runs
    if len(runs) < needed:
        problems.append(f"{there_are(len(runs), 'instance')}; throughput needs {needed}")
    failed = sorted(run.name for run in runs if not run.counts)
    if failed:
        problems.append(f"these did not converge and must be pruned: {', '.join(failed)}")
    scales = {run.accelerators or run.nodes for run in runs}
    scale = next(iter(scales)) if len(scales) == 1 else None
    if len(scales) > 1:
        problems.append("the instances have different scales")
    if total_scale is not None and scale and not scale <= total_scale <= len(runs) * scale:
        problems.append(f"the system's scale {total_scale:.15g} must be between S and M * S")
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
    kept = [energy for run, energy in zip(score.runs, joules, strict=True) if run.role == "scored"]
    known = [energy for energy in kept if energy is not None]
    return mean_of(known) if known and len(known) == len(kept) else None
