"""The FLUX.1 transformer: image and text in separate streams, then in one.

Written from the published description (Esser et al., "Scaling Rectified Flow Transformers for
High-Resolution Image Synthesis", 2024) and the released model's configuration. Dimensions: B batch,
T text tokens, I image tokens, L both, D width, H heads, E head width, S text width, P pooled width,
N pairs of a head's channels; latents are (B, C, height, width).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.diffusion import sinusoids
from podium.reference_runs.modeling.recompute import recomputed

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.flux1.config import Flux

EPSILON = 1e-6
"""Epsilon of all norms."""
VECTORS = ("time_in.", "pooled_in.")
"""Modules that embed times and captions, with normal initial weights."""
DEVIATION = 0.02
ZERO = ("modulation.linear.weight", "image_out.weight")
"""Name suffixes of weights that are initialized to 0."""
TIME_FACTOR = 1000.0
"""Number of steps that a time from 0 to 1 is scaled to for its embedding."""


def rotary_angles(config: Flux, device: torch.device) -> Tensor:
    """Angles of each pair of a head's channels, (L, N): text at 0, patches at row and column."""
    side = config.latent_size // config.patch
    grid = torch.arange(side, device=device)
    image = torch.stack((torch.zeros(side * side, device=device), *_rows_columns(grid)), -1)
    text = torch.zeros(config.text_length, image.shape[1], device=device)
    places_LA = torch.cat((text, image))
    parts = []
    for axis, channels in enumerate(config.axes):
        exponents = torch.arange(0, channels, 2, dtype=torch.float32, device=device) / channels
        parts.append(places_LA[:, axis, None] * config.rope_theta**-exponents)
    return torch.cat(parts, -1)


