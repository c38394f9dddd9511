"""Batch norm over groups of ranks, for groups larger than a rank's micro-batch.

torch's SyncBatchNorm needs a GPU and whole images; this one also runs on CPUs, and together with
images that are divided by rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch.distributed as dist

from podium.reference_runs.modeling.normalization import GroupNormedBatch
from podium.reference_runs.parallel.exchange import gathered

if TYPE_CHECKING:
    from torch import nn
    from torch.distributed import ProcessGroup

    from podium.reference_runs.engine.ranks import Ranks


def join_norms(model: nn.Module, ranks: Ranks, images: int) -> None:
    """Make batch norms over more than the `images` of a rank's micro-batch reduce over ranks.

    A micro-batch of all ranks is in the order of the ranks, so a group has adjacent ranks.
    """
    groups: dict[int, ProcessGroup] = {}
    for module in model.modules():
        if isinstance(module, GroupNormedBatch) and module.span > images:
            count = module.span // images
            if count not in groups:
                groups[count] = _adjacent(ranks, count)
            module.of_ranks = partial(gathered, group=groups[count])


def _adjacent(ranks: Ranks, count: int) -> ProcessGroup:
    """The group of this rank among those of `count` adjacent ranks with different samples."""
    line = [*range(ranks.world)]
    if ranks.data is not None:
        line = dist.get_process_group_ranks(ranks.data.get_group())
    begin = ranks.rank // count * count
    # Only the members of a group create it
    group: ProcessGroup = dist.new_group(
        line[begin : begin + count], use_local_synchronization=True
    )
    return group
