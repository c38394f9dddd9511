"""Weights for a model that was cut as shapes only: a rank holds one tensor whole at a time."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import torch
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn


def fill_parts(
    model: nn.Module, device: torch.device, source: Callable[[str, torch.Size], Tensor]
) -> None:
    """Give each rank its part of every tensor of `source`, by name and whole shape.

    `source` must give the same numbers on every rank: nothing is sent.
    """
    # Buffers follow from the config and have their numbers already
    buffers = {name: each for name, each in model.named_buffers() if not each.is_meta}
    model.to_empty(device=device)
    for name, value in buffers.items():
        owner, _, last = name.rpartition(".")
        model.get_submodule(owner).register_buffer(last, value.to(device), persistent=False)
    options = StateDictOptions(full_state_dict=True, strict=False)
    for name, part in model.state_dict().items():
        whole = source(name, part.shape).to(device, part.dtype)
        set_model_state_dict(model, {name: whole}, options=options)


class Drawn:
    """Random tensors by name, the same on every rank and every mesh."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self._generator = torch.Generator(device)
        self._seed, self._device = seed, device

    def normal(self, name: str, shape: torch.Size, deviation: float) -> Tensor:
        """Independent normal numbers around 0."""
        return torch.empty(shape, device=self._device).normal_(
            0.0, deviation, generator=self._of(name)
        )

    def uniform(self, name: str, shape: torch.Size, bound: float) -> Tensor:
        """Independent numbers between -bound and bound."""
        return torch.empty(shape, device=self._device).uniform_(
            -bound, bound, generator=self._of(name)
        )

    def _of(self, name: str) -> torch.Generator:
        # Of each name its own: ranks may hold different tensors
        return self._generator.manual_seed((self._seed << 32) + zlib.crc32(name.encode()))
