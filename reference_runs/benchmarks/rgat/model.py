"""A relational graph attention network: one attention per relation, summed at each target.

Written from Busbridge et al., Relational Graph Attention Networks (2019), and Velickovic et al.,
Graph Attention Networks (2018). Dimensions: S source nodes, T target nodes, K drawn neighbors, H
heads, E head width, D = H · E, C classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.rgat.hashing import uniform_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from podium.reference_runs.benchmarks.rgat.batch import Block, Sampled
    from podium.reference_runs.benchmarks.rgat.config import Relation, Rgat

SLOPE = 0.2
"""Slope of the leaky ReLU for attention scores."""


class Attention(nn.Module):
    """Graph attention of one relation; sources and targets share one projection."""

    def __init__(self, features: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(features, width, bias=False)
        self.of_source = nn.Parameter(torch.empty(heads, width // heads))
        self.of_target = nn.Parameter(torch.empty(heads, width // heads))
        self.bias = nn.Parameter(torch.zeros(width))
        for weight in (self.project.weight, self.of_source, self.of_target):
            nn.init.xavier_uniform_(weight)

    def forward(self, x_SD: Tensor, sources_TK: Tensor, there_TK: Tensor) -> Tensor:
        """(S, features) to (T, D); the first T nodes are the targets."""
        count, neighbours = sources_TK.shape
        value_SHE = self.project(x_SD).view(len(x_SD), self.heads, -1)
        score_SH = (value_SHE * self.of_source).sum(-1)
        own_TH = (value_SHE[:count] * self.of_target).sum(-1)
        flat = sources_TK.flatten()
        score_TKH = score_SH[flat].view(count, neighbours, -1) + own_TH[:, None]
        score_TKH = F.leaky_relu(score_TKH, SLOPE).float()
        # Finite, since the softmax of a row of -inf is NaN; too large for half precision
        score_TKH = score_TKH.masked_fill(~there_TK[..., None], -1e30)
        # The softmax of a target without neighbors would be uniform: its weights become 0.
        weight_TKH = score_TKH.softmax(1) * there_TK[..., None]
        value_TKHE = value_SHE[flat].view(count, neighbours, self.heads, -1)
        y_THE = torch.einsum("tkh,tkhe->the", weight_TKH.to(value_TKHE.dtype), value_TKHE)
        return y_THE.reshape(count, -1) + self.bias


class Layer(nn.Module):
    """All relations of one layer."""

    def __init__(self, config: Rgat, features: int) -> None:
        super().__init__()
        self.relations = config.relations
        self.attention = nn.ModuleList(
            Attention(features, config.width, config.heads) for _ in config.relations
        )

    def forward(self, nodes: Mapping[str, Tensor], block: Block) -> dict[str, Tensor]:
        """Input nodes of each kind to the block's targets of each kind."""
        out: dict[str, Tensor] = {}
        for (source, name, target), attention in zip(self.relations, self.attention, strict=True):
            relation: Relation = (source, name, target)
            if len(block.targets[target]) == 0 or len(nodes[source]) == 0:
                continue
            x = nodes[source]
            if source != target:
                # The attention uses its first rows as targets, which are of another kind here
                x = torch.cat((nodes[target][: len(block.targets[target])], x))
            rows = block.sources[relation] + (len(x) - len(nodes[source]))
            y = attention(x, rows, block.there[relation])
            out[target] = out[target] + y if target in out else y
        return out


class RGAT(nn.Module):
    """Layers with leaky ReLU and dropout between, then a linear classifier of papers."""

    def __init__(self, config: Rgat) -> None:
        super().__init__()
        widths = (config.features, *[config.width] * (len(config.fan_outs) - 1))
        self.layers = nn.ModuleList(Layer(config, width) for width in widths)
        self.output = nn.Linear(config.width, config.classes)
        self.dropout = config.dropout

    def forward(self, batch: Sampled) -> Tensor:
        """Logits of each class for the batch's seeds, (seeds, C)."""
        nodes: Mapping[str, Tensor] = batch.features
        for number, (layer, block) in enumerate(zip(self.layers, batch.blocks, strict=True)):
            nodes = layer(nodes, block)
            if number < len(self.layers) - 1:
                draw = batch.draw * len(self.layers) + number
                nodes = {
                    kind: self._dropped(F.leaky_relu(x), block.targets[kind], draw)
                    for kind, x in _with_empty_kinds(nodes, block, self.output.in_features).items()
                }
        scores: Tensor = self.output(nodes["paper"])
        return scores

    def _dropped(self, x_TD: Tensor, ids_T: Tensor, draw: int) -> Tensor:
        """Dropout that depends on the node and the draw only, not on the batch's other nodes."""
        if not self.training or self.dropout == 0:
            return x_TD
        channels_D = torch.arange(x_TD.shape[1], device=x_TD.device)
        kept = uniform_tensor(ids_T[:, None] * x_TD.shape[1] + channels_D, draw) >= self.dropout
        return x_TD * kept / (1 - self.dropout)


def _with_empty_kinds(nodes: Mapping[str, Tensor], block: Block, width: int) -> dict[str, Tensor]:
    """Add empty tensors for kinds without nodes in the batch, which the next layer expects."""
    like = nodes["paper"]
    return {
        kind: nodes[kind] if kind in nodes else like.new_zeros(len(ids), width)
        for kind, ids in block.targets.items()
    }
