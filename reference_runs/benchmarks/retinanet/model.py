"""RetinaNet: a ResNeXt with frozen norms, a feature pyramid, and two heads shared by its levels.

Written from Lin et al., "Focal Loss for Dense Object Detection", 2017, and Xie et al., "Aggregated
Residual Transformations for Deep Neural Networks", 2016. Dimensions: B batch, C channels, H and W
height and width, A anchors, K classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.detection.pyramid import (
    EXPANSION,
    Body,
    BodyShape,
    TopDown,
    kaiming_uniform,
)
from podium.reference_runs.modeling.maps import StridedConv

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.retinanet.config import RetinaNet

SHAPES = 9
"""Anchors per position: three sizes by three aspect ratios."""

PRIOR = 0.01
"""The initial probability of an object at every anchor."""

PUBLISHED_WIDTH = 256
"""Width of heads initialized with a deviation of 0.01; narrower ones keep the same gain."""


class Pyramid(TopDown):
    """Features of one width at five scales: three from the body, two by further halving."""

    def __init__(self, widths: list[int], width: int) -> None:
        super().__init__(widths, width)
        halving = {name: StridedConv(width, width, 3, stride=2, padding=1) for name in ("p6", "p7")}
        self.extra_blocks = nn.ModuleDict(halving)
        self.apply(kaiming_uniform)

    def forward(self, features: list[Tensor]) -> list[Tensor]:
        """P3 to P7, finest first."""
        levels = super().forward(features)
        levels.append(self.extra_blocks["p6"](levels[-1]))
        levels.append(self.extra_blocks["p7"](F.relu(levels[-1])))
        return levels


class Head(nn.Module):
    """Four convolutions and an output for each anchor, with shared weights at all levels."""

    def __init__(self, width: int, output: str, size: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        self.conv = nn.Sequential(*layers)
        self.output, self.size = output, size
        self.add_module(output, nn.Conv2d(width, SHAPES * size, 3, padding=1))
        self.apply(_small_normal)

    def forward(self, levels: list[Tensor]) -> Tensor:
        """(B, A, size): positions row by row, the anchors of a position consecutively."""
        outputs = []
        for level in levels:
            y = self.get_submodule(self.output)(self.conv(level))
            places = y.permute(0, 2, 3, 1).flatten(1, 2)
            outputs.append(places.unflatten(2, (SHAPES, self.size)).flatten(1, 2))
        return torch.cat(outputs, 1)


class Detector(nn.Module):
    """The whole network: images to the logits and the box offsets of every anchor."""

    def __init__(self, config: RetinaNet) -> None:
        super().__init__()
        shape = BodyShape(
            units=config.units,
            width=config.base_width,
            groups=config.groups,
            group_width=config.group_width,
        )
        wide = [config.base_width * EXPANSION * 2**stage for stage in (1, 2, 3)]
        self.backbone = nn.ModuleDict(
            {"body": Body(shape), "fpn": Pyramid(wide, config.pyramid_width)}
        )
        scores = Head(config.pyramid_width, "cls_logits", config.classes)
        boxes = Head(config.pyramid_width, "bbox_reg", 4)
        self.head = nn.ModuleDict({"classification_head": scores, "regression_head": boxes})
        # Otherwise the many anchors without an object dominate the first steps
        bias = scores.get_parameter("cls_logits.bias")
        nn.init.constant_(bias, -math.log((1 - PRIOR) / PRIOR))
        self.body.freeze(config.trainable_stages)

    @property
    def body(self) -> Body:
        """The residual network."""
        body = self.backbone["body"]
        assert isinstance(body, Body)
        return body

    def forward(self, images_BCHW: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, A, K), and offsets (B, A, 4)."""
        levels = self.backbone["fpn"](self.body(images_BCHW)[1:])
        head = self.head
        return head["classification_head"](levels), head["regression_head"](levels)


def _small_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.normal_(module.weight, std=0.01 * math.sqrt(PUBLISHED_WIDTH / module.in_channels))
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]
