"""DLRM: embeddings and an MLP for dense features, which interact through dot products.

Written from Naumov et al., Deep Learning Recommendation Model (2019). Dimensions: B samples, T
tables, D embedding width, V = T + 1 vectors, P = V · (V - 1) / 2 pairs of vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from podium.reference_runs.modeling.clicks import DENSE_FEATURES
from podium.reference_runs.modeling.tables import Tables, perceptron, table

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.dlrm.config import Dlrm


class DotDlrm(nn.Module):
    """The log odds of clicks from the dot products of all pairs of vectors."""

    def __init__(self, config: Dlrm) -> None:
        super().__init__()
        self.tables = Tables(
            table(rows, config.width, config.sparse_gradients) for rows in config.rows
        )
        self.bottom = perceptron((DENSE_FEATURES, *config.bottom_widths), last_is_linear=False)
        self.vectors = len(config.rows) + 1
        pairs = self.vectors * (self.vectors - 1) // 2
        self.top = perceptron((pairs + config.width, *config.top_widths), last_is_linear=True)

    def forward(self, dense_BI: Tensor, ids: list[Tensor]) -> Tensor:
        """Log odds of a click, (B,); `ids` holds (B, 1) for each table."""
        dense_BD = self.bottom(dense_BI)
        x_BVD = torch.stack((dense_BD, *self.tables(ids)), dim=1)
        rows, columns = torch.tril_indices(
            self.vectors, self.vectors, offset=-1, device=x_BVD.device
        )
        products_BP = (x_BVD @ x_BVD.transpose(1, 2))[:, rows, columns]
        odds: Tensor = self.top(torch.cat((dense_BD, products_BP), dim=-1))
        return odds.squeeze(-1)
