"""Batches of structures: their atoms, concatenated, with the edges among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from podium.reference_runs.benchmarks.oc20.frames import Frames, write
from podium.reference_runs.benchmarks.oc20.graph import graph_of
from podium.reference_runs.benchmarks.oc20.potential import structures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from podium.reference_runs.benchmarks.oc20.config import Oc20
    from podium.reference_runs.benchmarks.oc20.frames import Structure
    from podium.reference_runs.benchmarks.oc20.graph import Graph

PARTS = ("train", "val_id")
CATALYST_SEED = 20
"""Evaluation structures are the same for every seed of a run."""


class Batch(NamedTuple):
    """A atoms of several structures, E edges j to i, and T pairs of edges k to j to i."""

    species: Tensor
    """Atomic numbers, (A,)."""
    positions: Tensor
    """In Å, (A, 3)."""
    forces: Tensor
    """In eV/Å, (A, 3)."""
    free: Tensor
    """Atoms that count, (A,)."""
    source: Tensor
    target: Tensor
    shift: Tensor
    """Shift of the source's position, in Å, (E, 3)."""
    inward: Tensor
    outward: Tensor
    """The edges k to j and j to i of each pair, (T,)."""

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        return Batch(*(part.to(device, non_blocking=True) for part in self))


class Structures:
    """The structures of a part of the dataset, as batches for a config's network."""

    def __init__(self, folder: Path, config: Oc20, *, kept: bool = False) -> None:
        self.config = config
        self.frames = Frames(folder)
        self.forces_of = np.arange(len(self.frames))
        """Index of the structure whose forces belong to each; another's if labels are shuffled."""
        self.kept: list[tuple[Structure, Graph]] | None = None
        if kept:
            self.kept = [self._read(index) for index in range(len(self.frames))]

    def __len__(self) -> int:
        return len(self.frames)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """A batch by index; raises DataMissing if a structure cannot be read."""
        return joined([self._labelled(index) for index in indices])

    def _labelled(self, index: int) -> tuple[Structure, Graph]:
        structure, graph = self._at(index)
        other = int(self.forces_of[index])
        if other != index:
            structure = structure._replace(forces=self._at(other)[0].forces)
        return structure, graph

    def _at(self, index: int) -> tuple[Structure, Graph]:
        return self._read(index) if self.kept is None else self.kept[index]

    def _read(self, index: int) -> tuple[Structure, Graph]:
        structure, config = self.frames[index], self.config
        places, cell = structure.positions, structure.cell
        return structure, graph_of(places, cell, config.cutoff, config.neighbours)


def joined(samples: Sequence[tuple[Structure, Graph]]) -> Batch:
    """One batch of several structures."""
    atoms = np.cumsum([0, *(len(structure.species) for structure, _ in samples)])
    edges = np.cumsum([0, *(len(graph.source) for _, graph in samples)])
    both = list(zip(samples, atoms, edges, strict=False))
    return Batch(
        _tensor([structure.species for structure, _ in samples]),
        _tensor([structure.positions.astype(np.float32) for structure, _ in samples]),
        _tensor([structure.forces.astype(np.float32) for structure, _ in samples]),
        _tensor([structure.free for structure, _ in samples]),
        _tensor([graph.source + atom for (_, graph), atom, _ in both]),
        _tensor([graph.target + atom for (_, graph), atom, _ in both]),
        _tensor([(g.image @ s.cell).astype(np.float32) for s, g in samples]),
        _tensor([graph.inward + edge for (_, graph), _, edge in both]),
        _tensor([graph.outward + edge for (_, graph), _, edge in both]),
    )


def _tensor(parts: Sequence[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.concatenate(parts))


def write_made(folder: Path, config: Oc20, seed: int) -> None:
    """Write the synthetic dataset in the format of the real one."""
    sources = (
        (PARTS[0], config.train_samples, np.random.default_rng([seed, 0x0C20])),
        (PARTS[1], config.eval_samples, np.random.default_rng(CATALYST_SEED)),
    )
    for part, count, rng in sources:
        (folder / part).mkdir(parents=True)
        write(folder / part / "0.extxyz", structures(config, count, rng))
