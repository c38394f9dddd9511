"""All-reduce over a mesh of ranks, in two dimensions.

Ranks sum parts along their row (reduce-scatter), then along their column (all-reduce), and gather
the parts along their row again. Messages along a column are shorter by the length of a row, so that
this suits machines with fast links within a node and slow ones between nodes, or links that form a
mesh. Source: Ying, Kumar, Chen, Wang, Cheng, "Image Classification at Supercomputer Scale", 2018.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.distributed as dist
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed import ProcessGroup


class MeshSum:
    """Sums tensors over all ranks, which are numbered row by row."""

    def __init__(self, rows: int) -> None:
        world, rank = dist.get_world_size(), dist.get_rank()
        columns = self._columns = world // rows
        first = rank // columns * columns
        self._row = _group([*range(first, first + columns)])
        self._column = _group([*range(rank % columns, world, columns)])

    def __call__(self, values: Tensor) -> None:
        """Replace the elements of a vector by their sums over all ranks."""
        spare = -len(values) % self._columns
        whole = F.pad(values, (0, spare)) if spare else values
        part = whole.new_empty(len(whole) // self._columns)
        dist.reduce_scatter_tensor(part, whole, group=self._row)
        dist.all_reduce(part, group=self._column)
        dist.all_gather_into_tensor(whole, part, group=self._row)
        if spare:
            values.copy_(whole[: len(values)])


def _group(members: list[int]) -> ProcessGroup:
    # Only the members of a group create it
    group: ProcessGroup = dist.new_group(members, use_local_synchronization=True)
    return group
