"""Embedding tables of recommenders, with bags of ids, and their MLPs.

Dimensions: B bags, K ids of a bag, D embedding width.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Tables(nn.ModuleList):
    """Embedding bags; on a mesh the large ones are divided among ranks."""

    large: Sequence[int] = ()
    """Indices of the tables that `look_up` handles, which communicates with the other ranks."""
    look_up: Callable[[Sequence[nn.Module], Sequence[Tensor]], Sequence[Tensor]] | None = None

    def forward(self, ids: Sequence[Tensor], numbers: Sequence[int] | None = None) -> list[Tensor]:
        """The sum of each bag's rows, (B, D) for each table; `ids` has (B, K) for each.

        numbers: indices of the tables that the ids belong to; all tables by default.
        """
        asked = dict(zip(numbers or range(len(self)), ids, strict=True))
        large_sums: dict[int, Tensor] = {}
        large = [index for index in asked if index in self.large]
        if self.look_up is not None and large:
            sums = self.look_up([self[index] for index in large], [asked[index] for index in large])
            large_sums = dict(zip(large, sums, strict=True))
        return [
            large_sums[index] if index in large_sums else self[index](table_ids)
            for index, table_ids in asked.items()
        ]


def table(rows: int, width: int, sparse: bool) -> nn.EmbeddingBag:
    """A table with uniform values between ±1/√rows; `sparse` is torch's option."""
    # Created empty: EmbeddingBag's own initialization is discarded, and takes minutes at full size.
    weight = torch.empty(rows, width)
    bound = math.sqrt(1 / rows)
    nn.init.uniform_(weight, -bound, bound)
    return nn.EmbeddingBag(rows, width, mode="sum", sparse=sparse, _weight=weight)


def perceptron(widths: Sequence[int], *, last_is_linear: bool) -> nn.Sequential:
    """Linear layers with normal initial weights and ReLU between them, or after each."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = nn.Linear(inputs, outputs)
        nn.init.normal_(linear.weight, std=math.sqrt(2 / (inputs + outputs)))
        nn.init.normal_(linear.bias, std=math.sqrt(1 / outputs))
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*(layers[:-1] if last_is_linear else layers))
