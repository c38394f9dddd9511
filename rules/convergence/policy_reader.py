"""Batch size and convergence according to the written policy.

A run converges at the first evaluation that reaches the target (training rules, RCP Rules), and
only if it then stops with success. Only the key identifies an evaluation.
"""

from __future__ import annotations

from typing import Any

from podium.logging_spec.reader.record import Record
from podium.rules.convergence.observation import Reading, quality_number, says_success
from podium.rules.convergence.units import in_train_samples, in_unit
from podium.rules.derived_records import GATHERED, gather_metrics
from podium.rules.model.round import Round
from podium.rules.run import Run, as_number, metadata_of
from podium.rules.table import CannotJudge, Row

_POSITIONS = ("epoch_num", "samples_count", "step_num", "epoch")
"""Metadata members with the position of an evaluation; the benchmark says which comes first."""


def read(run: Run, rules: Round, benchmark: str | None, train_samples: bool = False) -> Reading:
    """Batch size, convergence and final quality of a run."""
    size = run.number("global_batch_size")
    if size is None:
        # Since 0.7 MiniGo's rules require train_batch_size instead
        size = run.number("train_batch_size")
    reading = Reading(size, benchmark)
    definition = rules.benchmark(benchmark or "")
    # The benchmark as it is named: an older name has no targets
    named = rules.benchmarks.get(benchmark or "")
    gathers, targets = ("", ()) if named is None else (named.gathers, named.targets)
    order = (gathers or definition.convergence.position, *_POSITIONS)
    if gathers:
        run = _gathered(run, gathers)
    offline = rules.limits.offline(definition.name)
    reading.quality, point, reached = _passed(run, targets, order, offline)
    model = winner(run, rules, benchmark)
    if model is not None:
        reading.converged, reading.quality = True, quality_number(model.value)
        reading.to_converge = as_number(metadata_of(model).get("iteration"))
        return reading
    stop = run.first("run_stop")
    # One submitter of 0.6 reports nothing: then only the target decides
    stopped = stop is not None and says_success(stop) is not False
    reading.converged = stopped and (reached or not targets)
    if not reading.converged:
        return reading
    if train_samples and definition.convergence.in_train_samples:
        reading.to_converge = in_train_samples(run)
    elif point is not None:
        schedule = rules.limits.evaluates.get(definition.name)
        evaluation = run.first("eval_accuracy")
        first = None if evaluation is None else _position(evaluation, order)
        reading.to_converge = in_unit(point, first, run, size, definition.convergence, schedule)
    return reading


def winner(run: Run, rules: Round, benchmark: str | None) -> Record | None:
    """The record of the winning model, if runs of the benchmark end with it and not with run_stop.

    After 0.6 MiniGo also logs eval_result, even for a run that stops below the target.
    """
    definitions = rules.benchmarks.values() if benchmark is None else (rules.benchmark(benchmark),)
    # The record identifies a log without a benchmark: only one benchmark of its round has it
    records = (
        run.first(definition.ends_with) for definition in definitions if definition.ends_with
    )
    return next((record for record in records if record is not None), None)


def _gathered(run: Run, gathers: str) -> Run:
    """The run with its metrics gathered by a member of their metadata, as far as possible."""
    if GATHERED in run.where:
        return run
    # A separate run: gathering adds records that the rules of the caller must not see
    run = Run(run.records, run.line_of)
    try:
        gather_metrics(run, gathers)
    except CannotJudge:
        run = Run(run.records, run.line_of)
    return run


def _passed(
    run: Run, targets: tuple[Row, ...], order: tuple[str, ...], offline: bool
) -> tuple[float | None, float | None, bool]:
    """The final quality, the position at which the target was reached, and whether it was reached.

    The open division may stop at any time: its last evaluation counts.
    """
    if not targets or run.value("submission_division") == "open":
        last = _last_evaluation(run)
        if last is None:
            return None, None, False
        return quality_number(last.value), _position(last, order), True
    records = []
    for row in targets:
        first = _first_passing(row, run, order, offline)
        if first is None:
            last = run.last(targets[0].name)
            return (None if last is None else quality_number(last.value)), None, False
        records.append(first)
    # A run with several targets converges when the last of them is reached
    points = [_position(record, order) for record in records]
    positions = [point for point in points if point is not None]
    return quality_number(records[0].value), max(positions, default=None), True


def _first_passing(row: Row, run: Run, order: tuple[str, ...], offline: bool) -> Record | None:
    """The first record that reaches the target of a row; for checkpoints, in training order."""
    # The policy requires no order: values of a target's formula may be logged after the evaluation
    ordered, run.ordered = run.ordered, False
    if offline or row.name == GATHERED:
        records = (run.records[i] for i in run.where.get(row.name, ()) if row.reached(run, i))
        # Checkpoints are evaluated in any order: the earliest in training counts, not in the file
        first = min(records, key=lambda record: _position(record, order) or 0.0, default=None)
    else:
        index = row.first_reached(run)
        first = None if index is None else run.records[index]
    run.ordered = ordered
    return first


def _last_evaluation(run: Run) -> Record | None:
    records = run.of("eval_accuracy") or run.of("eval_error")
    return records[-1] if records else None


def _position(record: Record, order: tuple[str, ...]) -> float | None:
    """The training position in the logged unit; 0.5 has the epoch in the value."""
    members: dict[str, Any] = metadata_of(record)
    if isinstance(record.value, dict) and "epoch" in record.value:
        members = {**record.value, **members}
    for name in order:
        number = as_number(members.get(name))
        if number is not None:
            # The official verifier keeps this number of decimals of an epoch
            return round(number, 3)
    return None
