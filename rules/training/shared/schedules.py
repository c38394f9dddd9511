"""The evaluation schedule of each training benchmark in the closed division, by round.

Policy: training rules, Quality measure. In 0.6 and 0.7 a benchmark must evaluate at least as often
as stated; from 1.0 on exactly as often, with positions rounded up to the next whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from podium.rules.constraints.benchmark_constraints import BATCH
from podium.rules.constraints.formula import Formula, ceil, constant, floor
from podium.rules.model.schedule import Grid, Schedule

CRITEO = 4_195_197_692
"""Training samples of the Criteo data sets."""

KITS19 = 168
"""Training samples of KiTS19."""

SEQUENCE = 2048
"""Tokens of a sequence of GPT-3."""

Rounding = Callable[[Formula], Formula]


def every(
    samples: int, skip: Formula | None = None, rounded: tuple[Rounding, ...] = (ceil,)
) -> Schedule:
    """Every `samples`, rounded to a whole batch, without the first `skip` evaluations."""
    intervals = [rounding(samples / BATCH) * BATCH for rounding in rounded]
    return Schedule(
        tuple(
            Grid(interval, interval if skip is None else (skip + 1) * interval)
            for interval in intervals
        )
    )


def _epochs(interval: float, first: float | None = None, slack: float = 0.25) -> Schedule:
    start = None if first is None else constant(first)
    grid = Grid(constant(interval), start, "epochs", slack=slack, per_batch=0)
    return Schedule((grid,), positions=("epoch_num",))


def _unet3d(longest: int | None = None) -> Schedule:
    """Epochs of the padded training set, or of whole batches only; later logs count samples.

    A run that does not converge trains for `longest` epochs of the unpadded set (training rules,
    Benchmark Results).
    """
    grids = []
    padded = ceil(KITS19 / BATCH) * BATCH
    for size in (padded, floor(KITS19 / BATCH) * BATCH, constant(KITS19)):
        first, interval = ceil(1000 * KITS19 / size), ceil(20 * KITS19 / size)
        last = None if longest is None else ceil(longest * KITS19 / size)
        grids.append(
            Grid(interval, first, "epochs", slack=0.05, per_batch=0, epoch=size, longest=last)
        )
        last_samples = None if last is None else last * size
        grids.append(Grid(interval * size, first * size, epoch=size, longest=last_samples))
    return Schedule(tuple(grids), positions=("epoch_num", "samples_count"))


_TWENTIETH = constant(0.05)
# In whole steps, which is slightly less than a twentieth of an epoch
_DLRM_DCNV2 = floor(CRITEO / (BATCH * 20)) * BATCH / CRITEO
_GPT3 = ceil(24_576 / BATCH) * BATCH * SEQUENCE
_BERT = floor(0.05 * (230.23 * BATCH + 3_000_000) / 25_000) * 25_000

EVERY_EPOCH = _epochs(1, 1)
EVERY_STEP = Schedule((Grid(BATCH, per_batch=0.25),))
NODES = Schedule(
    # Logs round epochs to two decimals, so an interval deviates by up to 0.01
    (Grid(_TWENTIETH, _TWENTIETH, "epochs", slack=0.201, per_batch=0),),
    positions=("epoch_num",),
)

V1_1: Mapping[str, Schedule] = {
    "resnet": _epochs(4, slack=0.26),
    "ssd": _epochs(5, slack=0.3),
    "maskrcnn": EVERY_EPOCH,
    "rnnt": EVERY_EPOCH,
    "minigo": replace(_epochs(1), offline=True),
    # Logs of 1.0 count epochs from 0, logs of 1.1 to 2.1 from 1 (training rules, RCP Rules)
    "dlrm": Schedule(
        tuple(
            Grid(_TWENTIETH, start, "epochs", slack=0.02, per_batch=0)
            for start in (_TWENTIETH, constant(1.05))
        ),
        positions=("epoch_num",),
    ),
    # Packed batches contain a varying number of samples, so positions drift by a few percent
    "bert": Schedule((Grid(_BERT, _BERT, slack=0.04),)),
    "unet3d": _unet3d(10_000),
    "dlrm_dcnv2": Schedule(
        (Grid(_DLRM_DCNV2, _DLRM_DCNV2, "epochs", slack=0.02, per_batch=0),),
        positions=("epoch_num",),
    ),
    "gpt3": Schedule((Grid(_GPT3, _GPT3, "tokens", per_batch=SEQUENCE),)),
    # Checkpoints are evaluated after the run; most runs evaluate only the last two
    "stable_diffusion": Schedule(
        (Grid(ceil(512_000 / BATCH) * BATCH, aligned=True),), offline=True
    ),
    # Intervals that the batch does not divide were accepted even if rounded down
    "llama2_70b_lora": every(384, floor(0.125 * BATCH + 2), rounded=(ceil, floor)),
    "gnn": NODES,
    "rgat": NODES,
    "retinanet": EVERY_EPOCH,
    # The interval of 5.0, the only round of this model that uses this table
    "llama31_405b": every(46_080),
    "llama31_8b": every(12_288),
    "flux1": every(262_144),
    "gpt_oss_20b": every(12_288),
    "deepseekv3_671b": EVERY_STEP,
}
"""Schedules since 1.1; a benchmark keeps its schedule from the round that introduces it."""

V1_0: Mapping[str, Schedule] = {
    **V1_1,
    # Accepted runs of this round stopped after 6000 epochs
    "unet3d": _unet3d(),
    "ssd": Schedule(
        (Grid(constant(10), constant(40), "epochs", slack=0.15, per_batch=0),),
        often=True,
        positions=("epoch_num",),
    ),
}
"""SSD at epochs 40, 50, 55, 60 and so on; runs that evaluate every 5 epochs were accepted."""

V0_7: Mapping[str, Schedule] = {
    name: replace(schedule, often=True)
    for name, schedule in {
        "resnet": V1_0["resnet"],
        "ssd": V1_0["ssd"],
        "maskrcnn": EVERY_EPOCH,
        "gnmt": EVERY_EPOCH,
        "transformer": EVERY_EPOCH,
        "minigo": V1_0["minigo"],
        "bert": Schedule((Grid(constant(500_000), constant(3_000_000), slack=0.03),), offline=True),
    }.items()
}
"""BERT may be evaluated after the run in this round; DLRM logs have no common unit of progress."""

V0_6: Mapping[str, Schedule] = {
    name: V0_7[name] for name in ("resnet", "maskrcnn", "gnmt", "transformer")
}

V2_0: Mapping[str, Schedule] = {**V1_1, "ssd": EVERY_EPOCH}
"""SSD became RetinaNet under the same name."""

V5_1: Mapping[str, Schedule] = {
    **V2_0,
    "llama31_405b": every(18_432, skip=floor(0.0026 * BATCH + 12)),
}

V6_1: Mapping[str, Schedule] = {
    **V5_1,
    "qwen35_397b_grpo": Schedule(
        (Grid(BATCH, ceil(2.5 + 3840 / BATCH) * BATCH, per_batch=0.25),),
        offline=True,
        stops_at_checkpoint=True,
    ),
}
"""A checkpoint after every step from a first one on (training rules, v6.1 Specific Rules)."""
