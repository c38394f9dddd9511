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

from podium.reference_runs.modeling.resizing import Enlarge

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.retinanet.config import RetinaNet

EXPANSION = 4
SHAPES = 9
"""Anchors per position: three sizes by three aspect ratios."""

PRIOR = 0.01
"""The initial probability of an object at every anchor."""

EPSILON = 1e-5

PUBLISHED_WIDTH = 256
"""Width of heads initialized with a deviation of 0.01; narrower ones keep the same gain."""

FAINT = 0.25
"""Scale of a block's residual part, in a body that is not trained yet."""


class FrozenNorm(nn.Module):
    """A batch norm whose statistics and scales are constants, not parameters."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.measures = False
        for name, start in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            self.register_buffer(name, torch.full((channels,), float(start)))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """(B, C, H, W) to the same shape."""
        if self.measures:
            variance, mean = torch.var_mean(x_BCHW, (0, 2, 3), correction=0)
            self.running_var.copy_(variance)
            self.running_mean.copy_(mean)
        scale = self.weight * (self.running_var + EPSILON).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x_BCHW * scale[:, None, None] + shift[:, None, None]


class Bottleneck(nn.Module):
    """1 x 1 down, 3 x 3 in groups, 1 x 1 up, with a residual connection or projection."""

    def __init__(self, widths: tuple[int, int, int], groups: int, stride: int) -> None:
        super().__init__()
        wide_in, inside, wide_out = widths
        self.conv1 = nn.Conv2d(wide_in, inside, 1, bias=False)
        self.bn1 = FrozenNorm(inside)
        self.conv2 = nn.Conv2d(inside, inside, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = FrozenNorm(inside)
        self.conv3 = nn.Conv2d(inside, wide_out, 1, bias=False)
        self.bn3 = FrozenNorm(wide_out)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or wide_in != wide_out:
            project = nn.Conv2d(wide_in, wide_out, 1, stride, bias=False)
            self.downsample = nn.Sequential(project, FrozenNorm(wide_out))

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The block's output, its sides divided by the stride."""
        y = F.relu(self.bn1(self.conv1(x_BCHW)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x_BCHW))


class Body(nn.Module):
    """The ResNeXt without its classifier; returns the outputs of its last three stages."""

    def __init__(self, config: RetinaNet) -> None:
        super().__init__()
        width, inside = config.base_width, config.groups * config.group_width
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = FrozenNorm(width)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        channels = width
        for stage, count in enumerate(config.units):
            units: list[nn.Module] = []
            for unit in range(count):
                wide_out = width * EXPANSION * 2**stage
                stride = 2 if stage > 0 and unit == 0 else 1
                widths = (channels, inside * 2**stage, wide_out)
                units.append(Bottleneck(widths, config.groups, stride))
                channels = wide_out
            self.add_module(f"layer{stage + 1}", nn.Sequential(*units))
        self.apply(_kaiming_normal)

    def forward(self, x_BCHW: Tensor) -> list[Tensor]:
        """Features at an 8th, 16th and 32nd of the image's sides."""
        x = self.maxpool(F.relu(self.bn1(self.conv1(x_BCHW))))
        found = []
        for stage in range(1, 5):
            x = self.get_submodule(f"layer{stage}")(x)
            found.append(x)
        return found[1:]


class Pyramid(nn.Module):
    """Features of one width at five scales: three from the body, two by further halving."""

    def __init__(self, widths: list[int], width: int) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList(nn.Conv2d(w, width, 1) for w in widths)
        self.layer_blocks = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in widths)
        halving = {name: nn.Conv2d(width, width, 3, stride=2, padding=1) for name in ("p6", "p7")}
        self.extra_blocks = nn.ModuleDict(halving)
        self.enlarge = Enlarge()
        self.apply(_kaiming_uniform)

    def forward(self, features: list[Tensor]) -> list[Tensor]:
        """P3 to P7, finest first."""
        below = self.inner_blocks[-1](features[-1])
        levels = [self.layer_blocks[-1](below)]
        for at in range(len(features) - 2, -1, -1):
            side = self.inner_blocks[at](features[at])
            below = side + self.enlarge(below, side)
            levels.insert(0, self.layer_blocks[at](below))
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
        found = []
        for level in levels:
            y = self.get_submodule(self.output)(self.conv(level))
            places = y.permute(0, 2, 3, 1).flatten(1, 2)
            found.append(places.unflatten(2, (SHAPES, self.size)).flatten(1, 2))
        return torch.cat(found, 1)


class Detector(nn.Module):
    """The whole network: images to the logits and the box offsets of every anchor."""

    def __init__(self, config: RetinaNet) -> None:
        super().__init__()
        wide = [config.base_width * EXPANSION * 2**stage for stage in (1, 2, 3)]
        self.backbone = nn.ModuleDict(
            {"body": Body(config), "fpn": Pyramid(wide, config.pyramid_width)}
        )
        scores = Head(config.pyramid_width, "cls_logits", config.classes)
        boxes = Head(config.pyramid_width, "bbox_reg", 4)
        self.head = nn.ModuleDict({"classification_head": scores, "regression_head": boxes})
        # Otherwise the many anchors without an object dominate the first steps
        bias = scores.get_parameter("cls_logits.bias")
        nn.init.constant_(bias, -math.log((1 - PRIOR) / PRIOR))
        self._freeze(config.trainable_stages)

    def _freeze(self, trainable: int) -> None:
        parts = ("layer4", "layer3", "layer2", "layer1", "conv1")[trainable:]
        for part in parts:
            self.backbone["body"].get_submodule(part).requires_grad_(False)

    def forward(self, images_BCHW: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, A, K), and offsets (B, A, 4)."""
        levels = self.backbone["fpn"](self.backbone["body"](images_BCHW))
        head = self.head
        return head["classification_head"](levels), head["regression_head"](levels)

    @torch.no_grad()
    def measure(self, images_BCHW: Tensor) -> None:
        """Freeze the norms at the statistics of some images, in place of a trained body."""
        norms = [module for module in self.modules() if isinstance(module, FrozenNorm)]
        for norm in norms:
            norm.measures = True
        for module in self.modules():
            if isinstance(module, Bottleneck):
                module.bn3.weight.fill_(FAINT)
        self.backbone["body"](images_BCHW)
        for norm in norms:
            norm.measures = False


def _kaiming_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def _kaiming_uniform(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_uniform_(module.weight, a=1)
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]


def _small_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.normal_(module.weight, std=0.01 * math.sqrt(PUBLISHED_WIDTH / module.in_channels))
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]
