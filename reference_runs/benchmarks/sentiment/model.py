"""A convolutional text classifier: filters over consecutive words, and the maximum of each.

Source: Kim, Convolutional Neural Networks for Sentence Classification (2014), with the widths,
filters and activation of round 0.5's draft. Dimensions: B texts, L words, E embedding, C filters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.sentiment.config import Sentiment

PAD, OTHER = 0, 1
"""Indices of padding and of words that are not in the vocabulary."""


class TextCnn(nn.Module):
    """Embedding, filters of two widths, ELU, maximum over the text, two classes."""

    def __init__(self, config: Sentiment) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.embedding)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.embedding, config.filters, width) for width in config.filter_widths
        )
        self.output = nn.Linear(config.filters * len(config.filter_widths), 2)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, words_BL: Tensor) -> Tensor:
        """Logits of both classes, (B, 2); filter outputs at padding do not count."""
        there_BL = words_BL != PAD
        x_BEL = (self.embedding(words_BL) * there_BL.unsqueeze(-1)).transpose(1, 2)
        features = [
            self._max_over_time(convolution, x_BEL, there_BL) for convolution in self.convolutions
        ]
        scores: Tensor = self.output(torch.cat(features, dim=1))
        return scores

    def _max_over_time(self, convolution: nn.Module, x_BEL: Tensor, there_BL: Tensor) -> Tensor:
        width = int(convolution.kernel_size[0])  # type: ignore[index]
        before = (width - 1) // 2
        padded = F.pad(x_BEL, (before, width - 1 - before))
        answers_BCL = F.elu(convolution(padded))
        lowest = torch.finfo(answers_BCL.dtype).min
        return answers_BCL.masked_fill(~there_BL.unsqueeze(1), lowest).amax(-1)
