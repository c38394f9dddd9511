"""The spans of batch norms: how many samples share statistics, on one rank or on several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from podium.reference_runs.engine.task import Task


def check_span(task: Task[Any], field: str, samples: str, devices: int = 1) -> None:
    """Raise RunFault if the batch-norm span in `field` does not divide the micro-batches.

    A span, which is on so many devices, is a part of a rank's micro-batch or the micro-batches
    of several ranks.
    """
    span, size = getattr(task.config, field) * devices, task.micro_batch_size
    setting = f"{field} is {span}" if devices == 1 else f"{field} on {devices} devices is {span}"
    everywhere = size * task.ranks.world
    if span < 1 or (size % span and (span % size or everywhere % span)):
        several = f", or be a multiple of {size} that divides the {everywhere} of all ranks"
        raise RunFault(
            f"{setting}; must divide the {size} {samples} of a rank's micro-batch"
            f"{several if task.ranks.world > 1 else ''}; set either with --set"
        )
    if span > size and task.setting.compile:
        raise RunFault(
            f"--compile: communication within the model cannot be compiled; {setting}, more than"
            f" the {size} {samples} of a rank's micro-batch"
        )
