"""The evaluation schedule of each HPC benchmark in the closed division; no round changed it."""

from __future__ import annotations

from collections.abc import Mapping

from podium.rules.constraints.benchmark_constraints import BATCH
from podium.rules.constraints.formula import constant
from podium.rules.model.schedule import Grid, Schedule

_EVERY_EPOCH = Schedule(
    (Grid(constant(1), constant(1), "epochs", slack=0.25, per_batch=0),), positions=("epoch_num",)
)

V1_0: Mapping[str, Schedule] = {
    "cosmoflow": _EVERY_EPOCH,
    "deepcam": _EVERY_EPOCH,
    "oc20": _EVERY_EPOCH,
    "openfold": Schedule((Grid(40 * BATCH, 40 * BATCH),)),
}
"""OpenFold counts samples and evaluates every 40 steps."""
