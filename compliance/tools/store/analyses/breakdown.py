"""A breakdown of the time of a training, and the parts in which a faster system saves time.

The parts are those of the joint analysis of MLPerf HPC: staging of data, evaluation, and training,
which is the epochs to converge times the time of each. Initialization is not timed and is listed
separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.compliance.tools.store.analyses.material import ResultRow, RunRow, mean, round_order
from podium.compliance.tools.store.analyses.table import Analysis, Shown

PARTS = ("staging", "evaluation", "training")

_BY = ("suite", "round", "model", "division")
COLUMNS = (
    *(*_BY, "submitter", "system", "chips", "minutes", "initialisation", "first_epoch", *PARTS),
    *("epochs", "epoch_seconds", "speedup", *(f"saved_{part}" for part in PARTS)),
    *("models", "models_per_minute", "result"),
)
SHOWN = (
    *(Shown("submitter"), Shown("chips"), Shown("minutes", "min", 5)),
    *(Shown("initialisation", "init", 3), Shown("staging", "stage", 3)),
    *(Shown("evaluation", "eval", 3), Shown("training", "train")),
    *(Shown("epochs", digits=3), Shown("epoch_seconds", "s/epoch", 4)),
    *(Shown("speedup", "x", 3),),
)

NOTES = (
    (
        "Minutes, means of the scored runs: min = staging + evaluation + training; init is before "
        "them. epochs: epochs to converge; s/epoch: training over epochs."
    ),
    (
        "x: speedup over the slowest of the same round, model and division. CSV and JSON also have "
        "the share of each part in the time saved (saved_…), and models per minute."
    ),
)


def breakdown(results: Sequence[ResultRow], *, suite: str | None = "hpc") -> Analysis:
    """The parts of each result's time, and their shares in the time saved."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for result in results:
        if suite is not None and result.suite != suite:
            continue
        row = _row(result)
        if row is not None:
            key = tuple(getattr(result, name) for name in _BY)
            groups.setdefault(key, []).append(row)
    rows = []
    for key in sorted(groups, key=lambda item: (item[0], round_order(item[1]), item[2:])):
        group = sorted(groups[key], key=lambda row: -(row["minutes"] or 0.0))
        rows += [row | _saved(group[0], row) for row in group]
    title = "Breakdown of the time to train"
    return Analysis("breakdown", title, COLUMNS, rows, _BY, SHOWN, NOTES)


def _row(result: ResultRow) -> dict[str, Any] | None:
    runs = result.scored or result.counted
    minutes = mean([run.minutes for run in runs])
    if minutes is None:
        return None
    parts = {
        "staging": mean([run.staging_minutes or 0.0 for run in runs]),
        "evaluation": mean([run.evaluation_minutes or 0.0 for run in runs]),
        "training": mean([run.training_minutes for run in runs]),
    }
    epochs = mean([_epochs(result, run) for run in runs])
    trained = parts["training"]
    columns = (*_BY, "submitter", "system", "chips", "models", "models_per_minute", "result")
    return {
        **{name: getattr(result, name) for name in columns},
        "minutes": minutes,
        "initialisation": mean([run.init_minutes for run in runs]),
        "first_epoch": mean([run.first_epoch_minutes for run in runs]),
        **parts,
        "epochs": epochs,
        "epoch_seconds": trained * 60 / epochs if trained is not None and epochs else None,
    }


def _epochs(result: ResultRow, run: RunRow) -> float | None:
    return run.to_converge if result.unit == "epochs" else float(run.epochs) if run.epochs else None


def _saved(slowest: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """The speedup, and the share of each part in the time saved; the shares add up to 1."""
    saving = slowest["minutes"] - row["minutes"]
    speedup = slowest["minutes"] / row["minutes"] if row["minutes"] else None
    if row is slowest or not saving:
        return {"speedup": speedup}
    shares = {f"saved_{part}": (slowest[part] - row[part]) / saving for part in PARTS}
    return {"speedup": speedup, **shares}
