"""DLRM whose interaction is DCNv2's low-rank cross network.

Written from Naumov et al., Deep Learning Recommendation Model (2019), and Wang et al., DCN V2
(2020). Dimensions: B samples, T tables, D embedding width, F = (T + 1) · D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from podium.reference_runs.modeling.clicks import DENSE_FEATURES
from podium.reference_runs.modeling.tables import Tables, perceptron, table

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.dlrm_dcnv2.config import DlrmDcnv2


class Cross(nn.Module):
    """One cross layer: x0 ⊙ (W V x + b) + x, where W V has a low rank."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width)
        nn.init.xavier_normal_(self.down.weight)
        nn.init.xavier_normal_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x0_BF: Tensor, x_BF: Tensor) -> Tensor:
        """(B, F) and (B, F) to (B, F)."""
        y_BF: Tensor = x0_BF * self.up(self.down(x_BF)) + x_BF
        return y_BF


class DlrmDcn(nn.Module):
    """Embedding bags and an MLP for dense features, cross layers, then an MLP on top."""

    def __init__(self, config: DlrmDcnv2) -> None:
        super().__init__()
        self.tables = Tables(
            table(rows, config.width, config.sparse_gradients) for rows in config.rows
        )
        self.bottom = perceptron((DENSE_FEATURES, *config.bottom_widths), last_is_linear=False)
        features = (len(config.rows) + 1) * config.width
        self.crosses = nn.ModuleList(
            Cross(features, config.cross_rank) for _ in range(config.cross_layers)
        )
        self.top = perceptron((features, *config.top_widths), last_is_linear=True)

    def forward(self, dense_BI: Tensor, ids: list[Tensor]) -> Tensor:
        """Log odds of a click, (B,); `ids` holds (B, ids) for each table."""
        x0_BF = torch.cat((self.bottom(dense_BI), *self.tables(ids)), dim=-1)
        x_BF = x0_BF
        for cross in self.crosses:
            x_BF = cross(x0_BF, x_BF)
        odds: Tensor = self.top(x_BF)
        return odds.squeeze(-1)
