"""The neighbour sampler: from seeds outwards, so many neighbours of each relation per node.

What is drawn for a node depends on seed, epoch, layer, relation and the node alone. So it does not
matter which rank a seed is on, or which other seeds are in its batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.rgat.config import Relation

    Ids = NDArray[np.int64]


K = TypeVar("K")


@dataclass(frozen=True)
class Csr:
    """Edges of a relation by target: the sources of target t are at starts[t] to starts[t + 1]."""

    starts: Ids
    sources: Ids

    @classmethod
    def of(cls, source: Ids, target: Ids, targets: int) -> Csr:
        """From one pair of nodes per edge."""
        counts = np.bincount(target, minlength=targets)
        starts = np.concatenate([[0], np.cumsum(counts)])
        return cls(starts, source[np.argsort(target, kind="stable")])

    def draw(self, target: Ids, most: int, key: int) -> tuple[Ids, NDArray[np.bool_]]:
        """Up to `most` different sources of each target, and which entries hold one; (T, most).

        Floyd's algorithm, for all targets at once: of d neighbours, one more becomes possible at
        each turn, and takes the place of what was drawn before.
        """
        degree = self.starts[target + 1] - self.starts[target]
        chosen = np.full((len(target), most), -1, dtype=np.int64)
        few = degree <= most
        for turn in range(most):
            last = degree - most + turn
            drawn = (_uniform(target * most + turn, key) * (last + 1)).astype(np.int64)
            taken = (chosen[:, :turn] == drawn[:, None]).any(1)
            chosen[:, turn] = np.where(few, turn, np.where(taken, last, drawn))
        there = chosen < degree[:, None]
        place = np.where(there, self.starts[target][:, None] + chosen, 0)
        # A relation without edges has nothing to index
        if len(self.sources) == 0:
            return place, there
        return np.where(there, self.sources[place], 0), there


def _uniform(number: Ids, key: int) -> NDArray[np.float64]:
    """A number from 0 to 1 that looks random, for each number (the mixing of SplitMix64)."""
    # Products are meant to wrap around: that is the mixing
    with np.errstate(over="ignore"):
        x = number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class Block:
    """Edges of one layer, from a batch's nodes (which begin with the targets) to its targets."""

    targets: Mapping[str, Tensor]
    """Of each kind, the graph's numbers of the nodes that the layer computes."""
    sources: Mapping[Relation, Tensor]
    """Of each relation, rows among the layer's input nodes; (targets, fan-out)."""
    there: Mapping[Relation, Tensor]
    """Which of these entries are edges."""


@dataclass(frozen=True)
class Sampled:
    """A batch: what goes into the first layer, the edges of each layer, and the seeds' classes."""

    features: Mapping[str, Tensor]
    blocks: tuple[Block, ...]
    """From the input to the seeds."""
    labels: Tensor
    draw: int = field(default=0)
    """Which draw of dropout is the batch's."""

    def drawn(self, number: int) -> Sampled:
        """The same batch with another draw of dropout."""
        return replace(self, draw=number)

    def to(self, device: torch.device) -> Sampled:
        """The same batch on another device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Sampled:
        """The same batch where a GPU reads it by itself; a data loader asks for it."""
        return self._map(torch.Tensor.pin_memory)

    def _map(self, change: Callable[[Tensor], Tensor]) -> Sampled:
        def every(tensors: Mapping[K, Tensor]) -> dict[K, Tensor]:
            return {key: change(tensor) for key, tensor in tensors.items()}

        blocks = tuple(
            Block(every(block.targets), every(block.sources), every(block.there))
            for block in self.blocks
        )
        return Sampled(every(self.features), blocks, change(self.labels), self.draw)


@dataclass(frozen=True)
class Sampler:
    """Draws the neighbourhoods of seeds in a graph."""

    edges: Mapping[Relation, Csr]
    kinds: tuple[str, ...]
    fan_outs: Sequence[int]

    def around(self, seeds: Ids, key: Sequence[int]) -> tuple[dict[str, Ids], tuple[Block, ...]]:
        """Input nodes of each kind and blocks from the input to the seeds, which are papers."""
        nodes = {kind: np.empty(0, np.int64) for kind in self.kinds} | {"paper": seeds}
        blocks: list[Block] = []
        for layer, most in enumerate(self.fan_outs):
            nodes, block = self._layer(nodes, most, (*key, layer))
            blocks.append(block)
        return nodes, tuple(reversed(blocks))

    def _layer(
        self, targets: dict[str, Ids], most: int, key: Sequence[int]
    ) -> tuple[dict[str, Ids], Block]:
        # A key for each relation: the same node draws other places in each
        keys = np.random.SeedSequence(key).generate_state(len(self.edges), np.uint64)
        found = {
            relation: csr.draw(targets[relation[2]], most, int(own))
            for (relation, csr), own in zip(self.edges.items(), keys, strict=True)
        }
        nodes = {
            kind: _with_new(
                ids, [nodes[there] for r, (nodes, there) in found.items() if r[0] == kind]
            )
            for kind, ids in targets.items()
        }
        rows = {r: _rows(nodes[r[0]], drawn, there) for r, (drawn, there) in found.items()}
        block = Block(
            {kind: torch.from_numpy(ids) for kind, ids in targets.items()},
            {r: torch.from_numpy(each) for r, each in rows.items()},
            {r: torch.from_numpy(there) for r, (_, there) in found.items()},
        )
        return nodes, block


def fullest(
    relations: Sequence[Relation], fan_outs: Sequence[int], seeds: int, features: int
) -> Sampled:
    """A batch larger than any of so many seeds: each node brings all neighbours, each of them new.

    Its numbers are zeros.
    """
    ends = {kind for source, _, target in relations for kind in (source, target)}
    nodes = dict.fromkeys(ends, 0) | {"paper": seeds}
    blocks: list[Block] = []
    for most in fan_outs:
        shapes = {relation: (nodes[relation[2]], most) for relation in relations}
        targets = {kind: torch.zeros(count, dtype=torch.int64) for kind, count in nodes.items()}
        rows = {r: torch.zeros(shape, dtype=torch.int64) for r, shape in shapes.items()}
        there = {r: torch.ones(shape, dtype=torch.bool) for r, shape in shapes.items()}
        blocks.append(Block(targets, rows, there))
        for relation, (count, each) in shapes.items():
            nodes[relation[0]] += count * each
    inputs = {kind: torch.zeros(count, features) for kind, count in nodes.items()}
    labels = torch.zeros(seeds, dtype=torch.int64)
    return Sampled(inputs, tuple(reversed(blocks)), labels)


def _with_new(known: Ids, found: list[Ids]) -> Ids:
    """The known nodes, then those found that are not among them, each once."""
    new = np.setdiff1d(np.concatenate(found), known) if found else known[:0]
    return np.concatenate([known, new])


def _rows(nodes: Ids, wanted: Ids, there: NDArray[np.bool_]) -> Ids:
    """Where each wanted node stands among the nodes; 0 where there is none."""
    order = np.argsort(nodes)
    if len(nodes) == 0:
        return np.zeros_like(wanted)
    place = np.searchsorted(nodes, wanted, sorter=order).clip(max=len(nodes) - 1)
    return np.where(there, order[place], 0)
