"""DimeNet++: messages between atoms, updated with the distances and angles among them.

Sources: Gasteiger et al., Directional Message Passing for Molecular Graphs (2020), and Fast and
Uncertainty-Aware Directional Message Passing for Non-Equilibrium Molecules (2020); in what the
papers leave open, the Open Catalyst Project's model, which the benchmark trains.
Dimensions: A atoms, E edges, T triplets, H width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.oc20.bases import Envelope, RadialBasis, SphericalBasis

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.oc20.config import Oc20
    from podium.reference_runs.benchmarks.oc20.data import Batch


class DimeNetPlusPlus(nn.Module):
    """Forces on atoms, as derivatives of an energy that is a sum over messages along edges."""

    def __init__(self, config: Oc20) -> None:
        super().__init__()
        envelope = Envelope(config.envelope_exponent)
        self.radial = RadialBasis(config.radial, config.cutoff, envelope)
        self.spherical = SphericalBasis(config.spherical, config.radial, config.cutoff, envelope)
        self.embedding = Embedding(config)
        self.interactions = nn.ModuleList(Interaction(config) for _ in range(config.blocks))
        self.outputs = nn.ModuleList(Output(config) for _ in range(config.blocks + 1))

    def forward(self, batch: Batch) -> Tensor:
        """Forces on the atoms, (A, 3), in units of `force_scale`."""
        vector_E3 = batch.positions[batch.source] + batch.shift - batch.positions[batch.target]
        length_E = torch.linalg.vector_norm(vector_E3, dim=-1)
        unit_E3 = vector_E3 / length_E[:, None]
        # An evaluation runs without gradients, but the forces are gradients
        with torch.enable_grad():
            length_E = length_E.detach().requires_grad_()
            energy = self.energies(batch, length_E, unit_E3).float().sum()
            (slope_E,) = torch.autograd.grad(energy, length_E, create_graph=self.training)
        pull_E3 = slope_E[:, None] * unit_E3
        forces = torch.zeros_like(batch.positions)
        return forces.index_add(0, batch.target, pull_E3).index_add(0, batch.source, -pull_E3)

    def energies(self, batch: Batch, length_E: Tensor, unit_E3: Tensor) -> Tensor:
        """Each atom's part of the energy, (A, 1), for edges of given lengths and directions."""
        radial_EN = self.radial(length_E)
        spherical_TW = self._spherical(batch, length_E, unit_E3)
        message_EH = self.embedding(batch, radial_EN)
        atoms = len(batch.species)
        energy_A1: Tensor = self.outputs[0](message_EH, radial_EN, batch.target, atoms)
        for interaction, output in zip(self.interactions, self.outputs[1:], strict=True):
            message_EH = interaction(message_EH, radial_EN, spherical_TW, batch)
            energy_A1 = energy_A1 + output(message_EH, radial_EN, batch.target, atoms)
        return energy_A1

    def _spherical(self, batch: Batch, length_E: Tensor, unit_E3: Tensor) -> Tensor:
        """The spherical basis of each triplet: the inner edge's length, the angle between both."""
        # As in the reference, forces omit the dependence of the energy on the angles
        with torch.no_grad():
            cosine_T = (unit_E3[batch.outward] * unit_E3[batch.inward]).sum(-1)
            angular_TL = self.spherical.angular(cosine_T)
            value_ELN, slope_ELN = self.spherical.radial(length_E)
        # The value, with its precomputed derivative: a second derivative is not needed
        moved_E = length_E - length_E.detach()
        radial_ELN = value_ELN + slope_ELN * moved_E[:, None, None]
        return (radial_ELN[batch.inward] * angular_TL[:, :, None]).flatten(1)


