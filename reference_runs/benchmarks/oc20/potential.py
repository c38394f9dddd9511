"""The synthetic chemistry of smoke scale: slabs of metal atoms with atoms on top, by seed.

A potential of pairs and angles determines their energy; its forces are exact. Dimensions: S
structures, A atoms of each, M images of the cell.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.benchmarks.oc20.frames import Structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from podium.reference_runs.benchmarks.oc20.config import Oc20

ELEMENTS = torch.tensor([29, 78, 8])
"""Copper, platinum and oxygen."""
DEPTH = torch.tensor([[0.3, 0.35, 0.5], [0.35, 0.4, 0.4], [0.5, 0.4, 0.15]]).double()
"""Depth of the pair potential, in eV."""
DISTANCE = torch.tensor([[2.6, 2.7, 2.3], [2.7, 2.8, 2.4], [2.3, 2.4, 2.2]]).double()
"""Equilibrium distance of two atoms, in Å."""
STEEPNESS = 1.4  # 1/Å
STIFFNESS = torch.tensor([0.9, 1.5, 2.2]).double()
"""Strength of the angle potential, in eV; `PREFERRED` is the cosine of the equilibrium angle."""
PREFERRED = torch.tensor([0.0, -0.5, -0.35]).double()

SPACING, LAYER, VACUUM = 2.7, 1.9, 12.0
"""Å between the atoms of a layer and between layers, and the height of the cell."""
SWAY = 0.14
"""Standard deviation of a free atom's position, in Å."""
AT_ONCE = 64
"""Structures that are generated at once, which bounds the memory."""


def structures(config: Oc20, count: int, rng: np.random.Generator) -> Iterator[Structure]:
    """Slabs of four atoms in each of two layers, of which the lower is fixed."""
    layer = np.array(list(itertools.product((0.0, 1.0), (0.0, 1.0), (0.0,))))
    ideal = np.concatenate([layer, layer + 0.5]) * SPACING
    ideal[4:, 2] = LAYER
    free = np.arange(8) >= 4
    cell = np.diag((2 * SPACING, 2 * SPACING, VACUUM))
    for first in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - first)
        kinds = np.concatenate(
            [rng.integers(2, size=(some, 4)), rng.integers(3, size=(some, 4))], 1
        )
        places = ideal + SWAY * rng.standard_normal((some, 8, 3)) * free[:, None]
        forces = forces_of(torch.from_numpy(kinds), torch.from_numpy(places), cell, config.cutoff)
        for species, positions, force in zip(ELEMENTS[kinds], places, forces, strict=True):
            yield Structure(species.numpy(), positions, force.numpy(), free, cell)


def forces_of(
    kinds_SA: Tensor, places_SA3: Tensor, cell: np.ndarray, cutoff: float, *, angles: bool = True
) -> Tensor:
    """The exact forces in eV/Å, (S, A, 3)."""
    places_SA3 = places_SA3.clone().requires_grad_()
    energy = _energy(kinds_SA, places_SA3, cell, cutoff, angles)
    (slope,) = torch.autograd.grad(energy, places_SA3)
    return -slope


def _energy(
    kinds_SA: Tensor, places_SA3: Tensor, cell: np.ndarray, cutoff: float, angles: bool
) -> Tensor:
    """The total energy of all structures."""
    # The height of the cell exceeds the cutoff plus the slab
    shifts = itertools.product((-1, 0, 1), (-1, 0, 1), (0,))
    shift_M3 = torch.from_numpy(np.array(list(shifts)) @ cell)
    apart = places_SA3[:, None, :, None] + shift_M3 - places_SA3[:, :, None, None]
    squared = apart.square().sum(-1)
    near = (squared > 0) & (squared < cutoff**2)
    distance = torch.where(near, squared, cutoff**2).sqrt()
    fade = torch.where(near, 0.5 + 0.5 * (torch.pi * distance / cutoff).cos(), 0.0)
    kind, other = kinds_SA[:, :, None], kinds_SA[:, None, :]
    depth, rest = (table[kind, other][..., None] for table in (DEPTH, DISTANCE))
    closer = torch.exp(-STEEPNESS * (distance - rest))
    pairs = (0.5 * depth * (closer**2 - 2 * closer) * fade).sum()
    if not angles:
        return pairs
    # The sum over all pairs of neighbors of (cosine - preferred)² · fades, without a loop over
    # pairs: products of unit vectors are summed first
    unit = apart / distance[..., None]
    count = fade.sum((2, 3))
    vector = (fade[..., None] * unit).sum((2, 3))
    tensor = torch.einsum("sijm,sijma,sijmb->siab", fade, unit, unit)
    preferred, stiffness = PREFERRED[kinds_SA], STIFFNESS[kinds_SA]
    bent = tensor.square().sum((2, 3)) - 2 * preferred * vector.square().sum(2)
    return pairs + (stiffness * (bent + (preferred * count) ** 2)).sum()
