"""Weights for a model that was divided without values: a rank loads one whole tensor at a time."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

from podium.reference_runs.engine.ranks import ranks_per_node
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh


def fill_parts(
    model: nn.Module,
    device: torch.device,
    source: Callable[[str, torch.Size], Tensor],
    readers: ProcessGroup | None = None,
) -> None:
    """Give each rank its part of every tensor of `source`, by name and whole shape.

    `source` must return the same values on every rank. With `readers`, ranks that have tensors of
    the same names, only the first of them calls it, and sends the result to the others.
    """
    # Buffers are determined by the config and already have their values
    buffers = {name: buffer for name, buffer in model.named_buffers() if not buffer.is_meta}
    model.to_empty(device=device)
    for name, value in buffers.items():
        owner, _, last = name.rpartition(".")
        model.get_submodule(owner).register_buffer(last, value.to(device), persistent=False)
    options = StateDictOptions(full_state_dict=True, strict=False)
    for name, part in model.state_dict().items():
        if readers is None or readers.size() == 1:
            whole = source(name, part.shape).to(device, part.dtype)
        else:
            whole = _read_once(name, part, source, device, readers)
        set_model_state_dict(model, {name: whole}, options=options)


def node_mates(mesh: DeviceMesh) -> ProcessGroup:
    """The ranks of this node that have the same stage; every rank must call this."""
    ranks_of: dict[tuple[int, int], list[int]] = {}
    everyone: list[Any] = [None] * dist.get_world_size()
    mine = dist.get_rank() // ranks_per_node(), mesh["pp"].get_local_rank()
    dist.all_gather_object(everyone, mine)
    for rank, key in enumerate(everyone):
        ranks_of.setdefault(key, []).append(rank)
    groups: dict[tuple[int, int], ProcessGroup] = {
        key: dist.new_group(ranks) for key, ranks in ranks_of.items()
    }
    return groups[mine]


def _read_once(
    name: str,
    part: Tensor,
    source: Callable[[str, torch.Size], Tensor],
    device: torch.device,
    readers: ProcessGroup,
) -> Tensor:
    """A whole tensor, read by the first of some ranks; raises DataMissing on each of them."""
    first, fault = readers.rank() == 0, None
    whole = torch.empty(part.shape, dtype=part.dtype, device=device)
    if first:
        try:
            whole = source(name, part.shape).to(device, part.dtype).contiguous()
        except DataMissing as error:
            fault = error
    sender = dist.get_global_rank(readers, 0)
    # Otherwise the other ranks would wait for values that never arrive
    usable = torch.tensor(fault is None, device=device, dtype=torch.uint8)
    dist.broadcast(usable, sender, group=readers)
    if not usable:
        raise fault or DataMissing(f"{name} cannot be read; see the message of rank {sender}")
    dist.broadcast(whole, sender, group=readers)
    return whole


class RandomTensors:
    """Random tensors by name, the same on every rank and every mesh."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self._generator = torch.Generator(device)
        self._seed, self._device = seed, device

    def normal(self, name: str, shape: torch.Size, deviation: float) -> Tensor:
        """Independent normal values with mean 0."""
        return torch.empty(shape, device=self._device).normal_(
            0.0, deviation, generator=self._of(name)
        )

    def uniform(self, name: str, shape: torch.Size, bound: float) -> Tensor:
        """Independent uniform values between -bound and bound."""
        return torch.empty(shape, device=self._device).uniform_(
            -bound, bound, generator=self._of(name)
        )

    def _of(self, name: str) -> torch.Generator:
        # A separate generator for each name: ranks may have different tensors
        return self._generator.manual_seed((self._seed << 32) + zlib.crc32(name.encode()))
