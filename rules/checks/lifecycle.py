"""The phases of a run: its markers, its clock, its status, and the state of its caches."""

from __future__ import annotations

from collections.abc import Iterator

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import TRAINING, minutes, status_of, times
from podium.rules.checks.watch import again, on
from podium.rules.consequences import OF_REPEATED_RECORDS, Follows, Reach
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity
from podium.rules.run import MINUTE_MS, Run
from podium.rules.table import Violation

MARKERS = ("run_start", "run_stop", "init_stop")


def _begun(run: Run, record: Record) -> bool:
    """Whether a marker precedes this init_start; otherwise the record cannot be late."""
    return record.key != "init_start" or not run.where.keys().isdisjoint(MARKERS)


# Accepted logs of 0.6 to 2.0 have "abort", and every tool reads it as "aborted"
ABORTED = (k.ABORTED, "abort")
KNOWN_STATUSES = (*k.STATUSES, *ABORTED)


@check(
    "run.repeated-marker",
    follows=OF_REPEATED_RECORDS,
    says="run_start, run_stop and init_stop each mark one moment of a run",
    cites=TRAINING + "Run Results",
    bad=excerpt(at(0, "run_start"), at(59, "run_start"), at(60, "run_stop", status="success")),
    good=excerpt(at(0, "run_start"), at(60, "run_stop", status="success")),
    watches=(on(*MARKERS, when=again),),
)
def repeated_marker(run: Run, _: Context) -> Iterator[Violation]:
    """The score is the time between two moments.

    A log with a second run_start can be read as a run of either length, and the official summary
    uses the last run_start before run_stop. Repeats that are equal in all fields, including the
    time, are harmless: several processes log them, or one line is written twice.
    """
    for marker in MARKERS:
        indices = run.where.get(marker, ())
        if len(indices) < 2:
            continue
        first = run.records[indices[0]]
        for index in indices[1:]:
            record = run.records[index]
            # Equal values prove nothing: markers have the value null, so the official verifier
            # accepts any number of them as equal repeats and only warns
            if (record.time_ms, record.value, record.metadata) != (
                first.time_ms,
                first.value,
                first.metadata,
            ):
                gap = minutes(record.time_ms - first.time_ms)
                yield Violation(
                    index,
                    f"{marker} is logged {len(indices)} times, again {gap} after the first; must "
                    "mark one moment",
                    "one moment",
                    len(indices),
                    f"log {marker} once, from one process, and keep the records of one attempt",
                )
                break


@check(
    "run.unknown-status",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="the metadata of run_stop states whether the run ended in success or was aborted",
    cites=TRAINING + "Benchmark Results",
    bad=at(60, "run_stop", status="done"),
    good=at(60, "run_stop", status="success"),
    watches=(on("run_stop"),),
)
def unknown_status(run: Run, _: Context) -> Iterator[Violation]:
    """The status decides whether a run counts as converged. Any other word is ambiguous."""
    records = run.records
    for index in run.where.get("run_stop", ()):
        metadata = records[index].metadata
        if isinstance(metadata, dict) and "status" in metadata:
            status = metadata["status"]
            if status not in KNOWN_STATUSES:
                expected = " or ".join(k.STATUSES)
                yield Violation(
                    index,
                    f"the status of run_stop is {show(status)}; must be {expected}",
                    expected,
                    status,
                    "log success if the run reached the target, otherwise aborted",
                )


@check(
    "run.not-converged",
    follows=(
        *OF_REPEATED_RECORDS,
        Follows("result.not-converged", Reach.RESULT),
    ),
    key="run_stop",
    says="an aborted run counts as not converged",
    cites=TRAINING + "Benchmark Results",
    severity=Severity.NOTE,
    bad=at(60, "run_stop", status="aborted"),
    good=at(60, "run_stop", status="success"),
    watches=(on("run_stop"),),
)
def not_converged(run: Run, _: Context) -> Iterator[Violation]:
    """A result may contain one run that did not converge, which counts as its slowest run."""
    stop = status_of(run)
    if stop is not None and stop[1] in ABORTED:
        yield Violation(
            stop[0],
            f"the status of run_stop is {show(stop[1])}; must be success for the run to count as "
            "converged",
            k.SUCCESS,
            stop[1],
            "count this run as the slowest of its result, or run it again as the policy allows",
        )


def init_limit(context: Context) -> float | None:
    """Minutes from the first init_start to run_start that the division allows."""
    if context.division == "open":
        return context.limits.init_open
    # Extra minutes of a benchmark extend the limit of the closed division; open has 4 hours
    extended_limit = context.benchmark.init_minutes if context.benchmark is not None else None
    return extended_limit or context.limits.init_closed


