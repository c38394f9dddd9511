"""The U-Net of Stable Diffusion v2: residual blocks, self-attention and attention to the text.

Written from the published description (Rombach et al., "High-Resolution Image Synthesis with Latent
Diffusion Models", 2022) and the reference's configuration. Dimensions: B batch, C channels, L
positions of an image or words of a text, D channels in a sequence, H heads, E head width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.attention import joined_heads, split_heads
from podium.reference_runs.modeling.diffusion import sinusoids

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.stable_diffusion.config import StableDiffusion

ATTENTION_EPSILON = 1e-6
"""Epsilon of the norm before attention; the others have torch's default."""
INNER = 4
"""Inner width of a feed-forward layer, and of the step embedding, as a multiple of the width."""


class Residual(nn.Module):
    """Two convolutions with the step's embedding in between, and a residual connection."""

    def __init__(self, config: StableDiffusion, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(config.norm_groups, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(INNER * config.channels, outputs)
        self.norm2 = nn.GroupNorm(config.norm_groups, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x_BCHW: Tensor, time_BD: Tensor) -> Tensor:
        """(B, inputs, height, width) to (B, outputs, height, width)."""
        h = self.conv1(F.silu(self.norm1(x_BCHW)))
        h = h + self.time(F.silu(time_BD))[:, :, None, None]
        y: Tensor = self.skip(x_BCHW) + self.conv2(F.silu(self.norm2(h)))
        return y


class Attention(nn.Module):
    """Attention from positions of the image to a sequence, which may be the image itself."""

    def __init__(self, config: StableDiffusion, width: int, row_width: int) -> None:
        super().__init__()
        self.size = config.head_width
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(row_width, width, bias=False)
        self.value = nn.Linear(row_width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x_BLD: Tensor, row: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        q, k, v = (
            split_heads(projection, self.size)
            for projection in (self.query(x_BLD), self.key(row), self.value(row))
        )
        y: Tensor = self.out(joined_heads(F.scaled_dot_product_attention(q, k, v)))
        return y


class Transformer(nn.Module):
    """Self-attention, attention to the text, and a gated feed-forward layer."""

    def __init__(self, config: StableDiffusion, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(config.attention_groups, width, eps=ATTENTION_EPSILON)
        self.inward, self.outward = nn.Linear(width, width), nn.Linear(width, width)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.image = Attention(config, width, width)
        self.text = Attention(config, width, config.context_width)
        self.up = nn.Linear(width, 2 * INNER * width)
        self.down = nn.Linear(INNER * width, width)

    def forward(self, x_BCHW: Tensor, text: Tensor) -> Tensor:
        """(B, C, height, width) to the same shape."""
        x = self.inward(self.norm(x_BCHW).flatten(2).transpose(1, 2))
        x = x + self.image(h := self.norm1(x), h)
        x = x + self.text(self.norm2(x), text)
        inner, gate = self.up(self.norm3(x)).chunk(2, dim=-1)
        x = x + self.down(inner * F.gelu(gate))
        y: Tensor = x_BCHW + self.outward(x).transpose(1, 2).view_as(x_BCHW)
        return y


class Level(nn.Module):
    """Residual blocks at one resolution, with attention after each or after none."""

    def __init__(
        self, config: StableDiffusion, inputs: list[int], outputs: int, *, attends: bool
    ) -> None:
        super().__init__()
        self.residual = nn.ModuleList(Residual(config, width, outputs) for width in inputs)
        count = len(inputs) if attends else 0
        self.attention = nn.ModuleList(Transformer(config, outputs) for _ in range(count))

    def step(self, index: int, x_BCHW: Tensor, time_BD: Tensor, text: Tensor) -> Tensor:
        """The output of one of the blocks."""
        x_BCHW = self.residual[index](x_BCHW, time_BD)
        if len(self.attention):
            x_BCHW = self.attention[index](x_BCHW, text)
        return x_BCHW


class Down(Level):
    """A level of the downsampling path."""

    def __init__(
        self, config: StableDiffusion, inputs: list[int], outputs: int, *, attends: bool, last: bool
    ) -> None:
        super().__init__(config, inputs, outputs, attends=attends)
        self.resize = None if last else nn.Conv2d(outputs, outputs, 3, stride=2, padding=1)

    def forward(self, x_BCHW: Tensor, time_BD: Tensor, text: Tensor) -> list[Tensor]:
        """All outputs for the skip connections, the last of which is the next level's input."""
        outputs = []
        for index in range(len(self.residual)):
            x_BCHW = self.step(index, x_BCHW, time_BD, text)
            outputs.append(x_BCHW)
        return outputs if self.resize is None else [*outputs, self.resize(x_BCHW)]


class Up(Level):
    """A level of the upsampling path."""

    def __init__(
        self, config: StableDiffusion, inputs: list[int], outputs: int, *, attends: bool, last: bool
    ) -> None:
        super().__init__(config, inputs, outputs, attends=attends)
        self.resize = None if last else nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(
        self, x_BCHW: Tensor, skipped: list[Tensor], time_BD: Tensor, text: Tensor
    ) -> Tensor:
        """Takes from the end of `skipped` the second input of each block."""
        for index in range(len(self.residual)):
            both = torch.cat((x_BCHW, skipped.pop()), dim=1)
            x_BCHW = self.step(index, both, time_BD, text)
        if self.resize is not None:
            x_BCHW = self.resize(F.interpolate(x_BCHW, scale_factor=2.0, mode="nearest"))
        return x_BCHW


class UNet(nn.Module):
    """Predicts v of noisy latents, with random weights as in the reference."""

    def __init__(self, config: StableDiffusion) -> None:
        super().__init__()
        self.channels = config.channels
        widths = [config.channels * multiple for multiple in config.multiples]
        embedded, levels = INNER * config.channels, range(len(widths))
        self.time_inner = nn.Linear(config.channels, embedded)
        self.time_out = nn.Linear(embedded, embedded)
        self.conv_in = nn.Conv2d(config.latent_channels, widths[0], 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        skipped = [widths[0]]
        for level in levels:
            inputs = [skipped[-1], *[widths[level]] * (config.blocks - 1)]
            ends = {"attends": level < config.attention_levels, "last": level == levels[-1]}
            self.down.append(Down(config, inputs, widths[level], **ends))
            skipped += [widths[level]] * (config.blocks + (not ends["last"]))
        self.middle = Level(config, [widths[-1]] * 2, widths[-1], attends=True)
        # The middle has attention only between its two blocks
        del self.middle.attention[1]
        below = widths[-1]
        for level in reversed(levels):
            inputs = [width + skipped.pop() for width in (below, *[widths[level]] * config.blocks)]
            ends = {"attends": level < config.attention_levels, "last": level == 0}
            self.up.append(Up(config, inputs, below := widths[level], **ends))
        self.norm_out = nn.GroupNorm(config.norm_groups, widths[0])
        self.conv_out = nn.Conv2d(widths[0], config.latent_channels, 3, padding=1)
        self._silence()

    def _silence(self) -> None:
        """Set the last layer of every block, and the output, to zero."""
        for module in self.modules():
            if isinstance(module, Residual):
                _zero(module.conv2)
            elif isinstance(module, Transformer):
                _zero(module.outward)
        _zero(self.conv_out)

    def forward(self, latents_BCHW: Tensor, step_B: Tensor, text: Tensor) -> Tensor:
        """V of the latents' shape, from steps counted from 0 and encoded captions (B, L, D)."""
        embedded = sinusoids(step_B, self.channels).type_as(latents_BCHW)
        time = self.time_out(F.silu(self.time_inner(embedded)))
        seen = [self.conv_in(latents_BCHW)]
        for level in self.down:
            seen.extend(level(seen[-1], time, text))
        x = self.middle.residual[0](seen[-1], time)
        x = self.middle.residual[1](self.middle.attention[0](x, text), time)
        for level in self.up:
            x = level(x, seen, time, text)
        y: Tensor = self.conv_out(F.silu(self.norm_out(x)))
        return y


def _zero(layer: nn.Module) -> None:
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