def _rows_columns(grid: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = torch.meshgrid(grid, grid, indexing="ij")
    return rows.flatten(), columns.flatten()


def rotate_pairs(x_BHLE: Tensor, angles_LN: Tensor) -> Tensor:
    """Rotate each pair of adjacent channels by its token's angle."""
    cos, sin = angles_LN.cos(), angles_LN.sin()
    first, second = x_BHLE.float().view(*x_BHLE.shape[:-1], -1, 2).unbind(-1)
    turned = torch.stack((first * cos - second * sin, first * sin + second * cos), -1)
    return turned.flatten(-2).type_as(x_BHLE)


class Vector(nn.Module):
    """Two layers that embed a property of the sample for the modulation of blocks."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.inner, self.out = nn.Linear(inputs, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs) to (B, D)."""
        y: Tensor = self.out(F.silu(self.inner(x)))
        return y


class Modulation(nn.Module):
    """Shifts, scales and gates of a block, from the sample's vector."""

    def __init__(self, width: int, parts: int) -> None:
        super().__init__()
        self.parts, self.linear = parts, nn.Linear(width, parts * width)

    def forward(self, vector_BD: Tensor) -> tuple[Tensor, ...]:
        """One (B, 1, D) for each of the parts."""
        y: Tensor = self.linear(F.silu(vector_BD))
        return y[:, None].chunk(self.parts, dim=-1)


def modulated(x_BLD: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Normalized along the width, scaled and shifted."""
    return F.layer_norm(x_BLD, x_BLD.shape[-1:], eps=EPSILON) * (1 + scale) + shift


class Heads(nn.Module):
    """Queries, keys and values by head, the first two normalized."""

    def __init__(self, config: Flux) -> None:
        super().__init__()
        self.count, size = config.heads, config.width // config.heads
        # As in the reference: with the epsilon of the type
        self.query, self.key = nn.RMSNorm(size), nn.RMSNorm(size)

    def forward(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(B, L, 3·D) to three of (B, H, L, E)."""
        parts = qkv.view(*qkv.shape[:2], 3, self.count, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind()
        return self.query(q).type_as(v), self.key(k).type_as(v), v


def attend(q: Tensor, k: Tensor, v: Tensor, angles_LN: Tensor) -> Tensor:
    """Full attention between all tokens, (B, L, D)."""
    q, k = rotate_pairs(q, angles_LN), rotate_pairs(k, angles_LN)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class Stream(nn.Module):
    """The layers of a double block for one stream, image or text."""

    def __init__(self, config: Flux) -> None:
        super().__init__()
        width, inner = config.width, config.inner_ratio * config.width
        self.modulation = Modulation(width, 6)
        self.qkv, self.heads = nn.Linear(width, 3 * width), Heads(config)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def finish(self, x_BLD: Tensor, attended_BLD: Tensor, parts: tuple[Tensor, ...]) -> Tensor:
        """Add the attention output, and then the output of a feed-forward layer."""
        gate, shift, scale, last_gate = parts
        x_BLD = x_BLD + gate * self.out(attended_BLD)
        inner = F.gelu(self.up(modulated(x_BLD, shift, scale)), approximate="tanh")
        y: Tensor = x_BLD + last_gate * self.down(inner)
        return y


class DoubleBlock(nn.Module):
    """Attention over both streams, which have separate weights."""

    def __init__(self, config: Flux) -> None:
        super().__init__()
        self.image, self.text = Stream(config), Stream(config)

    def forward(
        self, image_BID: Tensor, text_BTD: Tensor, vector_BD: Tensor, angles_LN: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Image and text to the same shapes."""
        streams = ((self.text, text_BTD), (self.image, image_BID))
        parts = [stream.modulation(vector_BD) for stream, _ in streams]
        heads = [
            stream.heads(stream.qkv(modulated(x, *part[:2])))
            for (stream, x), part in zip(streams, parts, strict=True)
        ]
        q, k, v = (torch.cat(pair, dim=2) for pair in zip(*heads, strict=True))
        lengths = [text_BTD.shape[1], image_BID.shape[1]]
        attended = torch.split(attend(q, k, v, angles_LN), lengths, dim=1)
        text, image = (
            stream.finish(x, attention, part[2:])
            for (stream, x), attention, part in zip(streams, attended, parts, strict=True)
        )
        return image, text


class SingleBlock(nn.Module):
    """Parallel attention and feed-forward layer, over text and image in one sequence."""

    def __init__(self, config: Flux) -> None:
        super().__init__()
        width, inner = config.width, config.inner_ratio * config.width
        self.sizes = [3 * width, inner]
        self.modulation = Modulation(width, 3)
        self.inward = nn.Linear(width, sum(self.sizes))
        self.heads = Heads(config)
        self.outward = nn.Linear(width + inner, width)

    def forward(self, x_BLD: Tensor, vector_BD: Tensor, angles_LN: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        shift, scale, gate = self.modulation(vector_BD)
        qkv, inner = self.inward(modulated(x_BLD, shift, scale)).split(self.sizes, dim=-1)
        q, k, v = self.heads(qkv)
        attended = attend(q, k, v, angles_LN)
        both = torch.cat((attended, F.gelu(inner, approximate="tanh")), dim=-1)
        y: Tensor = x_BLD + gate * self.outward(both)
        return y


class FluxTransformer(nn.Module):
    """The velocity of noisy latents, with random weights as in the benchmark's reference."""

    def __init__(self, config: Flux) -> None:
        super().__init__()
        self.config = config
        token, width = config.latent_channels * config.patch**2, config.width
        self.image_in, self.text_in = nn.Linear(token, width), nn.Linear(config.text_width, width)
        self.time_in = Vector(config.time_channels, width)
        self.pooled_in = Vector(config.pooled_width, width)
        self.double_blocks = nn.ModuleList(DoubleBlock(config) for _ in range(config.double_blocks))
        self.single_blocks = nn.ModuleList(SingleBlock(config) for _ in range(config.single_blocks))
        self.last_modulation = Modulation(width, 2)
        self.image_out = nn.Linear(width, token)
        self._initialise()

    def _initialise(self) -> None:
        """Blocks and output start with zero contribution: their gates and the last layer are 0."""
        for name, module in self.named_modules():
            if not isinstance(module, nn.Linear):
                continue
            nn.init.zeros_(module.bias)
            if name.startswith(VECTORS):
                nn.init.normal_(module.weight, std=DEVIATION)
            else:
                nn.init.xavier_uniform_(module.weight)
        for name, weight in self.named_parameters():
            if name.endswith(ZERO):
                nn.init.zeros_(weight)

    @property
    def blocks(self) -> list[nn.Module]:
        """All blocks, in order."""
        return [*self.double_blocks, *self.single_blocks]

    def forward(
        self, latents_BCHW: Tensor, text_BTS: Tensor, pooled_BP: Tensor, time_B: Tensor
    ) -> Tensor:
        """The velocity at times from 0 to 1, in the latents' shape."""
        embedded = sinusoids(TIME_FACTOR * time_B, self.config.time_channels)
        vector = self.time_in(embedded.type_as(pooled_BP)) + self.pooled_in(pooled_BP)
        angles = rotary_angles(self.config, latents_BCHW.device)
        image, text = self.image_in(self._tokens(latents_BCHW)), self.text_in(text_BTS)
        for block in self.double_blocks:
            image, text = self._run(block, image, text, vector, angles)
        x_BLD = torch.cat((text, image), dim=1)
        for block in self.single_blocks:
            x_BLD = self._run(block, x_BLD, vector, angles)
        image = modulated(x_BLD[:, text.shape[1] :], *self.last_modulation(vector))
        return self._latents(self.image_out(image))

    def _run(self, block: nn.Module, *inputs: Tensor) -> Tensor:
        """Call a block; with recomputation only its inputs are kept."""
        return cast("Tensor", recomputed(self.config.recompute, block, *inputs))

    def _tokens(self, latents_BCHW: Tensor) -> Tensor:
        """Flattened square patches, (B, I, channels · patch²)."""
        patch = self.config.patch
        return F.unfold(latents_BCHW, patch, stride=patch).transpose(1, 2)

    def _latents(self, tokens: Tensor) -> Tensor:
        """The inverse of `_tokens`."""
        patch, side = self.config.patch, self.config.latent_size
        return F.fold(tokens.transpose(1, 2), side, patch, stride=patch)
