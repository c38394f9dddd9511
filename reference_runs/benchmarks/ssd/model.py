"""SSD: a ResNet-34 without its last stage, five blocks to smaller maps, a predictor for each map.

Written from Liu et al., "SSD: Single Shot MultiBox Detector", 2016; He et al., "Deep Residual
Learning for Image Recognition", 2015; Huang et al., "Speed/accuracy trade-offs for modern
convolutional object detectors", 2017, section 3.1.3, for the backbone. Dimensions: B batch, C
channels, H and W height and width, A default boxes, K classes and the background.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.ssd.config import Extra
from podium.reference_runs.modeling.maps import StridedConv
from podium.reference_runs.modeling.normalization import GroupNormedBatch

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.ssd.config import Ssd

COORDINATES = 4

FAINT = 0.25
"""Scale of a block's residual part, in a body that is not trained yet."""


class Block(nn.Module):
    """Two 3 x 3 convolutions with a residual connection or projection."""

    def __init__(self, wide_in: int, width: int, stride: int, span: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide_in, width, 3, stride, padding=1, bias=False)
        self.bn1 = GroupNormedBatch(width, span)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = GroupNormedBatch(width, span)
        self.downsample: nn.Module = nn.Identity()
        if wide_in != width:
            project = nn.Conv2d(wide_in, width, 1, stride, bias=False)
            self.downsample = nn.Sequential(project, GroupNormedBatch(width, span))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The block's output, its sides divided by the stride."""
        y = F.relu(self.bn1(self.conv1(x_BCHW)))
        return F.relu(self.bn2(self.conv2(y)) + self.downsample(x_BCHW))


class Body(nn.Module):
    """The first three stages of the ResNet; the third does not halve its input."""

    def __init__(self, config: Ssd) -> None:
        super().__init__()
        width, span = config.base_width, config.model_bn_span
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = GroupNormedBatch(width, span)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        channels = width
        for stage, count in enumerate(config.units):
            wide = width * 2**stage
            halves = stage == 1
            first = Block(channels, wide, 2 if halves else 1, span)
            others = (Block(wide, wide, 1, span) for _ in range(count - 1))
            self.add_module(f"layer{stage + 1}", nn.Sequential(first, *others))
            channels = wide
        self.channels = channels
        self.stages = len(config.units)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, Block):
                nn.init.constant_(module.bn2.weight, FAINT)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Features at an 8th of the image's sides."""
        x: Tensor = self.maxpool(F.relu(self.bn1(self.conv1(x_BCHW))))
        for stage in range(1, self.stages + 1):
            x = self.get_submodule(f"layer{stage}")(x)
        return x


class Predictor(nn.Module):
    """The offsets and scores of the default boxes of one map, by one 3 x 3 convolution."""

    def __init__(self, channels: int, shapes: int, scores: int) -> None:
        super().__init__()
        self.shapes, self.sizes = shapes, (COORDINATES, scores)
        self.conv = nn.Conv2d(channels, shapes * sum(self.sizes), 3, padding=1)
        # As of two convolutions with separate numbers of outputs, one for each kind
        every = self.conv.weight.view(shapes, -1, channels, 3, 3)
        weights = torch.split(every, [*self.sizes], 1)
        with torch.no_grad():
            for part, size in zip(weights, self.sizes, strict=True):
                bound = math.sqrt(6 / (9 * (channels + shapes * size)))
                part.uniform_(-bound, bound)

    def forward(self, x_BCHW: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (B, A, K) and offsets (B, A, 4): positions row by row, then the boxes of one."""
        places = self.conv(x_BCHW).permute(0, 2, 3, 1).flatten(1, 2)
        boxes = places.unflatten(2, (self.shapes, -1)).flatten(1, 2)
        offsets, scores = boxes.split(self.sizes, -1)
        return scores, offsets


class Detector(nn.Module):
    """The whole network: images to the scores and the offsets of all default boxes."""

    def __init__(self, config: Ssd) -> None:
        super().__init__()
        self.body = Body(config)
        widths, extras = [self.body.channels], []
        for extra in map(Extra._make, config.extras):
            extras.append(_extra(widths[-1], extra))
            widths.append(extra.outputs)
        self.extras = nn.ModuleList(extras)
        self.predictors = nn.ModuleList(
            Predictor(width, shapes, 1 + config.classes)
            for width, shapes in zip(widths, config.shapes(), strict=True)
        )

    def forward(self, images_BCHW: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (B, A, K), those of the background first, and offsets (B, A, 4)."""
        maps = [self.body(images_BCHW)]
        for block in self.extras:
            maps.append(block(maps[-1]))
        parts = [predict(x) for predict, x in zip(self.predictors, maps, strict=True)]
        scores, offsets = zip(*parts, strict=True)
        return torch.cat(scores, 1), torch.cat(offsets, 1)


def _extra(channels: int, extra: Extra) -> nn.Sequential:
    """A block to a smaller map, without norms."""
    block = nn.Sequential(
        nn.Conv2d(channels, extra.inside, 1),
        nn.ReLU(),
        StridedConv(extra.inside, extra.outputs, 3, extra.stride, extra.padding),
        nn.ReLU(),
    )
    for module in block:
        if isinstance(module, nn.Conv2d):
            nn.init.xavier_uniform_(module.weight)
    return block