class Embedding(nn.Module):
    """The first message of an edge, from the elements at its ends and its length."""

    def __init__(self, config: Oc20) -> None:
        super().__init__()
        self.elements = nn.Embedding(config.elements, config.width)
        nn.init.uniform_(self.elements.weight, -(3**0.5), 3**0.5)
        self.radial = nn.Linear(config.radial, config.width)
        self.joined = nn.Linear(3 * config.width, config.width)

    def forward(self, batch: Batch, radial_EN: Tensor) -> Tensor:
        """Messages, (E, H)."""
        atom_AH = self.elements(batch.species)
        parts = (atom_AH[batch.target], atom_AH[batch.source], F.silu(self.radial(radial_EN)))
        return F.silu(self.joined(torch.cat(parts, dim=-1)))


class Interaction(nn.Module):
    """Messages k to j update the messages j to i, depending on the angle between them."""

    def __init__(self, config: Oc20) -> None:
        super().__init__()
        width, narrow, basis = config.width, config.interaction_width, config.basis_width
        self.radial = nn.Sequential(_plain(config.radial, basis), _plain(basis, width))
        waves = config.spherical * config.radial
        self.spherical = nn.Sequential(_plain(waves, basis), _plain(basis, narrow))
        self.own, self.others = _dense(width, width), _dense(width, width)
        self.down, self.up = _plain(width, narrow), _plain(narrow, width)
        self.before = nn.Sequential(*(Residual(width) for _ in range(config.layers_before_skip)))
        self.skipped = _dense(width, width)
        self.after = nn.Sequential(*(Residual(width) for _ in range(config.layers_after_skip)))

    def forward(
        self, message_EH: Tensor, radial_EN: Tensor, spherical_TW: Tensor, batch: Batch
    ) -> Tensor:
        """The updated messages, (E, H)."""
        others_EH = F.silu(self.others(message_EH)) * self.radial(radial_EN)
        narrow_E = F.silu(self.down(others_EH))
        narrow_T = narrow_E[batch.inward] * self.spherical(spherical_TW)
        joined_E = _sums(narrow_T, batch.outward, len(message_EH))
        hidden = F.silu(self.own(message_EH)) + F.silu(self.up(joined_E))
        hidden = F.silu(self.skipped(self.before(hidden))) + message_EH
        changed: Tensor = self.after(hidden)
        return changed


class Residual(nn.Module):
    """Two dense layers with a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = _dense(width, width), _dense(width, width)

    def forward(self, x_EH: Tensor) -> Tensor:
        """The same shape."""
        return x_EH + F.silu(self.second(F.silu(self.first(x_EH))))


class Output(nn.Module):
    """Reads an atom's energy from the messages to it."""

    def __init__(self, config: Oc20) -> None:
        super().__init__()
        self.radial = _plain(config.radial, config.width)
        self.up = nn.Linear(config.width, config.output_width)
        _glorot_orthogonal(self.up.weight)
        wide = config.output_width
        self.layers = nn.ModuleList(_dense(wide, wide) for _ in range(config.output_layers))
        self.last = nn.Linear(wide, 1, bias=False)
        nn.init.zeros_(self.last.weight)

    def forward(
        self, message_EH: Tensor, radial_EN: Tensor, target_E: Tensor, atoms: int
    ) -> Tensor:
        """Each atom's part of the energy, (A, 1)."""
        x = self.up(_sums(self.radial(radial_EN) * message_EH, target_E, atoms))
        for layer in self.layers:
            x = F.silu(layer(x))
        energy: Tensor = self.last(x)
        return energy


def _sums(rows: Tensor, group: Tensor, groups: int) -> Tensor:
    """Sums of the rows of each group."""
    return rows.new_zeros(groups, rows.shape[1]).index_add(0, group, rows)


def _plain(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, bias=False)
    _glorot_orthogonal(layer.weight)
    return layer


def _dense(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    _glorot_orthogonal(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


@torch.no_grad()
def _glorot_orthogonal(weight: Tensor) -> None:
    """Orthogonal directions, with the variance of Glorot's initialization: 2 / (in + out)."""
    nn.init.orthogonal_(weight)
    weight *= (2.0 / (sum(weight.shape) * weight.var())).sqrt()
