"""The plausibility of a result: dates, speed, scored checkpoints, and the batch of a device.

Only the policy has these rules: the official verifier compares only the seeds of runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Result
from podium.compliance.judging.results.rules.plausibility_rules import (
    CHECKPOINTS_LEFT_OUT,
    EARLY_RUNS,
    FUTURE_RUNS,
    NOT_SPREAD,
    OLD_RUNS,
    UNEVEN_SPEED,
)
from podium.rules.checks.disclosure import DEVICE_BATCHES
from podium.rules.checks.time_units import EARLIEST_MS
from podium.rules.convergence.spread import uneven
from podium.rules.finding import Finding
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.calendar import PUBLISHED, month_ms
from podium.rules.model.round import Round
from podium.rules.run import as_number

DAY_MS = 86_400_000.0

MONTHS_OF_REVIEW = 1
"""Approximate number of months from the due date of logs to the publication."""

OLDEST_YEARS = 3
"""The oldest accepted logs were two years old, resubmitted in HPC 3.0."""


def plausible(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    """Findings about implausible values in one result, at `path` in a report."""
    yield from _dates(verdict, path, context)
    yield from _speed(verdict, path, context)
    yield from _checkpoints(verdict, path, context)
    yield from _batch(verdict.result, context)


# --- dates ---


def _dates(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    rules = context.rules
    # Clocks that start at 0 or count seconds are reported with their logs
    runs = [
        (start, run)
        for run in verdict.result.runs
        if (start := run.facts.run.start_ms) is not None and start >= EARLIEST_MS
    ]
    if not runs:
        return
    for rule, first, end, fields in _wrong_periods(rules):
        matches = [
            (start, run) for start, run in runs if first <= start and (end is None or start < end)
        ]
        # One finding of a rule for all runs that began in its period
        if matches:
            start, run = matches[0]
            yield rule.found(
                context.profile,
                path,
                count=len(matches),
                total=len(verdict.result.runs),
                title=rules.title,
                name=run.name,
                date=_date(start),
                **fields,
            )


def _wrong_periods(rules: Round) -> list[tuple[FixedRule, float, float | None, dict[str, Any]]]:
    """Periods in which no run of a round can have begun: rule, begin, end, words for a finding."""
    published = PUBLISHED.get((rules.usage, rules.name))
    if published is None:
        # A round that is still open: only runs in the future are certainly wrong
        return [(FUTURE_RUNS, time.time() * 1000 + DAY_MS, None, {"event": "is checked"})]
    year, month = published
    too_old = month_ms(year - OLDEST_YEARS, month)
    oldest = month_ms(year - 1, month - MONTHS_OF_REVIEW)
    allowed = "logs of an earlier round need a notice"
    if not rules.package.resubmission:
        allowed = "check that these logs are not from an earlier round"
    return [
        (FUTURE_RUNS, month_ms(year, month + 1), None, {"event": "was published"}),
        (EARLY_RUNS, -math.inf, too_old, {"years": OLDEST_YEARS}),
        (OLD_RUNS, too_old, oldest, {"allowed": allowed}),
    ]


def _date(milliseconds: float) -> str:
    # The calendar of the C library does not have all years
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(milliseconds / 1000))
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds:g} ms"


# --- speed ---


def _speed(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    if verdict.result.weak:
        return  # instances share a system, and influence each other's speed
    uneven_runs = uneven([run.facts.run for run in verdict.result.runs])
    if uneven_runs:
        (name, share), *others = uneven_runs
        names = ", ".join(other.rpartition("/")[2] for other, _ in others[:5])
        yield UNEVEN_SPEED.found(
            context.profile,
            path,
            name=name.rpartition("/")[2],
            share=abs(share),
            word="faster" if share > 0 else "slower",
            more=f"; {names} also differ" if names else "",
        )


# --- checkpoints ---


def _checkpoints(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    result = verdict.result
    checkpoints = [(run.facts.checkpoints, run) for run in result.runs]
    pairs = [(counts, run) for counts, run in checkpoints if counts is not None]
    if not pairs or result.division == "open":
        return
    full_count = sum(scored >= due for (scored, due), _ in pairs)
    needed_count = math.ceil(len(result.runs) / 10)
    if full_count < needed_count:
        (scored, due), best_run = max(pairs, key=lambda item: item[0][0] / max(item[0][1], 1))
        yield CHECKPOINTS_LEFT_OUT.found(
            context.profile,
            path,
            full=full_count,
            total=len(result.runs),
            needed=needed_count,
            best=best_run.name,
            scored=scored,
            due=due,
        )


# --- batch ---


def _batch(result: Result, context: JudgingContext) -> Iterator[Finding]:
    """Compare the batch of a device, times accumulation, with the system description.

    If there are several accelerators for one part of the batch, the model is divided among them. If
    the log has no accumulation, a device may have processed its batch several times. Instances of a
    throughput result are smaller than their system and are not checked.
    """
    description = result.description
    accelerators = description.accelerators if description is not None else None
    if not accelerators or result.weak or not result.runs:
        return
    run = result.runs[0]
    settings = run.facts.settings.as_dict()
    batch = _count(settings, "global_batch_size")
    device = next((key.name for key in DEVICE_BATCHES if key.name in settings), None)
    device_count = _count(settings, device) if device is not None else None
    if device is None or batch is None or device_count is None:
        return
    steps = _count(settings, "gradient_accumulation_steps") or 1
    width = batch / (device_count * steps)
    # Widely used code processes a device's batch twice, and logs an accumulation of 1
    if _divides(width, accelerators) or (steps == 1 and _divides(accelerators, width)):
        return
    product = device if steps == 1 else f"{device} * gradient_accumulation_steps"
    yield NOT_SPREAD.found(
        context.profile,
        run.display_path,
        key=device,
        batch=f"{batch:.15g}",
        width=width,
        product=product,
        accelerators=accelerators,
    )


def _divides(part: float, total: float) -> bool:
    return total % part == 0


def _count(settings: Mapping[str, Any], key: str) -> float | None:
    number = as_number(settings.get(key))
    return number if number is not None and number > 0 else None
