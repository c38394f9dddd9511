"""The training outcomes in a log: numbers that identify the run, and scored checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from podium.rules.checks.points import evaluations
from podium.rules.convergence.facts import RunFacts
from podium.rules.model.round import Round
from podium.rules.run import Run, as_number, metadata_of

LEAST_NUMBERS = 4
"""The least number of different numbers that identify a run."""

LEAST_DIGITS = 6
"""The least number of digits of such a number: two similar runs may both round to 0.7201."""

MOST_OUTCOMES, MOST_LOSSES = 200, 20

_LOSSES = ("train_loss", "tracked_stats")
_MEMBERS = ("train_loss", "loss")


def learned_by(run: Run) -> int | None:
    """A hash of a run's outcomes and first losses; None if too few of them have many digits.

    Times are not included: a copy may have a different clock, faster or slower.
    """
    values = [run.records[index].value for index in evaluations(run)[:MOST_OUTCOMES]]
    for key in _LOSSES:
        for index in run.where.get(key, ())[:MOST_LOSSES]:
            value = run.records[index].value
            values += [value.get(name) for name in _MEMBERS] if type(value) is dict else [value]
    numbers = [*_numbers(values)]
    long_numbers: set[float] = set()
    # In most runs the first few numbers suffice
    for number in numbers:
        digits = repr(abs(number)).partition("e")[0].replace(".", "").strip("0")
        if len(digits) >= LEAST_DIGITS:
            long_numbers.add(number)
            if len(long_numbers) == LEAST_NUMBERS:
                # Only floats, whose hash is the same in every process
                return hash(tuple(numbers))
    return None


def _numbers(values: Iterable[Any]) -> Iterator[float]:
    for value in values:
        if type(value) is float:
            yield value
        elif type(value) is dict:
            yield from _numbers(value.values())
        elif (number := as_number(value)) is not None:
            yield number


def scored_checkpoints(run: Run, rules: Round, facts: RunFacts) -> tuple[int, int] | None:
    """The number of checkpoints until the target with all metrics, and the number of all of them.

    None for a benchmark that evaluates during the run, and for a run that does not converge.
    """
    schedule = rules.limits.evaluates.get(facts.benchmark or "")
    member = rules.benchmark(facts.benchmark or "").gathers
    batch, reached = facts.batch_size, facts.to_converge
    if schedule is None or not (schedule.offline and member and batch and reached):
        return None
    due_points = schedule.due(batch)
    if not due_points:
        return None
    metrics: dict[float, set[Any]] = {}
    for index in evaluations(run):
        metadata = metadata_of(run.records[index])
        position = as_number(metadata.get(member))
        if position is not None and 0 < position <= reached:
            metrics.setdefault(position, set()).add(str(metadata.get("metric")))
    most_metrics = max(map(len, metrics.values()), default=0)
    scored = sum(len(names) == most_metrics for names in metrics.values())
    # Steps in the first round of the benchmark, samples later
    interval = due_points[0].interval / (batch if member == "step_num" else 1.0)
    return scored, round(reached / interval)
