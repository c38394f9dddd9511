"""The common parts of language-model decoders: embedding, blocks, norm, output, SwiGLU.

Dimensions: B batch, L sequence length, D model width, T tokens, V vocabulary, P rotated pairs of
channels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.recompute import recomputed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RMS_EPSILON = 1e-5
SLICE = 2048
"""Tokens whose logits exist at once: those of 8192 tokens over 128 256 words take 4 GB."""


DEEP = ("out.weight", "down.weight", "experts.down")
"""Name suffixes of the tensors whose product is added to the residual stream."""


def deviation_of(name: str, deviation: float, layers: int) -> float:
    """The standard deviation of a tensor's initial values, given that of most tensors.

    Each block adds twice to the residual stream: its variance is kept independent of depth.
    """
    return deviation / math.sqrt(2 * layers if name.endswith(DEEP) else 1)


def initialise(model: nn.Module, deviation: float, layers: int) -> None:
    """Initialize all tensors except vectors from normal distributions with mean 0."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=deviation_of(name, deviation, layers))


class Sizes(Protocol):
    """The sizes that a decoder reads from its config."""

    @property
    def vocabulary(self) -> int:
        """Size of the vocabulary."""

    @property
    def width(self) -> int:
        """Width of the residual stream."""

    @property
    def recompute(self) -> bool:
        """Whether blocks recompute their activations for the backward pass."""


class FeedForward(nn.Module):
    """SwiGLU: one projection gates another."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        y: Tensor = self.down(F.silu(self.gate(x_BLD)) * self.up(x_BLD))
        return y


class Stack(nn.Module):
    """An embedding, blocks, a norm and an output projection: the common structure of decoders.

    `blocks` are built here, between the embedding and the norm; each accepts (B, L, D) and angles.
    """

    frequencies: Tensor
    ends: bool = True
    """Whether this module has the output; earlier pipeline stages return the residual stream."""

    def __init__(
        self,
        config: Sizes,
        blocks: Iterable[nn.Module],
        frequencies: Tensor,
        epsilon: float = RMS_EPSILON,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(blocks)
        self.norm: nn.Module = nn.RMSNorm(config.width, eps=epsilon)
        self.output = nn.Linear(config.width, config.vocabulary, bias=False)
        # Not in checkpoints: it is determined by the config
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.recompute, self.width = config.recompute, config.width

    def forward(self, tokens_BL: Tensor, targets_BL: Tensor | None = None) -> Tensor:
        """Logits of each next token, (B, L, V); with targets, their summed cross-entropy."""
        angles_LP = self.angles(tokens_BL)
        x_BLD = self.embedded(tokens_BL)
        for block in self.blocks:
            x_BLD = self.checkpointed(block, x_BLD, angles_LP)
        if not self.ends:
            return x_BLD
        if targets_BL is None:
            return self.scores(self.norm(x_BLD))
        return self.entropy(x_BLD, targets_BL, self.norm)

    def embedded(self, tokens_BL: Tensor) -> Tensor:
        """The input of the first block, (B, L, D)."""
        x_BLD: Tensor = self.embedding(tokens_BL)
        return x_BLD

    def scores(self, x_TD: Tensor) -> Tensor:
        """Logits over the vocabulary, (..., V), from the normalized residual stream."""
        scores_TV: Tensor = self.output(x_TD)
        return scores_TV

    def angles(self, tokens_BL: Tensor) -> Tensor:
        """Rotation angles of the channels at each position, (L, P)."""
        positions = self.positions(tokens_BL.shape[1], tokens_BL.device)
        return positions[:, None] * self.frequencies.to(tokens_BL.device)

    def entropy(self, x_BLD: Tensor, targets_BL: Tensor, norm: nn.Module) -> Tensor:
        """The cross-entropy of the logits of the normalized x, summed over tokens."""
        return torch.stack(self.in_slices(self._entropy, x_BLD, targets_BL, norm)).sum()

    def in_slices(
        self, part: Callable[..., Tensor], x_BLD: Tensor, targets_BL: Tensor, *more: Any
    ) -> list[Tensor]:
        """Apply a function to slices of the tokens, so that few logits exist at once."""
        flat = x_BLD.flatten(0, 1), targets_BL.flatten()
        slices = zip(*(torch.split(tensor, SLICE) for tensor in flat), strict=True)
        return [self.checkpointed(part, x, t, *more) for x, t in slices]

    def positions(self, length: int, device: torch.device) -> Tensor:
        """The positions of the tokens in a sequence, (L,)."""
        return torch.arange(length, device=device)

    def _entropy(self, x_TD: Tensor, targets_T: Tensor, norm: nn.Module) -> Tensor:
        scores_TV = self.scores(norm(x_TD)).float()
        return F.cross_entropy(scores_TV, targets_T, reduction="sum")

    def checkpointed(self, part: Callable[..., Any], *inputs: Any) -> Any:
        """Call a module; only its inputs are kept for the backward pass."""
        return recomputed(self.recompute, part, *inputs)
