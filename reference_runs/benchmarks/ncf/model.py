"""NeuMF: matrix factorization and an MLP in parallel, combined in the last layer.

Written from He et al., Neural Collaborative Filtering (2017). Dimensions: B samples, M width of the
factorization, P width of the MLP's input.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.ncf.config import Ncf


class NeuMF(nn.Module):
    """Two pairs of embeddings: one is multiplied, the other is the input of an MLP."""

    def __init__(self, config: Ncf) -> None:
        super().__init__()
        first, *widths = config.mlp_widths
        self.mf_user = nn.Embedding(config.users, config.mf_width)
        self.mf_item = nn.Embedding(config.items, config.mf_width)
        self.mlp_user = nn.Embedding(config.users, first // 2)
        self.mlp_item = nn.Embedding(config.items, first // 2)
        layers: list[nn.Module] = []
        for width in widths:
            layers += [nn.Linear(first, width), nn.ReLU()]
            first = width
        self.mlp = nn.Sequential(*layers)
        self.output = nn.Linear(config.mf_width + first, 1)
        self._initialise()

    def forward(self, user_B: Tensor, item_B: Tensor) -> Tensor:
        """Log odds that the user selects the item, (B,)."""
        product_BM = self.mf_user(user_B) * self.mf_item(item_B)
        both_BP = torch.cat((self.mlp_user(user_B), self.mlp_item(item_B)), dim=-1)
        odds: Tensor = self.output(torch.cat((product_BM, self.mlp(both_BP)), dim=-1))
        return odds.squeeze(-1)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.01)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        # LeCun's uniform initialization: variance one over the inputs.
        bound = math.sqrt(3 / self.output.in_features)
        nn.init.uniform_(self.output.weight, -bound, bound)