@check(
    "run.late-start",
    follows=OF_REPEATED_RECORDS,
    key="run_start",
    says="run_start is logged before the time limit for initialization",
    cites=TRAINING + "Run Results",
    bad=excerpt(at(0, "init_start"), at(10, "init_stop"), at(100, "run_start")),
    good=excerpt(at(0, "init_start"), at(10, "init_stop"), at(11, "run_start")),
    by_benchmark=True,
    watches=(on("init_start", "run_start", when=_begun),),
)
def late_start(run: Run, context: Context) -> Iterator[Violation]:
    """The clock starts when the data is first read, or at the time limit for initialization.

    The official verifier checks only init_stop and misses a later run_start.
    """
    limit = init_limit(context)
    init_starts, start = times(run, "init_start"), run.first("run_start")
    if limit is None or not init_starts or start is None:
        return
    # Every rank logs an init_start, in any order: initialization begins with the earliest
    duration = start.time_ms - min(init_starts)
    # The policy lets the clock start at the limit itself; the verifier requires init_stop strictly
    # before it
    if duration > limit * MINUTE_MS:
        yield Violation(
            run.where["run_start"][0],
            f"run_start is {minutes(duration)} after the first init_start; must be at most "
            f"{limit:g} min after it",
            f"at most {limit:g} min",
            round(duration / MINUTE_MS, 2),
            "shorten compilation and staging, or log run_start when the time limit is reached",
        )


@check(
    "run.times-not-physical",
    follows=OF_REPEATED_RECORDS,
    says="init_start, init_stop, run_start and run_stop have increasing times",
    cites=TRAINING + "Run Results",
    bad=excerpt(at(60, "run_start"), at(1, "run_stop", status="success")),
    good=excerpt(at(1, "run_start"), at(60, "run_stop", status="success")),
    watches=(on("init_start", *MARKERS, when=_begun),),
)
def times_not_physical(run: Run, _: Context) -> Iterator[Violation]:
    """The score is a difference of times, but the official verifier checks the order of lines.

    A run_stop with an earlier time than run_start would give a negative score.
    """
    init_starts, init_stops = times(run, "init_start"), times(run, "init_stop")
    start, stop = run.first("run_start"), run.first("run_stop")
    if init_starts and init_stops and init_stops[0] < min(init_starts):
        yield _out_of_order(
            run, "init_stop", "the first init_start", min(init_starts) - init_stops[0]
        )
    if start is not None and init_stops and start.time_ms < init_stops[0]:
        yield _out_of_order(run, "run_start", "init_stop", init_stops[0] - start.time_ms)
    elif start is not None and init_starts and start.time_ms < min(init_starts):
        yield _out_of_order(
            run, "run_start", "the first init_start", min(init_starts) - start.time_ms
        )
    if start is not None and stop is not None and stop.time_ms <= start.time_ms:
        yield _out_of_order(run, "run_stop", "run_start", start.time_ms - stop.time_ms)


def _out_of_order(run: Run, key: str, other: str, lead: float) -> Violation:
    relation = f"{minutes(lead)} before" if lead else "the same as"
    return Violation(
        run.where[key][0],
        f"the time of {key} is {relation} the time of {other}; must be later",
        f"after {other}",
        lead and -lead,
        "take time_ms from one clock, at the moment of the event",
    )


@check(
    "run.cache-not-cleared",
    follows=OF_REPEATED_RECORDS,
    key="cache_clear",
    says="caches are cleared before the run starts",
    cites=TRAINING + "Data State at Start of Run",
    bad=excerpt(at(0, "cache_clear", False), at(1, "run_start")),
    good=excerpt(at(0, "cache_clear", True), at(1, "run_start")),
    watches=(on("cache_clear", "run_start"),),
)
def cache_not_cleared(run: Run, _: Context) -> Iterator[Violation]:
    """Data that an earlier run left in memory takes no time to read.

    Many logs give cache_clear no value; the record itself then states that caches were cleared.
    """
    indices = run.where.get("cache_clear")
    if not indices:
        return
    records = run.records
    for index in indices:
        value = records[index].value
        # One dialect of 0.7 writes booleans as strings
        if value is False or (isinstance(value, str) and value.lower() == "false"):
            yield Violation(
                index,
                f"cache_clear is {show(value)}; must be true",
                "true",
                value,
                "clear the caches of the operating system before each run, then log true",
            )
            return
    start = run.first("run_start")
    # Each node logs its record, some at the end of the file: the earliest time counts, not the line
    delay = start is not None and min(times(run, "cache_clear")) - start.time_ms
    # A run_start before init_stop has the wrong time, which `run.times-not-physical` reports
    init_stops = times(run, "init_stop")
    if delay and delay > 0 and not (start and init_stops and start.time_ms < init_stops[0]):
        yield Violation(
            indices[0],
            f"the first cache_clear is {minutes(delay)} after run_start; must be before it",
            "before run_start",
            delay,
            "clear the caches before the run starts, and log cache_clear there",
        )


CHECKS = (
    repeated_marker,
    unknown_status,
    not_converged,
    late_start,
    times_not_physical,
    cache_not_cleared,
)
