"""The Transformer, written from Vaswani et al., Attention Is All You Need (2017).

As in the benchmark's reference, layer normalization comes before each sub-layer, attention has no
biases, and one matrix is source embedding, target embedding and output projection. Dimensions: B
batch, S source length, L target length, M cached length, D model width, H heads, E head width, V
vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.beams import PAD

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.transformer.config import Transformer


Memory = tuple[Tensor, Tensor]
"""Keys and values of the attended positions, each (B, H, M, E)."""


def positions(first: int, last: int, like: Tensor) -> Tensor:
    """Sines, then cosines, of each position at falling frequencies, (L, D)."""
    half = like.shape[-1] // 2
    rates = torch.arange(half, device=like.device) * (-math.log(1e4) / max(half - 1, 1))
    angles = torch.arange(first, last, device=like.device)[:, None] * rates.exp()
    return torch.cat((angles.sin(), angles.cos()), dim=-1).type_as(like)


class Attention(nn.Module):
    """Multi-head attention whose keys and values can be cached between decoding steps."""

    def __init__(self, config: Transformer) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key = nn.Linear(config.width, config.width, bias=False)
        self.value = nn.Linear(config.width, config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def _split(self, x_BLD: Tensor) -> Tensor:
        batch, length, _ = x_BLD.shape
        return x_BLD.view(batch, length, self.heads, -1).transpose(1, 2)

    def remember(self, x_BMD: Tensor) -> Memory:
        """Keys and values of (B, M, D), for later attention."""
        return self._split(self.key(x_BMD)), self._split(self.value(x_BMD))

    def forward(self, x_BLD: Tensor, memory: Memory, mask: Tensor | None, causal: bool) -> Tensor:
        """Attend to the memory where the mask is true; (B, L, D) to (B, L, D)."""
        y_BHLE = F.scaled_dot_product_attention(
            self._split(self.query(x_BLD)), *memory, attn_mask=mask, is_causal=causal
        )
        y: Tensor = self.out(y_BHLE.transpose(1, 2).flatten(2))
        return y


class FeedForward(nn.Sequential):
    """Two linear maps with ReLU and dropout between them."""

    def __init__(self, config: Transformer) -> None:
        super().__init__(
            nn.Linear(config.width, config.ffn_width),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.ffn_width, config.width),
        )


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each after a norm and with a residual connection."""

    def __init__(self, config: Transformer) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(config.width, eps=1e-6) for _ in range(2))
        self.attention = Attention(config)
        self.ffn = FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_BSD: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) to (B, S, D)."""
        y_BSD = self.norms[0](x_BSD)
        looked = self.attention(y_BSD, self.attention.remember(y_BSD), mask, False)
        x_BSD = x_BSD + self.dropout(looked)
        y: Tensor = x_BSD + self.dropout(self.ffn(self.norms[1](x_BSD)))
        return y


class DecoderLayer(nn.Module):
    """Attention to earlier words, attention to the source, feed-forward."""

    def __init__(self, config: Transformer) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(config.width, eps=1e-6) for _ in range(3))
        self.attention = Attention(config)
        self.source_attention = Attention(config)
        self.ffn = FeedForward(config)
        self.dropout = nn.Dropout(config.dropout)

    def remember(self, x_BSD: Tensor) -> Memory:
        """The layer's keys and values of the encoded source."""
        return self.source_attention.remember(x_BSD)

    def forward(
        self, x_BLD: Tensor, past: Memory | None, source: Memory, mask: Tensor
    ) -> tuple[Tensor, Memory]:
        """(B, L, D) to (B, L, D), and the past with these words; one word if there is a past."""
        y_BLD = self.norms[0](x_BLD)
        seen = self.attention.remember(y_BLD)
        if past is not None:
            seen = torch.cat((past[0], seen[0]), 2), torch.cat((past[1], seen[1]), 2)
        x_BLD = x_BLD + self.dropout(self.attention(y_BLD, seen, None, past is None))
        looked = self.source_attention(self.norms[1](x_BLD), source, mask, False)
        x_BLD = x_BLD + self.dropout(looked)
        return x_BLD + self.dropout(self.ffn(self.norms[2](x_BLD))), seen


class Translator(nn.Module):
    """Encoder and decoder with a shared embedding."""

    def __init__(self, config: Transformer) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.encoder_norm = nn.LayerNorm(config.width, eps=1e-6)
        self.decoder_norm = nn.LayerNorm(config.width, eps=1e-6)
        self.dropout = nn.Dropout(config.dropout)
        for name, parameter in self.named_parameters():
            if "embedding" in name:
                nn.init.normal_(parameter, std=config.width**-0.5)
            elif parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif "norm" not in name:
                nn.init.zeros_(parameter)

    def _embed(self, tokens_BL: Tensor, first: int) -> Tensor:
        x_BLD = self.embedding(tokens_BL) * (tokens_BL != PAD).unsqueeze(-1)
        x_BLD = x_BLD * math.sqrt(x_BLD.shape[-1])
        y: Tensor = self.dropout(x_BLD + positions(first, first + tokens_BL.shape[1], x_BLD))
        return y

    def encode(self, source_BS: Tensor) -> tuple[list[Memory], Tensor]:
        """Each decoder layer's memory of the source, and the mask of its words, (B, 1, 1, S)."""
        mask = (source_BS != PAD)[:, None, None, :]
        x_BSD = self._embed(source_BS, 0)
        for layer in self.encoder:
            x_BSD = layer(x_BSD, mask)
        x_BSD = self.encoder_norm(x_BSD)
        return [layer.remember(x_BSD) for layer in self.decoder], mask  # type: ignore[operator]

    def decode(
        self, tokens_BL: Tensor, past: list[Memory] | None, source: tuple[list[Memory], Tensor]
    ) -> tuple[Tensor, list[Memory]]:
        """Logits of the word after each token, (B, L, V), and the past with these tokens."""
        memories, mask = source
        x_BLD = self._embed(tokens_BL, 0 if past is None else past[0][0].shape[2])
        seen = []
        for number, layer in enumerate(self.decoder):
            earlier = None if past is None else past[number]
            x_BLD, now = layer(x_BLD, earlier, memories[number], mask)
            seen.append(now)
        return F.linear(self.decoder_norm(x_BLD), self.embedding.weight), seen

    def forward(self, source_BS: Tensor, target_BL: Tensor) -> Tensor:
        """Logits of each target word given those before it, (B, L, V)."""
        before_BL = F.pad(target_BL[:, :-1], (1, 0), value=PAD)
        return self.decode(before_BL, None, self.encode(source_BS))[0]
