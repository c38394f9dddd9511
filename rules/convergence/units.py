"""Where a run converged in the unit of its benchmark, of a log that counts in another."""

from __future__ import annotations

import math

from podium.rules.model.benchmark import ConvergenceRules
from podium.rules.model.schedule import Due, Schedule
from podium.rules.run import Run, as_number


def in_train_samples(run: Run) -> float | None:
    """The samples that the run says it trained, None where it gives no number."""
    record = run.last("train_samples")
    return None if record is None else as_number(record.value)


def in_unit(
    at: float,
    first: float | None,
    run: Run,
    batch: float | None,
    rules: ConvergenceRules,
    schedule: Schedule | None,
) -> float:
    """The place of an evaluation, `at` as logged, in the unit of the benchmark.

    `first` is the place of the run's first evaluation as logged, `batch` the global batch size in
    samples. What cannot be told apart stays as it is logged.
    """
    if batch is None:
        return at
    # So few samples are none: some logs of BERT count whole epochs there
    if rules.in_train_samples and at < batch:
        return _trained(run) or at
    if schedule is None or not first or first < 0:
        return at
    due = _nearest(schedule, batch, first)
    if due is None or due.epoch is None or due.unit == rules.unit:
        return at
    return at * due.epoch if rules.unit == "samples" else at / due.epoch


def _trained(run: Run) -> float | None:
    """The samples trained, if the run counts them at its end.

    Before its evaluations train_samples is the size of the data set.
    """
    evaluated, counted = run.where.get("eval_accuracy"), run.where.get("train_samples")
    if not evaluated or not counted or counted[-1] < evaluated[-1]:
        return None
    return in_train_samples(run)


def _nearest(schedule: Schedule, batch: float, first: float) -> Due | None:
    """The grid whose first evaluation is the nearest, by ratio, to the one that a run made."""
    # Epochs and samples lie two orders of magnitude apart: a shift by some evaluations does not
    # make the one look like the other
    # What a log gives as its batch size and its samples may lead below zero
    starting = [(due.first, due) for due in schedule.due(batch) if due.first and due.first > 0]
    if first <= 0 or not starting:
        return None
    return min(starting, key=lambda each: abs(math.log(first / each[0])))[1]
