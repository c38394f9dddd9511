"""Expert parallelism: tokens are sent to the ranks of their experts, and back.

Dimensions: T tokens times active experts per token, D model width, E experts.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from podium.reference_runs.parallel.exchange import exchanged

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import MixedPrecisionPolicy


def through(experts: nn.Module, x_TD: Tensor, sizes_E: Tensor, group: ProcessGroup) -> Tensor:
    """The outputs of the experts for tokens, (T, D), which are sorted by expert.

    `sizes_E` has the number of tokens for each expert of the group. `experts` is called with tokens
    and the sizes for the local experts.
    """
    ranks = group.size()
    come_E = torch.empty_like(sizes_E)
    dist.all_to_all_single(come_E, sizes_E, group=group)
    going, coming = (counts_E.view(ranks, -1).sum(1).tolist() for counts_E in (sizes_E, come_E))
    here = exchanged(x_TD, going, coming, group)
    # They arrive by rank, and within a rank by expert
    number = torch.arange(len(sizes_E) // ranks, device=x_TD.device).repeat(ranks)
    order = number.repeat_interleave(come_E).argsort(stable=True)
    done: Tensor = experts(here[order], come_E.view(ranks, -1).sum(0))
    return exchanged(done[order.argsort()], coming, going, group)


def divide(mixture: nn.Module, mesh: DeviceMesh, policy: MixedPrecisionPolicy) -> None:
    """Give each rank of the mesh's `ep` its experts, sharded along `fsdp`.

    The module has `group`, and `experts` with `here`, all of whose tensors have a row for each
    expert.
    """
    ranks = mesh["ep"].size()
    mixture.group = mesh["ep"].get_group()  # type: ignore[assignment]
    experts: nn.Module = mixture.experts  # type: ignore[assignment]
    experts.here = partial(averaged, ranks=ranks)  # type: ignore[assignment]
    for name, whole in list(experts.named_parameters(recurse=False)):
        part = nn.Parameter(distribute_tensor(whole.detach(), mesh["ep"], [Shard(0)]))
        experts.register_parameter(name, part)
    shards = mesh["dp", "fsdp"] if mesh["dp"].size() > 1 else mesh["fsdp"]
    fully_shard(experts, mesh=shards, mp_policy=policy)


def averaged(weight: Tensor, ranks: int) -> Tensor:
    """The local part; its gradient, a sum over `ranks` ranks, becomes their mean."""
    part = local(weight)
    if part.requires_grad:
        part.register_hook(lambda gradient: gradient / ranks)  # type: ignore[no-untyped-call]
    return part


def local(tensor: Tensor) -> Tensor:
    """The local part of a tensor, in the same memory."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
