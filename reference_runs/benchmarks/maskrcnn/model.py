"""Mask R-CNN: a ResNet with a feature pyramid, proposals, and heads for boxes and for masks.

Written from He, Gkioxari, Dollár, Girshick: "Mask R-CNN", 2017. Dimensions: B images, C channels,
H and W height and width, A anchors, R regions of an image, N regions of a batch, K classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.maskrcnn.regions import ASPECTS
from podium.reference_runs.modeling.detection.pyramid import (
    EXPANSION,
    Body,
    BodyShape,
    TopDown,
    kaiming_uniform,
)

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.maskrcnn.config import MaskRCNN

BOX_CELLS, MASK_CELLS = 7, 14
"""Cells along a side of the features of a region."""

PUBLISHED_WIDTH = 256
"""Width of layers initialized with fixed deviations; narrower ones keep the same gain."""


class Pyramid(TopDown):
    """Features of one width at five scales: four from the body, one by dropping positions."""

    def __init__(self, widths: list[int], width: int) -> None:
        super().__init__(widths, width)
        self.apply(kaiming_uniform)

    def forward(self, features: list[Tensor]) -> list[Tensor]:
        """P2 to P6, finest first."""
        levels = super().forward(features)
        return [*levels, F.max_pool2d(levels[-1], 1, 2)]


class ProposalHead(nn.Module):
    """A score and four offsets for each anchor, with shared weights at all levels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.cls_logits = nn.Conv2d(width, len(ASPECTS), 1)
        self.bbox_pred = nn.Conv2d(width, len(ASPECTS) * 4, 1)
        for layer in (self.conv, self.cls_logits, self.bbox_pred):
            _normal(layer, 0.01 * math.sqrt(PUBLISHED_WIDTH / width))

    def forward(self, levels: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """Scores (B, A) and offsets (B, A, 4) of each level."""
        outputs = []
        for level in levels:
            y = F.relu(self.conv(level))
            scores = self.cls_logits(y).permute(0, 2, 3, 1).flatten(1)
            offsets = self.bbox_pred(y).permute(0, 2, 3, 1).reshape(len(y), -1, 4)
            outputs.append((scores.float(), offsets.float()))
        return outputs


class BoxHead(nn.Module):
    """Scores of the classes, and offsets for each of them, from the features of a region."""

    def __init__(self, config: MaskRCNN) -> None:
        super().__init__()
        self.fc6 = nn.Linear(config.pyramid_width * BOX_CELLS**2, config.head_width)
        self.fc7 = nn.Linear(config.head_width, config.head_width)
        for layer in (self.fc6, self.fc7):
            nn.init.kaiming_uniform_(layer.weight, a=1)
            nn.init.zeros_(layer.bias)
        # The first class is the background
        self.cls_score = nn.Linear(config.head_width, config.classes + 1)
        self.bbox_pred = nn.Linear(config.head_width, (config.classes + 1) * 4)
        gain = math.sqrt(4 * PUBLISHED_WIDTH / config.head_width)
        _normal(self.cls_score, 0.01 * gain)
        _normal(self.bbox_pred, 0.001 * gain)

    def forward(self, x_NCSS: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (N, K + 1) and offsets (N, K + 1, 4)."""
        x = F.relu(self.fc7(F.relu(self.fc6(x_NCSS.flatten(1)))))
        return self.cls_score(x).float(), self.bbox_pred(x).float().unflatten(1, (-1, 4))


class MaskHead(nn.Module):
    """A mask for each class, from the features of a region."""

    def __init__(self, config: MaskRCNN) -> None:
        super().__init__()
        width, layers = config.pyramid_width, []
        for _ in range(4):
            layers += [nn.Conv2d(width, config.mask_width, 3, padding=1), nn.ReLU()]
            width = config.mask_width
        self.fcn = nn.Sequential(*layers)
        self.conv5_mask = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.mask_fcn_logits = nn.Conv2d(width, config.classes + 1, 1)
        self.apply(_kaiming_normal)

    def forward(self, x_NCSS: Tensor) -> Tensor:
        """Scores of the points of each class, (N, K + 1, 28, 28)."""
        x = F.relu(self.conv5_mask(self.fcn(x_NCSS)))
        scores: Tensor = self.mask_fcn_logits(x).float()
        return scores


class Network(nn.Module):
    """All layers with weights."""

    def __init__(self, config: MaskRCNN) -> None:
        super().__init__()
        shape = BodyShape(
            units=config.units,
            width=config.base_width,
            groups=1,
            group_width=config.base_width,
            strides_first=True,
        )
        self.body = Body(shape)
        self.body.freeze(config.trainable_stages)
        widths = [config.base_width * EXPANSION * 2**stage for stage in range(4)]
        self.fpn = Pyramid(widths, config.pyramid_width)
        self.rpn = ProposalHead(config.pyramid_width)
        self.box_head = BoxHead(config)
        self.mask_head = MaskHead(config)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the layers; between them, regions are chosen in loops that depend on values.

        Compiled as a whole, the detector ends Python with a segmentation fault (torch 2.13).
        """
        for part in self.children():
            part.compile(*args, **kwargs)


def _normal(layer: nn.Conv2d | nn.Linear, deviation: float) -> None:
    nn.init.normal_(layer.weight, std=deviation)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def _kaiming_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]
