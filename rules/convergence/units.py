"""The position at which a run converged, converted to the unit of its benchmark."""

from __future__ import annotations

import math

from podium.rules.model.benchmark import ConvergenceRules
from podium.rules.model.schedule import Due, Schedule
from podium.rules.run import Run, as_number


def in_train_samples(run: Run) -> float | None:
    """The trained samples in the log of the run; None if it has no number."""
    record = run.last("train_samples")
    return None if record is None else as_number(record.value)


def in_unit(
    position: float,
    first: float | None,
    run: Run,
    batch: float | None,
    rules: ConvergenceRules,
    schedule: Schedule | None,
) -> float:
    """The position of an evaluation, logged as `position`, in the unit of the benchmark.

    `first` is the logged position of the first evaluation of the run, and `batch` the global batch
    size in samples. Positions whose unit is ambiguous stay unchanged.
    """
    if batch is None:
        return position
    # Small numbers are not samples: some logs of BERT count whole epochs there
    if rules.in_train_samples and position < batch:
        return _trained(run) or position
    if schedule is None or not first or first < 0:
        return position
    due = _nearest(schedule, batch, first)
    if due is None or due.epoch is None or due.unit == rules.unit:
        return position
    return position * due.epoch if rules.unit == "samples" else position / due.epoch


def _trained(run: Run) -> float | None:
    """The trained samples, if the run counts them at its end.

    Before its evaluations train_samples is the size of the data set.
    """
    evaluations, counts = run.where.get("eval_accuracy"), run.where.get("train_samples")
    if not evaluations or not counts or counts[-1] < evaluations[-1]:
        return None
    return in_train_samples(run)


def _nearest(schedule: Schedule, batch: float, first: float) -> Due | None:
    """The grid whose first evaluation is nearest, by ratio, to the first evaluation of a run."""
    # Epochs and samples differ by two orders of magnitude: a shift by some evaluations does not
    # make one look like the other
    # The batch size and the samples of a log may lead to a number below zero
    starting = [(due.first, due) for due in schedule.due(batch) if due.first and due.first > 0]
    if first <= 0 or not starting:
        return None
    return min(starting, key=lambda entry: abs(math.log(first / entry[0])))[1]
