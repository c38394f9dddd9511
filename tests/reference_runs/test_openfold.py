"""OpenFold: the published size, ideal chains, and how far a fold is off."""

from __future__ import annotations

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.openfold.config import reference, smoke  # noqa: E402
from podium.reference_runs.openfold.data import Chains  # noqa: E402
from podium.reference_runs.openfold.geometry import atoms_of, frame_of  # noqa: E402
from podium.reference_runs.openfold.losses import fape  # noqa: E402
from podium.reference_runs.openfold.model import AlphaFold  # noqa: E402


def test_the_reference_model_has_the_published_size() -> None:
    with torch.device("meta"):
        model = AlphaFold(reference())
    count = sum(p.numel() for p in model.parameters())
    assert count == reference().model_parameters_count == 93_229_082


def dihedral(*atoms: torch.Tensor) -> torch.Tensor:
    before, axis, behind = (b - a for a, b in pairwise(atoms))
    axis = axis / axis.norm(dim=-1, keepdim=True)
    left, right = torch.linalg.cross(before, axis), torch.linalg.cross(axis, behind)
    sine = (torch.linalg.cross(left, right) * axis).sum(-1)
    return torch.atan2(sine, (left * right).sum(-1))


def test_chains_have_the_torsions_that_were_drawn() -> None:
    chains = Chains(smoke(), 16, 1)
    atoms, torsions = chains.atoms, chains.torsions
    n, ca, c, cb, _, cg = atoms.unbind(2)
    found = {
        1: dihedral(c[:, :-1], n[:, 1:], ca[:, 1:], c[:, 1:]),
        2: dihedral(n[:, :-1], ca[:, :-1], c[:, :-1], n[:, 1:]),
        3: dihedral(n, ca, cb, cg),
    }
    for number, angle in found.items():
        drawn = torsions[:, :, number]
        drawn = drawn[:, 1:] if number == 1 else drawn[:, :-1] if number == 2 else drawn
        assert torch.allclose(torch.stack([angle.sin(), angle.cos()], -1), drawn, atol=1e-4)


def test_frames_read_off_atoms_give_the_atoms_again() -> None:
    batch = Chains(smoke(), 8, 1).__getitems__(range(8))
    backbone = frame_of(*(batch.atoms[:, :, at] for at in (0, 1, 2)))
    _, atoms = atoms_of(backbone, batch.psi, batch.chi, batch.reach)
    assert torch.allclose(atoms, batch.atoms, atol=1e-4)
    assert fape(backbone, backbone.place, backbone, backbone.place, 10.0).max() < 2e-3
