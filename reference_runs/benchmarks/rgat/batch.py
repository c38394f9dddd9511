"""A batch in the network's format: seeds, the nodes around them, and the edges between.

Dimensions: T targets of a layer, K drawn neighbors of each (the layer's fan-out), S seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from podium.reference_runs.benchmarks.rgat.config import Relation

Key = TypeVar("Key")


@dataclass(frozen=True)
class Block:
    """The edges of one layer, from its input nodes to its targets, which are the first input nodes.

    Papers 70 and 90 are targets, the fan-out is 2; 70 is cited by 90 and 40, 90 only by 40. Then
    the input nodes are papers 70, 90, 40, and the block has, for papers and this relation,

        targets  70, 90
        sources  1, 2           rows of the input nodes: 90, 40
                 2, 0           40, nothing
        there    True, True
                 True, False
    """

    targets: Mapping[str, Tensor]
    """Ids of the nodes that the layer computes, by kind, (T,)."""
    sources: Mapping[Relation, Tensor]
    """Rows of the sources among the input nodes of their kind, by relation, (T, K)."""
    there: Mapping[Relation, Tensor]
    """The mask of entries that are edges, (T, K)."""


@dataclass(frozen=True)
class Sampled:
    """A batch: the input of the first layer, the edges of each layer, and the seeds' classes."""

    features: Mapping[str, Tensor]
    """Features of the first layer's input nodes, by kind, (nodes, features)."""
    blocks: tuple[Block, ...]
    """From the input to the seeds: the targets of a layer are the input nodes of the next."""
    labels: Tensor
    """The seeds' classes, (S,)."""
    draw: int = field(default=0)
    """Seed of the batch's dropout."""

    def drawn(self, number: int) -> Sampled:
        """The same batch with another dropout."""
        return replace(self, draw=number)

    def to(self, device: torch.device) -> Sampled:
        """The same batch on another device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Sampled:
        """The same batch in pinned memory; a data loader calls this."""
        return self._map(torch.Tensor.pin_memory)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Sampled:
        def every(tensors: Mapping[Key, Tensor]) -> dict[Key, Tensor]:
            return {key: change(tensor) for key, tensor in tensors.items()}

        blocks = tuple(
            Block(every(block.targets), every(block.sources), every(block.there))
            for block in self.blocks
        )
        return Sampled(every(self.features), blocks, change(self.labels), self.draw)
