"""The Fréchet distance between features of generated and of real images.

Source: Heusel et al., "GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash
Equilibrium", 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Gaussian(NamedTuple):
    """Mean (F,) and covariance (F, F) of features, in double precision."""

    mean: Tensor
    covariance: Tensor


def sums(features_NF: Tensor) -> Tensor:
    """The sums over ranks: products of features with each other and with one, (F + 1, F + 1).

    Features must have double precision.
    """
    ones = torch.ones(len(features_NF), 1, dtype=torch.float64, device=features_NF.device)
    row = torch.cat((features_NF, ones), 1)
    return row.T @ row


def gaussian(sums: Tensor) -> Gaussian:
    """Mean and covariance of the samples in the sums, at least two."""
    count, total = sums[-1, -1], sums[-1, :-1]
    mean = total / count
    scatter = sums[:-1, :-1] - count * torch.outer(mean, mean)
    return Gaussian(mean, scatter / (count - 1))


def frechet_distance(first: Gaussian, second: Gaussian) -> float:
    """|m1 - m2|² + tr(S1 + S2 - 2 (S1 S2)^½)."""
    root = _root(first.covariance)
    # Of the symmetric product, whose root has the same trace as that of S1 S2
    cross = _root(root @ second.covariance @ root)
    shift = (first.mean - second.mean).square().sum()
    spread = torch.trace(first.covariance) + torch.trace(second.covariance) - 2 * torch.trace(cross)
    return float(shift + spread)


def _root(matrix: Tensor) -> Tensor:
    """The square root of a symmetric, positive semidefinite matrix, up to rounding."""
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    root: Tensor = (vectors * values.clamp(min=0).sqrt()) @ vectors.T
    return root
