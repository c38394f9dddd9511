"""ResNet-50 v1.5, with batch norms over groups of the batch.

Written from He et al., "Deep Residual Learning for Image Recognition", 2015; "v1.5" puts a stage's
stride into the 3 x 3 convolution. 25 557 032 parameters at 1000 classes, as all model libraries
publish. Dimensions: B batch, C channels, H and W height and width.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.maps import MapMean
from podium.reference_runs.modeling.normalization import GroupNormedBatch

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.resnet.config import ResNet

EXPANSION = 4
"""Ratio of a bottleneck's output width to its inner width."""


class Bottleneck(nn.Module):
    """1 x 1 down, 3 x 3 (with the stride), 1 x 1 up, with a residual connection or projection."""

    def __init__(self, wide_in: int, width: int, stride: int, span: int) -> None:
        super().__init__()
        wide_out = width * EXPANSION
        self.conv1 = nn.Conv2d(wide_in, width, 1, bias=False)
        self.bn1 = GroupNormedBatch(width, span)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = GroupNormedBatch(width, span)
        self.conv3 = nn.Conv2d(width, wide_out, 1, bias=False)
        self.bn3 = GroupNormedBatch(wide_out, span)
        self.projects = stride != 1 or wide_in != wide_out
        if self.projects:
            self.conv1sc = nn.Conv2d(wide_in, wide_out, 1, stride, bias=False)
            self.bnsc = GroupNormedBatch(wide_out, span)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """The block's output, its sides divided by the stride."""
        y = F.relu(self.bn1(self.conv1(x_BCHW)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        shortcut = self.bnsc(self.conv1sc(x_BCHW)) if self.projects else x_BCHW
        return F.relu(y + shortcut)


class ResidualNet(nn.Module):
    """The stem, the stages of bottlenecks, and a linear classifier of the global average."""

    def __init__(self, config: ResNet) -> None:
        super().__init__()
        width, span, kernel = config.base_width, config.model_bn_span, config.stem_kernel
        self.conv0 = nn.Conv2d(3, width, kernel, stride=2, padding=kernel // 2, bias=False)
        self.bn0 = GroupNormedBatch(width, span)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if config.stem_pools else nn.Identity()
        channels = width
        self.stages = len(config.units)
        for stage, count in enumerate(config.units):
            inside = width * 2**stage
            self.add_module(f"stage{stage + 1}", _stage(channels, inside, (count, stage > 0), span))
            channels = inside * EXPANSION
        self.mean = MapMean()
        self.fc1 = nn.Linear(channels, config.classes)
        self.apply(_initialise)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Logits of the classes, (B, classes)."""
        x_BCHW = self.pool(F.relu(self.bn0(self.conv0(x_BCHW))))
        for stage in range(1, self.stages + 1):
            x_BCHW = self.get_submodule(f"stage{stage}")(x_BCHW)
        scores: Tensor = self.fc1(self.mean(x_BCHW))
        return scores


def _stage(channels: int, width: int, shape: tuple[int, bool], span: int) -> nn.Sequential:
    """A stage of bottlenecks, the first of which may halve the image."""
    count, halves = shape
    units: OrderedDict[str, nn.Module] = OrderedDict()
    for unit in range(1, count + 1):
        stride = 2 if halves and unit == 1 else 1
        units[f"unit{unit}"] = Bottleneck(channels, width, stride, span)
        channels = width * EXPANSION
    return nn.Sequential(units)


def _initialise(module: nn.Module) -> None:
    """He et al.'s normal weights; each block starts as the identity (its last scale is 0)."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.01)
        nn.init.zeros_(module.bias)
    elif isinstance(module, Bottleneck):
        nn.init.zeros_(module.bn3.weight)
