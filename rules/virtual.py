"""Records that a rule needs but no log holds: the metrics of one checkpoint gathered in one."""

from __future__ import annotations

from typing import Any

from logging_spec.record import Record
from rules.benchmark import Benchmark
from rules.run import Run

GATHERED = "aggregated_eval_accuracy"


def add_virtual(run: Run, benchmark: Benchmark | None) -> None:
    """Gather eval_accuracy records that name a metric (FID, CLIP) by their checkpoint.

    Stable Diffusion logs each metric of a checkpoint on its own; its rules are about both.
    """
    if benchmark is None or benchmark.name != "stable_diffusion" or GATHERED in run.where:
        return
    unit = _unit(benchmark)
    groups: dict[Any, tuple[int, dict[str, Any]]] = {}
    for index in run.where.get("eval_accuracy", ()):
        record = run.records[index]
        if not isinstance(record.metadata, dict) or "metric" not in record.metadata:
            continue
        at = record.metadata.get(unit)
        key = repr(at)
        if key not in groups:
            groups[key] = (index, {unit: at})
        groups[key][1][str(record.metadata["metric"])] = record.value
    run.records = list(run.records)
    for index, value in groups.values():
        first = run.records[index]
        run.where.setdefault(GATHERED, []).append(len(run.records))
        run.records.append(Record(GATHERED, first.time_ms, value, first.metadata))


def _unit(benchmark: Benchmark) -> str:
    for line in benchmark.closed:
        if getattr(line, "key", None) is not None and line.key.name == GATHERED:  # type: ignore[union-attr]
            return next(c.name for c in line.each if c.name in ("step_num", "samples_count"))  # type: ignore
    return "samples_count"
