"""3D U-Net: blocks of two convolutions, downsampling and upsampling, with skip connections.

Written from Cicek et al., "3D U-Net", 2016, with the instance norms and filters of the benchmark.
Dimensions: B batch, C channels, D H W the volume's sides.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.unet3d.config import UNet3D


class Block(nn.Sequential):
    """Two convolutions, each with an instance norm; the first may halve the volume's sides."""

    def __init__(self, wide_in: int, wide_out: int, stride: int = 1) -> None:
        super().__init__(_layer(wide_in, wide_out, stride), _layer(wide_out, wide_out, 1))


def _layer(wide_in: int, wide_out: int, stride: int) -> nn.Sequential:
    layer = nn.Sequential()
    layer.add_module("conv", nn.Conv3d(wide_in, wide_out, 3, stride, padding=1, bias=False))
    layer.add_module("instancenorm", nn.InstanceNorm3d(wide_out, affine=True))
    layer.add_module("relu", nn.ReLU(inplace=True))
    return layer


class Up(nn.Module):
    """Doubles the sides, concatenates the skipped features, and convolves twice."""

    def __init__(self, wide_in: int, wide_out: int) -> None:
        super().__init__()
        self.deconv = nn.ConvTranspose3d(wide_in, wide_out, 2, stride=2)
        self.block = Block(2 * wide_out, wide_out)

    def forward(self, x_BCDHW: Tensor, skipped_BCDHW: Tensor) -> Tensor:
        """Features of the level above."""
        y: Tensor = self.block(torch.cat((self.deconv(x_BCDHW), skipped_BCDHW), 1))
        return y


class SegmentationNet(nn.Module):
    """The whole network: one input channel, logits of each class for every voxel."""

    def __init__(self, config: UNet3D) -> None:
        super().__init__()
        filters = config.filters
        steps = list(pairwise(filters))
        self.input_block = Block(1, filters[0])
        self.down = nn.ModuleList(Block(above, below, stride=2) for above, below in steps)
        self.up = nn.ModuleList(Up(below, above) for above, below in reversed(steps))
        self.output = nn.Conv3d(filters[0], config.classes, 1)

    def forward(self, x_BCDHW: Tensor) -> Tensor:
        """(B, 1, D, H, W) to (B, classes, D, H, W); sides must halve at every level."""
        x = self.input_block(x_BCDHW)
        skipped = []
        for down in self.down:
            skipped.append(x)
            x = down(x)
        for up in self.up:
            x = up(x, skipped.pop())
        y: Tensor = self.output(x)
        return y
