"""The part of each log that a store keeps: records as columns, and phases.

It is made in the process that reads the log. The rows are sent as an Arrow batch, whose columns
need no object for each value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from podium.compliance.files.optional_imports import needed
from podium.compliance.judging.files import Task
from podium.logging_spec.reader.read import Log
from podium.logging_spec.reader.record import Record
from podium.rules.checks.points import evaluations, position
from podium.rules.run import MINUTE_MS, Run, as_number, metadata_of

EXTRA = "results"
"""The extra that installs the libraries for a store."""

TYPES = {
    str: "text",
    float: "number",
    int: "number",
    bool: "truth",
    list: "list",
    dict: "object",
    type(None): "null",
}

EVALUATION = ("line", "number", "time_ms", "minutes", "metric", "value", "position", "unit")
"""The columns of a log's evaluations."""

_encode_lines = msgspec.json.Encoder().encode_lines


class LogRows(msgspec.Struct, frozen=True):
    """One log: records and evaluations as batches of columns, and the values of the runs table.

    `line` is the line of `run_start`, 1 without one; times are minutes.
    """

    batch: Any
    evaluations: Any
    line: int = 1
    first_epoch: float | None = None
    evaluating: float | None = None
    epochs: int = 0


def take(task: Task, log: Log) -> LogRows | None:
    """The part of a log that a store keeps, including leniently read records."""
    if task.kind != "log":
        return None
    arrow = needed("pyarrow", "a store", EXTRA)
    lines, records = _placed(log)
    run = Run(records, lambda index: lines[index])
    starts = run.where.get("run_start", ())
    start_ms = records[starts[0]].time_ms if starts else None
    epochs = run.where.get("epoch_start", ())
    return LogRows(
        _batch(lines, records, arrow),
        _evaluations(run, start_ms, arrow),
        lines[starts[0]] if starts else 1,
        _since(start_ms, records[epochs[0]].time_ms) if epochs else None,
        _evaluating(run, start_ms),
        len({repr(position(records[index], ("epoch_num",)) or index) for index in epochs}),
    )


def _placed(log: Log) -> tuple[list[int], list[Record]]:
    """The file line of every record, and the records."""
    if log.places is None and not log.lenient:
        # True for nearly all logs; avoids creating millions of pairs
        return [*log.lines], log.records
    numbered_records = log.all_records()
    return [line for line, _ in numbered_records], [record for _, record in numbered_records]


# --- records --------------------------------------------------------------------------------------


def _batch(lines: list[int], records: list[Record], arrow: Any) -> Any:
    values = [record.value for record in records]
    text = arrow.string()
    columns = [
        arrow.array(lines, arrow.int64()),
        _texts([record.key for record in records], arrow),
        arrow.array([record.time_ms for record in records], arrow.float64()),
        _texts([_word(record.event_type) for record in records], arrow),
        _texts(_shown(values), arrow),
        arrow.array([TYPES.get(type(value), "object") for value in values], text),
        arrow.array([*map(as_number, values)], arrow.float64()),
        _texts(_as_json([record.metadata for record in records]), arrow),
    ]
    names = ["line", "key", "time_ms", "event", "value", "type", "number", "metadata"]
    return arrow.record_batch(columns, names)


def _texts(values: Sequence[str | bytes | None], arrow: Any) -> Any:
    try:
        return arrow.array(values, arrow.string())
    # Half a surrogate pair, which JSON can escape, has no UTF-8 encoding
    except UnicodeEncodeError:
        return arrow.array([_encoded(value) for value in values], arrow.string())


def _encoded(value: str | bytes | None) -> bytes | None:
    return value.encode("utf-8", "replace") if isinstance(value, str) else value


def _word(value: Any) -> str | None:
    return value if type(value) is str else None


def _shown(values: list[Any]) -> list[str | bytes | None]:
    written = _as_json(values)
    return [
        value if type(value) is str else None if value is None else text
        for value, text in zip(values, written, strict=True)
    ]


def _as_json(values: list[Any]) -> Sequence[str | bytes]:
    """Each value as JSON on one line, non-finite numbers as Python writes them."""
    try:
        written = _encode_lines(values)
    except (UnicodeEncodeError, OverflowError):
        return [*map(json_line, values)]
    lines = written.split(b"\n")[:-1]
    if b"null" not in written:
        return lines
    # NaN has become null; most nulls were nulls before
    return [
        json_line(value) if value is not None and b"null" in line else line
        for value, line in zip(values, lines, strict=True)
    ]


def json_line(value: Any) -> str:
    """Any value as JSON on one line; NaN and Infinity as Python writes them."""
    return json.dumps(value, separators=(",", ":"), default=str)


# --- phases ---------------------------------------------------------------------------------------


def _since(start_ms: float | None, time: float) -> float | None:
    return None if start_ms is None else (time - start_ms) / MINUTE_MS


def _evaluations(run: Run, start_ms: float | None, arrow: Any) -> Any:
    rows = [_evaluation(run, index, start_ms) for index in evaluations(run)]
    columns = [*zip(*rows, strict=True)] or [()] * 7
    lines, times, minutes, metrics, values, positions, units = columns
    number, text = arrow.float64(), arrow.string()
    arrays = [
        arrow.array(lines, arrow.int64()),
        arrow.array(range(1, len(rows) + 1), arrow.int64()),
        *(arrow.array(column, number) for column in (times, minutes)),
        _texts(metrics, arrow),
        *(arrow.array(column, number) for column in (values, positions)),
        arrow.array(units, text),
    ]
    return arrow.record_batch(arrays, [*EVALUATION])


def _evaluation(run: Run, index: int, start_ms: float | None) -> tuple[Any, ...]:
    record = run.records[index]
    metric, value, progress = metadata_of(record).get("metric"), record.value, position(record)
    # 0.5 logs {"epoch": 0, "value": 0.53}
    if isinstance(value, dict):
        epoch = as_number(value.get("epoch"))
        progress = progress or (None if epoch is None else ("epoch", epoch))
        value = value.get("value")
    unit, distance = progress or (None, None)
    name = metric if isinstance(metric, str) else record.key
    time = record.time_ms
    return run.line(index), time, _since(start_ms, time), name, as_number(value), distance, unit


def _evaluating(run: Run, start_ms: float | None) -> float | None:
    """Minutes between eval_start and eval_stop while the run is timed; None if none is logged.

    Several processes may log one evaluation: the first start opens it, the first stop closes it.
    """
    stops = run.where.get("run_stop", ())
    first = -math.inf if start_ms is None else start_ms
    last = run.records[stops[0]].time_ms if stops else math.inf
    marks = sorted(
        (run.records[index].time_ms, index, key)
        for key in ("eval_start", "eval_stop")
        for index in run.where.get(key, ())
    )
    start: float | None = None
    spent, closed = 0.0, 0
    for time, _, key in marks:
        if key == "eval_start":
            start = time if start is None and first <= time <= last else start
        elif start is not None:
            spent, start, closed = spent + min(time, last) - start, None, closed + 1
    return spent / MINUTE_MS if closed and math.isfinite(spent) else None
