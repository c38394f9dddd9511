"""Records that a rule needs but no log contains: all metrics of a checkpoint in one record."""

from __future__ import annotations

from typing import Any

from podium.logging_spec.reader.record import Record
from podium.rules.run import Run
from podium.rules.table import CannotJudge

GATHERED = "aggregated_eval_accuracy"


def gather_metrics(run: Run, unit: str) -> None:
    """Gather the eval_accuracy records that name a metric (FID, CLIP) by their checkpoint.

    Stable Diffusion logs each metric of a checkpoint separately, but its rules are about both.
    `unit` is the metadata member that identifies a checkpoint. Raises CannotJudge where the
    official verifier crashes.
    """
    groups: dict[Any, tuple[int, dict[str, Any]]] = {}
    for index in run.where.get("eval_accuracy", ()):
        metadata = run.records[index].metadata
        try:
            if "metric" not in metadata:
                continue
            checkpoint, metric = metadata[unit], metadata["metric"]
            _, value = groups.setdefault(checkpoint, (index, {unit: checkpoint}))
            value[metric] = run.records[index].value
        except (TypeError, KeyError) as error:
            reason = f"an eval_accuracy with a metric has no usable {unit} in its metadata"
            raise CannotJudge(index, reason) from error
    # A copy: other code reads the list of the log, which must not get derived records
    run.records = list(run.records)
    for index, value in groups.values():
        first = run.records[index]
        run.where.setdefault(GATHERED, []).append(len(run.records))
        run.origin[len(run.records)] = index
        run.records.append(Record(GATHERED, first.time_ms, value, first.metadata))
