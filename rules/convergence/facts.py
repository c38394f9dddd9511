"""The facts of one run that decide scores and convergence.

Times are minutes unless named `_ms` (milliseconds since 1970); `to_converge` is in `unit`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.benchmark_names import intended
from podium.rules.convergence import policy_reader, verifier_reader
from podium.rules.finding import Profile
from podium.rules.model.benchmark import Unit
from podium.rules.model.round import Round
from podium.rules.run import MINUTE_MS, Run, as_number, metadata_of


class RunFacts(msgspec.Struct):
    """One run of a result; never changed once made.

    `to_converge` is None if the run did not converge, and `minutes` if it has no start or stop.
    `nodes` and `accelerators` (of all nodes) are the logged values, or None. `quality` is the final
    value of the metric of the closed division. `refused` says why a converged run must not count,
    for example because its log violates rules; a run counts only if it is empty. `problem` names
    the value that crashes the official verifier.
    """

    name: str = ""
    benchmark: str | None = None
    division: str | None = None
    batch_size: float | None = None
    to_converge: float | None = None
    unit: Unit = "epochs"
    converged: bool = False
    minutes: float | None = None
    start_ms: float | None = None
    stop_ms: float | None = None
    init_minutes: float | None = None
    staging_minutes: float | None = None
    seeds: tuple[Any, ...] = ()
    nodes: float | None = None
    accelerators: float | None = None
    quality: float | None = None
    refused: str = ""
    problem: str = ""

    @property
    def counts(self) -> bool:
        """Whether the score uses the time of the run; otherwise it ranks as the slowest."""
        return self.converged and not self.refused and self.minutes is not None


def run_facts(
    run: Run,
    rules: Round,
    profile: Profile,
    name: str = "",
    train_samples: bool = False,
) -> RunFacts:
    """The facts of one run, read according to `profile`.

    The verifier uses the last evaluation before run_stop, the policy the first that reaches the
    target. `train_samples` is the flag that measures BERT in logged train_samples. For 0.5 and 0.6
    the run must include the leniently read records (`Log.all_records`).
    """
    benchmark = _text(run.value("submission_benchmark")) or _namespace(run)
    if profile is Profile.VERIFIER:
        reading = verifier_reader.read(run, rules, train_samples)
    else:
        # A log with another name of the benchmark is checked as a log of the benchmark
        benchmark = benchmark and (intended(benchmark, rules) or benchmark)
        reading = policy_reader.read(run, rules, benchmark, train_samples)
    start, stop = times(run, profile, policy_reader.winner(run, rules, benchmark))
    nodes = run.number("number_of_nodes")
    per_node = None if nodes is None else run.number("accelerators_per_node")
    # The verifier uses the value of the last record that mentions the key, of whatever type
    benchmark_name = reading.benchmark if isinstance(reading.benchmark, str) else benchmark
    return RunFacts(
        name=name,
        benchmark=benchmark_name,
        division=_text(run.value("submission_division")),
        batch_size=reading.batch_size,
        to_converge=reading.to_converge,
        unit=rules.benchmark(benchmark_name or "").convergence.unit,
        converged=reading.converged,
        minutes=None if start is None or stop is None else (stop - start) / MINUTE_MS,
        start_ms=start,
        stop_ms=stop,
        init_minutes=_between(run, "init_start", "init_stop"),
        staging_minutes=_between(run, "staging_start", "staging_stop"),
        seeds=tuple(record.value for record in run.of("seed")),
        nodes=nodes,
        accelerators=None if nodes is None or per_node is None else nodes * per_node,
        quality=reading.quality,
        problem=reading.problem,
    )


def times(
    run: Run, profile: Profile, winner: Record | None = None
) -> tuple[float | None, float | None]:
    """The start and end of the timed part, in milliseconds since 1970.

    According to the policy it lasts from the first run_start to the first run_stop after it, or to
    the `timestamp` of the winning model (seconds since run_start) if there is one. The official
    summary uses the last run_start before the first run_stop.
    """
    records = run.records
    starts, stops = run.where.get("run_start", ()), run.where.get("run_stop", ())
    if not starts:
        return None, records[stops[0]].time_ms if stops else None
    if profile is Profile.VERIFIER and stops:
        # A run_start inserted near the end shortens any run, and the verifier accepts it
        earlier = [index for index in starts if index < stops[0]]
        return records[earlier[-1] if earlier else starts[0]].time_ms, records[stops[0]].time_ms
    start_ms = records[starts[0]].time_ms
    seconds = None if winner is None else as_number(metadata_of(winner).get("timestamp"))
    if seconds is not None:
        return start_ms, start_ms + seconds * 1000
    later_stops = [index for index in stops if index > starts[0]]
    return start_ms, records[later_stops[0]].time_ms if later_stops else None


def _between(run: Run, opens: str, closes: str) -> float | None:
    first, last = run.first(opens), run.last(closes)
    # From the first rank that begins to the last rank that ends
    return None if first is None or last is None else (last.time_ms - first.time_ms) / MINUTE_MS


def _namespace(run: Run) -> str | None:
    # The lines of 0.5, and one dialect of 0.6, name the benchmark on every line.
    indices = run.where.get("run_start")
    return _text(run.records[indices[0]].namespace) if indices else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
