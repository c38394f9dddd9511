"""A residual network with frozen norms, and a feature pyramid on top of it.

Written from He et al., "Deep Residual Learning for Image Recognition", 2015, and Lin et al.,
"Feature Pyramid Networks for Object Detection", 2017. Dimensions: B batch, C channels, H and W
height and width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.resizing import Enlarge

EXPANSION = 4
EPSILON = 1e-5

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

    def __init__(
        self,
        widths: tuple[int, int, int],
        groups: int,
        stride: int,
        *,
        strides_first: bool = False,
    ) -> None:
        super().__init__()
        wide_in, inside, wide_out = widths
        # The original ResNet divides the sides in the first convolution, later ones in the second
        first, second = (stride, 1) if strides_first else (1, stride)
        self.conv1 = nn.Conv2d(wide_in, inside, 1, first, bias=False)
        self.bn1 = FrozenNorm(inside)
        self.conv2 = nn.Conv2d(inside, inside, 3, second, 1, groups=groups, bias=False)
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


@dataclass(frozen=True, kw_only=True)
class BodyShape:
    """The shape of a residual network: blocks of each stage, width of the stem, groups."""

    units: tuple[int, ...]
    width: int
    groups: int
    group_width: int
    strides_first: bool = False


class Body(nn.Module):
    """A residual network without its classifier; returns the outputs of its stages."""

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        width, inside = shape.width, shape.groups * shape.group_width
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = FrozenNorm(width)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        channels = width
        for stage, count in enumerate(shape.units):
            units: list[nn.Module] = []
            for unit in range(count):
                wide_out = width * EXPANSION * 2**stage
                stride = 2 if stage > 0 and unit == 0 else 1
                widths = (channels, inside * 2**stage, wide_out)
                units.append(
                    Bottleneck(widths, shape.groups, stride, strides_first=shape.strides_first)
                )
                channels = wide_out
            self.add_module(f"layer{stage + 1}", nn.Sequential(*units))
        self.apply(_kaiming_normal)

    def forward(self, x_BCHW: Tensor) -> list[Tensor]:
        """Features at a 4th, 8th, 16th and 32nd of the image's sides."""
        x = self.maxpool(F.relu(self.bn1(self.conv1(x_BCHW))))
        features = []
        for stage in range(1, 5):
            x = self.get_submodule(f"layer{stage}")(x)
            features.append(x)
        return features

    def freeze(self, trainable: int) -> None:
        """Train only the last `trainable` of the five parts: the stem and four stages."""
        parts = ("layer4", "layer3", "layer2", "layer1", "conv1")[trainable:]
        for part in parts:
            self.get_submodule(part).requires_grad_(False)

    @torch.no_grad()
    def measure(self, images_BCHW: Tensor) -> None:
        """Freeze the norms at the statistics of some images, in place of a trained body."""
        norms = [module for module in self.modules() if isinstance(module, FrozenNorm)]
        for norm in norms:
            norm.measures = True
        for module in self.modules():
            if isinstance(module, Bottleneck):
                module.bn3.weight.fill_(FAINT)
        self(images_BCHW)
        for norm in norms:
            norm.measures = False


class TopDown(nn.Module):
    """Features of one width from those of a body: each adds the enlarged coarser ones.

    A derived class initializes all convolutions, with `kaiming_uniform`.
    """

    def __init__(self, widths: list[int], width: int) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList(nn.Conv2d(w, width, 1) for w in widths)
        self.layer_blocks = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in widths)
        self.enlarge = Enlarge()

    def forward(self, features: list[Tensor]) -> list[Tensor]:
        """The levels of the body's stages, finest first."""
        below = self.inner_blocks[-1](features[-1])
        levels = [self.layer_blocks[-1](below)]
        for index in range(len(features) - 2, -1, -1):
            side = self.inner_blocks[index](features[index])
            below = side + self.enlarge(below, side)
            levels.insert(0, self.layer_blocks[index](below))
        return levels


def _kaiming_normal(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def kaiming_uniform(module: nn.Module) -> None:
    """Initialize a convolution as pyramids are, with a gain of 1 and no bias."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_uniform_(module.weight, a=1)
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]
