"""Batch size and convergence as the written policy has them.

A run converges at the first evaluation that reaches the target (training rules, RCP Rules), and
only if it then stopped with success; an evaluation is found by its key alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from logging_spec.record import Record
from rules.catalogue import UnknownRound, find_round
from rules.convergence.reading import Reading, quality_number, says_success
from rules.convergence.verifier_reading import IN_SAMPLES
from rules.run import Run, as_number, metadata_of
from rules.table import CannotJudge, Row
from rules.virtual import GATHERED, gather_metrics

_SAMPLES = ("samples_count", "epoch_num", "step_num", "epoch")
_EPOCHS = ("epoch_num", "samples_count", "step_num", "epoch")


def read(
    run: Run, usage: str, round_name: str, benchmark: str | None, train_samples: bool = False
) -> Reading:
    """Batch size, convergence and final quality of a run."""
    reading = Reading(_batch_size(run), benchmark)
    run, targets, order = _targets(run, usage, round_name, benchmark)
    open_division = run.value("submission_division") == "open"
    stop = run.first("run_stop")
    success = says_success(stop) if stop is not None else False
    at, quality, reached = _passed(run, targets, open_division, order)
    reading.quality = quality
    won = run.first("eval_result")
    if won is not None:
        # MiniGo of 0.6 ends with the model that won; a run_stop may come hours later, or never.
        reading.converged, reading.quality = True, quality_number(won.value)
        reading.to_converge = as_number(metadata_of(won).get("iteration"))
        return reading
    reading.converged = stop is not None and success is not False and (reached or not targets)
    if reading.converged:
        reading.to_converge = _train_samples(run) if train_samples and benchmark == "bert" else at
    return reading


def _batch_size(run: Run) -> float | None:
    for key in ("global_batch_size", "train_batch_size"):
        number = run.number(key)
        if number is not None:
            return number
    return None


def _targets(
    run: Run, usage: str, round_name: str, benchmark: str | None
) -> tuple[Run, list[Row], tuple[str, ...]]:
    """The closed division's rows with a target, the run with what they look at, and its units.

    The units are the metadata members that place an evaluation, the one to go by first.
    """
    gathers, targets = _rows(usage, round_name, benchmark)
    order: tuple[str, ...] = _SAMPLES if benchmark in IN_SAMPLES else _EPOCHS
    if gathers:
        order = (gathers, *order)
    if gathers and GATHERED not in run.where:
        run = Run(run.records, run.line_of)
        try:
            gather_metrics(run, gathers)
        except CannotJudge:
            run = Run(run.records, run.line_of)
    return run, targets, order


@lru_cache(maxsize=1024)
def _rows(usage: str, round_name: str, benchmark: str | None) -> tuple[str, list[Row]]:
    """By what a benchmark's metrics are gathered, if they are, and its rows with a target."""
    try:
        known = find_round(usage, round_name).benchmarks.get(benchmark or "")
    except UnknownRound:
        known = None
    if known is None:
        return "", []
    rows = (line for line in known.closed if isinstance(line, Row))
    targets = [row.as_policy() for row in rows if row.some or row.policy_some]
    return known.gathers, [row for row in targets if row.some]


def _passed(
    run: Run, targets: list[Row], open_division: bool, order: tuple[str, ...]
) -> tuple[float | None, float | None, bool]:
    """Where the target was first reached, the final quality, and whether it was reached at all.

    The open division may stop as it likes: its last evaluation counts.
    """
    if not targets or open_division:
        last = _last_evaluation(run)
        quality = None if last is None else quality_number(last.value)
        return (None if last is None else _position(last, order)), quality, last is not None
    firsts = [_first_passing(row, run, order) for row in targets]
    passed = [record for record in firsts if record is not None]
    if len(passed) < len(firsts):
        last = run.last(targets[0].name)
        return None, (None if last is None else quality_number(last.value)), False
    places = (_position(record, order) for record in passed)
    positions = [at for at in places if at is not None]
    return max(positions, default=None), quality_number(passed[0].value), True


def _first_passing(row: Row, run: Run, order: tuple[str, ...]) -> Record | None:
    """The first record that reaches a row's target; of gathered metrics the earliest checkpoint."""
    ordered, run.ordered = run.ordered, False
    if row.name == GATHERED:
        found = (run.records[i] for i in run.where.get(row.name, ()) if row.reached(run, i))
        first = min(found, key=lambda record: _position(record, order) or 0.0, default=None)
    else:
        at = row.first_reached(run)
        first = None if at is None else run.records[at]
    run.ordered = ordered
    return first


def _last_evaluation(run: Run) -> Record | None:
    records = run.of("eval_accuracy") or run.of("eval_error")
    return records[-1] if records else None


def _position(record: Record, order: tuple[str, ...]) -> float | None:
    """How far training was, in the unit logged; 0.5 has the epoch in the value."""
    members: dict[str, Any] = metadata_of(record)
    if isinstance(record.value, dict) and "epoch" in record.value:
        members = {**record.value, **members}
    for name in order:
        number = as_number(members.get(name))
        if number is not None:
            return round(number, 3)
    return None


def _train_samples(run: Run) -> float | None:
    record = run.last("train_samples")
    return None if record is None else as_number(record.value)
