"""AlphaFold 2: the trunk, the structure module, and heads for the auxiliary losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from podium.reference_runs.benchmarks.openfold.geometry import ATOMS, CHI, PSI, Frames, atoms_of
from podium.reference_runs.benchmarks.openfold.layers import linear
from podium.reference_runs.benchmarks.openfold.stacks import Recycled, Trunk
from podium.reference_runs.benchmarks.openfold.structure import Moved, StructureModule

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.openfold.config import OpenFold
    from podium.reference_runs.benchmarks.openfold.data import Batch

CONFIDENCE_BINS, DISTANCE_BINS = 50, 64


class Folded(NamedTuple):
    """The outputs of the network for a batch."""

    layers: list[Moved]
    groups: Frames
    """Frames of each residue's rigid groups after the last layer, (B, R, 3)."""
    atoms: Tensor
    """In Å, (B, R, A, 3)."""
    letters: Tensor
    """Logits of the MSA tokens, (B, S, R, L)."""
    distances: Tensor
    """Logits of distances between beta carbons, (B, R, R, 64)."""
    confidence: Tensor
    """Logits of each residue's predicted lDDT, (B, R, 50)."""


class AlphaFold(nn.Module):
    """Folds a chain several times, with recycling of the previous result."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        wide, hidden = config.single_width, config.confidence_width
        self.trunk, self.structure = Trunk(config), StructureModule(config)
        self.letters = linear(config.row_width, config.kinds + 3, "final")
        self.distances = linear(config.pair_width, DISTANCE_BINS, "final")
        self.confidence = nn.Sequential(
            nn.LayerNorm(wide),
            linear(wide, hidden, "relu"),
            nn.ReLU(),
            linear(hidden, hidden, "relu"),
            nn.ReLU(),
            linear(hidden, CONFIDENCE_BINS, "final"),
        )
        # Experimentally resolved atoms, which have no weight in the initial training
        self.resolved = linear(wide, config.atom_types, "final")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the blocks of the trunk: one graph serves all 48, and any number of recycles."""
        for block in (*self.trunk.extra_blocks, *self.trunk.blocks):
            block.compile(*args, **kwargs)

    def forward(self, batch: Batch) -> Folded:
        """Fold `batch.recycles` times without gradients, then once more."""
        recycled = self.trunk.nothing(batch)
        for _ in range(batch.recycles):
            with torch.no_grad():
                recycled, _folded = self._once(batch, recycled)
        return self._once(batch, recycled)[1]

    def _once(self, batch: Batch, before: Recycled) -> tuple[Recycled, Folded]:
        rows, pairs, single = self.trunk(batch, before)
        last, layers = self.structure(single, pairs)
        end = layers[-1]
        psi, chi = end.torsions[:, :, PSI], end.torsions[:, :, CHI]
        groups, atoms = atoms_of(end.frames, psi, chi, batch.reach)
        half = self.distances(pairs)
        folded = Folded(
            layers,
            groups,
            atoms,
            self.letters(rows),
            half + half.transpose(1, 2),
            self.confidence(last),
        )
        beta = atoms[:, :, ATOMS.index("CB")]
        return Recycled(rows[:, 0], pairs, beta), folded
