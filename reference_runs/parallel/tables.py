"""Embedding tables divided by rows among ranks, which look up rows for each other.

Dimensions: B samples of a rank, N ranks, K ids of a sample, T tables, D embedding width.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.parallel.exchange import summed
from podium.reference_runs.parallel.experts import averaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.distributed.device_mesh import DeviceMesh

FEWEST_ROWS = 64
"""Minimum rows per rank: smaller tables are gathered like the other weights."""


def divide(model: Any, mesh: DeviceMesh) -> nn.Module:
    """Divide `model.tables` by rows along the mesh's `fsdp`, and its other children by FSDP."""
    ranks = mesh["fsdp"]
    fewest = FEWEST_ROWS * ranks.size()
    large = [index for index, table in enumerate(model.tables) if table.num_embeddings >= fewest]
    for index, table in enumerate(model.tables):
        if index in large:
            part = distribute_tensor(table.weight.detach(), ranks, [Shard(0)])
            table.weight = nn.Parameter(part)
        else:
            fully_shard(table, mesh=ranks)
    model.tables.large = large
    model.tables.look_up = partial(looked_up, ranks=ranks)
    for name, child in model.named_children():
        if name != "tables":
            for layer in child if isinstance(child, nn.ModuleList) else (child,):
                fully_shard(layer, mesh=ranks)
    whole: nn.Module = model
    return whole


def looked_up(
    tables: Sequence[nn.EmbeddingBag], ids: Sequence[Tensor], ranks: DeviceMesh
) -> Sequence[Tensor]:
    """The sums of the rows for each sample, (B, D) for each table; `ids` has (B, K) for each.

    Every rank looks up the ids of all ranks among its rows, and receives the sums of its samples.
    All ranks must have the same number of samples.
    """
    group, mine = ranks.get_group(), torch.cat(list(ids), 1)
    asked = mine.new_empty(ranks.size() * len(mine), mine.shape[1])
    dist.all_gather_into_tensor(asked, mine, group=group)
    by_table = torch.split(asked, [table_ids.shape[1] for table_ids in ids], 1)
    parts = [_part(*pair, ranks) for pair in zip(tables, by_table, strict=True)]
    sums = summed(torch.cat(parts, 1).view(ranks.size(), len(mine), -1), group)
    return torch.split(sums, [table.embedding_dim for table in tables], 1)


def _part(table: nn.EmbeddingBag, ids: Tensor, ranks: DeviceMesh) -> Tensor:
    """The contribution of this rank's rows to the sums, (N · B, D)."""
    rows = averaged(table.weight, ranks.size())
    # Like torch.chunk: the last parts may be shorter, or empty
    begin = ranks.get_local_rank() * -(-table.num_embeddings // ranks.size())
    here = (ids >= begin) & (ids < begin + len(rows))
    return F.embedding_bag(
        torch.where(here, ids - begin, 0), rows, mode="sum", per_sample_weights=here.to(rows.dtype)
    )
