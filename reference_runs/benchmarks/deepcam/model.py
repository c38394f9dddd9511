"""DeepLabV3+ on a modified Xception of 65 layers, with a decoder that learns to upsample.

Written from Chen et al., Encoder-Decoder with Atrous Separable Convolution (2018), and Kurth et
al., Exascale Deep Learning for Climate Analytics (2018), whose decoder works at full resolution.
Dimensions: B batch, C channels, H height, W width.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.deepcam.config import CLASSES
from podium.reference_runs.modeling.normalization import GroupNormedBatch

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.deepcam.config import DeepCam


class Separable(nn.Sequential):
    """A 3 x 3 depthwise convolution, then a pointwise convolution."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, rate: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, inputs, 3, stride, rate, dilation=rate, groups=inputs, bias=False),
            nn.Conv2d(inputs, outputs, 1, bias=False),
        )


def normed(layer: nn.Module, width: int, span: int) -> nn.Sequential:
    """A layer, batch norm and ReLU."""
    return nn.Sequential(layer, GroupNormedBatch(width, span), nn.ReLU())


class Block(nn.Module):
    """Separable convolutions, each with batch norm, added to a skip connection.

    `widths` are those of the convolutions' inputs and of the output. A `tail` without norm follows
    if the block strides, or ends its flow of the network.
    """

    def __init__(
        self, widths: tuple[int, ...], span: int, *, stride: int = 1, tail: bool = False
    ) -> None:
        super().__init__()
        first, last = widths[0], widths[-1]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += normed(Separable(inputs, outputs), outputs, span)
        layers.pop()  # no ReLU before the sum
        if tail or stride != 1:
            layers.append(Separable(last, last, stride))
        self.inner = nn.Sequential(*layers)
        self.skip: nn.Module = nn.Identity()
        if first != last or stride != 1:
            skip = nn.Conv2d(first, last, 1, stride, bias=False)
            self.skip = nn.Sequential(skip, GroupNormedBatch(last, span))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The sum; the caller applies the ReLU."""
        y_BCHW: Tensor = self.inner(x_BCHW) + self.skip(x_BCHW)
        return y_BCHW


class Encoder(nn.Module):
    """The Xception: features at a sixteenth of the resolution, and at a quarter on the way."""

    def __init__(self, config: DeepCam) -> None:
        super().__init__()
        span = config.norm_span
        first, second, third, fourth, middle = config.entry_widths
        exit_first, *exit_rest = config.exit_widths
        self.stem = nn.Sequential(
            normed(nn.Conv2d(config.channels, first, 3, 2, 1, bias=False), first, span),
            normed(nn.Conv2d(first, second, 3, 1, 1, bias=False), second, span),
        )
        self.low_level = Block((second, third, third), span, stride=2)
        self.entry = Block((third, fourth, fourth), span, stride=2)
        self.last_entry = Block((fourth, middle, middle), span, stride=2)
        self.middle = nn.ModuleList(Block((middle,) * 4, span) for _ in range(config.middle_blocks))
        self.exit = Block((middle, middle, exit_first), span, tail=True)
        self.after = nn.Sequential(
            *(
                normed(Separable(inputs, outputs, rate=2), outputs, span)
                for inputs, outputs in pairwise((exit_first, *exit_rest))
            )
        )

    def forward(self, x_BCHW: Tensor) -> tuple[Tensor, Tensor]:
        """Features at a sixteenth and at a quarter of the resolution."""
        low = F.relu(self.low_level(self.stem(x_BCHW)))
        x_BCHW = F.relu(self.last_entry(F.relu(self.entry(low))))
        for block in self.middle:
            x_BCHW = F.relu(block(x_BCHW))
        return self.after(self.exit(x_BCHW)), low


class Pooled(nn.Module):
    """The map's mean, as one vector at every point."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.project = nn.Conv2d(inputs, outputs, 1, bias=False)
        # In place of batch norm, which has nothing to average over at one point.
        self.scale = nn.Parameter(torch.ones(outputs, 1, 1))
        self.shift = nn.Parameter(torch.zeros(outputs, 1, 1))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """(B, inputs, H, W) to (B, outputs, H, W)."""
        y = F.relu(self.project(x_BCHW.mean((2, 3), keepdim=True)) * self.scale + self.shift)
        return y.expand(-1, -1, *x_BCHW.shape[2:])


class Pyramid(nn.Module):
    """Atrous spatial pyramid pooling: parallel dilated convolutions, and the mean."""

    def __init__(self, config: DeepCam) -> None:
        super().__init__()
        span, inputs, width = config.norm_span, config.exit_widths[-1], config.pyramid_width
        dilated = (
            nn.Conv2d(inputs, width, 3, padding=rate, dilation=rate, bias=False)
            for rate in config.pyramid_rates
        )
        self.parts = nn.ModuleList(
            normed(layer, width, span)
            for layer in (nn.Conv2d(inputs, width, 1, bias=False), *dilated)
        )
        self.pooled = Pooled(inputs, width)
        joined = width * (len(self.parts) + 1)
        self.join = normed(nn.Conv2d(joined, width, 1, bias=False), width, span)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Encoder features to the pyramid's width."""
        parts = [part(x_BCHW) for part in self.parts]
        y_BCHW: Tensor = self.join(torch.cat((*parts, self.pooled(x_BCHW)), dim=1))
        return y_BCHW


class DeepLab(nn.Module):
    """Encoder, pyramid and decoder: a score of each class at each point."""

    def __init__(self, config: DeepCam) -> None:
        super().__init__()
        span, width = config.norm_span, config.pyramid_width
        low_level = config.entry_widths[2]
        self.encoder = Encoder(config)
        self.pyramid = Pyramid(config)
        for module in (*self.encoder.modules(), *self.pyramid.modules()):
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
        self.low_level = normed(
            nn.Conv2d(low_level, config.low_level_width, 1, bias=False),
            config.low_level_width,
            span,
        )
        self.to_quarter = nn.Sequential(
            normed(_upsampling(width, width), width, span),
            normed(_upsampling(width, width), width, span),
        )
        joined = width + config.low_level_width
        self.refine = nn.Sequential(
            normed(nn.Conv2d(joined, width, 3, padding=1, bias=False), width, span),
            normed(nn.Conv2d(width, width, 3, padding=1, bias=False), width, span),
            nn.Conv2d(width, width, 1),
        )
        self.to_full = nn.Sequential(
            normed(_upsampling(width, width), width, span), _upsampling(width, CLASSES)
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """(B, channels, H, W) to (B, classes, H, W); H and W are multiples of 16."""
        x_BCHW, low = self.encoder(x_BCHW)
        x_BCHW = self.to_quarter(self.pyramid(x_BCHW))
        x_BCHW = self.refine(torch.cat((x_BCHW, self.low_level(low)), dim=1))
        scores: Tensor = self.to_full(x_BCHW)
        return scores


def _upsampling(inputs: int, outputs: int) -> nn.Module:
    return nn.ConvTranspose2d(inputs, outputs, 3, stride=2, padding=1, output_padding=1, bias=False)
