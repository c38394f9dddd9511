"""The losses of the network, and the quality of a fold.

Source: as in `layers`, supplementary information 1.9. Dimensions: B chains, R residues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.openfold.geometry import (
    ATOMS,
    CHI,
    Frames,
    atoms_of,
    frame_of,
)
from podium.reference_runs.benchmarks.openfold.model import CONFIDENCE_BINS, DISTANCE_BINS

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.openfold.config import OpenFold
    from podium.reference_runs.benchmarks.openfold.data import Batch
    from podium.reference_runs.benchmarks.openfold.model import Folded

CLAMP, LENGTH = 10.0, 10.0
"""Å: maximum error, and the unit of errors."""
CA, CB = ATOMS.index("CA"), ATOMS.index("CB")
FIRST_DISTANCE, LAST_DISTANCE = 2.3125, 21.6875
"""Å: the boundary of the first two distance bins, and that of the last two."""
CHI_WEIGHT, CIRCLE_WEIGHT = 0.5, 0.01


def losses(config: OpenFold, folded: Folded, batch: Batch) -> Tensor:
    """The weighted loss of each chain, (B,)."""
    backbone = frame_of(*(batch.atoms[:, :, atom] for atom in (0, 1, 2)))
    groups, atoms = atoms_of(backbone, batch.psi, batch.chi, batch.reach)
    places = backbone.place
    # A tenth of the chains is unclamped, so that distant parts have gradients, too
    clamp_B = torch.where(batch.clamped, CLAMP, torch.inf)
    of_backbone = torch.stack(
        [
            fape(layer.frames, layer.frames.place, backbone, places, clamp_B)
            for layer in folded.layers
        ]
    ).mean(0)
    ours, true = (
        Frames(frames.rotation.flatten(1, 2), frames.place.flatten(1, 2))
        for frames in (folded.groups, groups)
    )
    of_atoms = fape(ours, folded.atoms.flatten(1, 2), true, atoms.flatten(1, 2), CLAMP)
    aligned = (
        config.fape_loss_backbone_weight * of_backbone
        + config.fape_loss_sidechain_weight * of_atoms
    )
    return (
        config.fape_loss_weight * aligned
        + config.supervised_chi_loss_weight * torsion_loss(folded, batch)
        + config.distogram_loss_weight * distance_loss(folded, batch)
        + config.masked_msa_loss_weight * letter_loss(folded, batch)
        + config.plddt_loss_weight * confidence_loss(folded, batch)
    )


def fape(
    frames: Frames, points: Tensor, true: Frames, true_points: Tensor, clamp: Tensor | float
) -> Tensor:
    """Frame aligned point error (algorithm 28), (B,): F frames, (B, F), P points, (B, P, 3)."""
    local, right = (
        rigids.expanded().invert_apply(where[:, None])
        for rigids, where in ((frames, points), (true, true_points))
    )
    error_BFP = ((local - right).square().sum(-1) + 1e-4).sqrt()
    limit = torch.as_tensor(clamp, dtype=error_BFP.dtype, device=error_BFP.device)
    return torch.minimum(error_BFP, limit.view(-1, 1, 1)).mean((1, 2)) / LENGTH


def torsion_loss(folded: Folded, batch: Batch) -> Tensor:
    """Squared error of the side chain's torsion, and the deviation from the unit circle, (B,)."""
    of_chi, of_circle = [], []
    for layer in folded.layers:
        of_chi.append((layer.torsions[:, :, CHI] - batch.chi).square().sum(-1).mean(1))
        length = (layer.unscaled.square().sum(-1) + 1e-8).sqrt()
        of_circle.append((length - 1).abs().mean((1, 2)))
    chi, circle = (torch.stack(part).mean(0) for part in (of_chi, of_circle))
    return CHI_WEIGHT * chi + CIRCLE_WEIGHT * circle


def distance_loss(folded: Folded, batch: Batch) -> Tensor:
    """Cross-entropy of the distances between beta carbons in bins, (B,)."""
    beta = batch.atoms[:, :, CB]
    limits = torch.linspace(FIRST_DISTANCE, LAST_DISTANCE, DISTANCE_BINS - 1, device=beta.device)
    bins = torch.bucketize(torch.cdist(beta, beta), limits.to(beta.dtype))
    logits = folded.distances.float().permute(0, 3, 1, 2)
    return F.cross_entropy(logits, bins, reduction="none").mean((1, 2))


def letter_loss(folded: Folded, batch: Batch) -> Tensor:
    """Cross-entropy of the masked tokens, (B,)."""
    entropy = F.cross_entropy(
        folded.letters.float().permute(0, 3, 1, 2), batch.letters, reduction="none"
    )
    masked = batch.masked.to(entropy.dtype)
    return (entropy * masked).sum((1, 2)) / masked.sum((1, 2)).clamp(min=1)


def confidence_loss(folded: Folded, batch: Batch) -> Tensor:
    """Cross-entropy of each residue's lDDT in bins, (B,)."""
    reached = lddt(folded.layers[-1].frames.place.detach(), batch.atoms[:, :, CA])
    bins = (reached * CONFIDENCE_BINS).long().clamp(max=CONFIDENCE_BINS - 1)
    logits = folded.confidence.float().permute(0, 2, 1)
    return F.cross_entropy(logits, bins, reduction="none").mean(1)


def lddt(places_BR3: Tensor, true_BR3: Tensor) -> Tensor:
    """Local distance difference test of each residue, (B, R), from 0 to 1.

    Source: Mariani et al., 2013: the share of distances up to 15 Å that are correct within 0.5, 1,
    2 and 4 Å. A residue without a neighbor in that range has 1.
    """
    far, true = torch.cdist(places_BR3, places_BR3), torch.cdist(true_BR3, true_BR3)
    itself = torch.eye(true.shape[-1], dtype=torch.bool, device=true.device)
    near = (true < 15.0) & ~itself
    met = torch.stack([(far - true).abs() < limit for limit in (0.5, 1.0, 2.0, 4.0)])
    score = (met.to(far.dtype).mean(0) * near).sum(-1)
    return (1e-10 + score) / (1e-10 + near.sum(-1))
