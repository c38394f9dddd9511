"""MiniGo's network: a residual tower with a policy and a value head (AlphaGo Zero's, smaller).

Dimensions: B batch, C filters, N side of the board, A moves including the pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.minigo.config import numbered
from podium.reference_runs.benchmarks.minigo.games import PLANES

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.config import MiniGo


MOMENTUM = 0.05
"""Momentum of the running statistics."""


class _Total(torch.autograd.Function):
    """The sum over all ranks; gradients of the sum on any rank flow back to each."""

    @staticmethod
    def forward(_: Any, mine: Tensor) -> Tensor:
        total = mine.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, *gradients: Tensor) -> Tensor:
        return _Total.forward(None, gradients[0])


class BatchNorm(nn.BatchNorm2d):
    """Batch normalization over the whole global batch, on any number of ranks."""

    def __init__(self, channels: int, *, affine: bool = True) -> None:
        super().__init__(channels, affine=affine, momentum=MOMENTUM)

    def forward(self, x_BCNN: Tensor) -> Tensor:
        """(B, C, N, N) to the same shape."""
        if not (self.training and dist.is_initialized()):
            return super().forward(x_BCNN)
        x = x_BCNN.float()
        sums = torch.stack((x.sum((0, 2, 3)), x.square().sum((0, 2, 3))))
        count = x.numel() // x.shape[1] * dist.get_world_size()
        mean, square = _Total.apply(sums) / count  # type: ignore[no-untyped-call]
        variance = square - mean.square()
        # torch's running variance is the unbiased one
        self._follow(mean.detach(), variance.detach() * (count / (count - 1)))
        x = (x - mean[:, None, None]) * (variance + self.eps).rsqrt()[:, None, None]
        if self.affine:
            x = x * self.weight[:, None, None] + self.bias[:, None, None]
        y: Tensor = x.type_as(x_BCNN)
        return y

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        """Update the running statistics, as torch's own layer does."""
        assert self.running_mean is not None
        assert self.running_var is not None
        self.running_mean.lerp_(mean, MOMENTUM)
        self.running_var.lerp_(variance, MOMENTUM)


def _block(inputs: int, filters: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, filters, 3, padding=1, bias=False), BatchNorm(filters))


class Residual(nn.Module):
    """Two convolutions with a residual connection."""

    def __init__(self, filters: int) -> None:
        super().__init__()
        self.first = _block(filters, filters)
        self.second = _block(filters, filters)

    def forward(self, x_BCNN: Tensor) -> Tensor:
        """(B, C, N, N) to the same shape."""
        return F.relu(x_BCNN + self.second(F.relu(self.first(x_BCNN))))


class DualNet(nn.Module):
    """A tower with two heads: policy and value."""

    def __init__(self, config: MiniGo) -> None:
        super().__init__()
        filters, points = config.conv_width, config.board_size**2
        self.first = _block(PLANES, filters)
        self.tower = nn.Sequential(*(Residual(filters) for _ in range(config.trunk_layers)))
        # The heads' normalizations have neither scale nor shift, as in MiniGo.
        self.policy = nn.Sequential(
            nn.Conv2d(filters, 2, 1, bias=False), BatchNorm(2, affine=False), nn.ReLU()
        )
        self.moves = nn.Linear(2 * points, points + 1)
        self.value = nn.Sequential(
            nn.Conv2d(filters, 1, 1, bias=False), BatchNorm(1, affine=False), nn.ReLU()
        )
        self.hidden = nn.Linear(points, config.fc_width)
        self.outcome = nn.Linear(config.fc_width, 1)
        self.global_step: Tensor
        self.register_buffer("global_step", torch.zeros((), dtype=torch.int64))
        self.apply(_initialise)

    def forward(self, x_BPNN: Tensor) -> tuple[Tensor, Tensor]:
        """Move logits (B, A) and the expected outcome for the side to play (B,)."""
        x_BCNN = self.tower(F.relu(self.first(x_BPNN)))
        scores_BA = self.moves(self.policy(x_BCNN).flatten(1))
        hidden = F.relu(self.hidden(self.value(x_BCNN).flatten(1)))
        return scores_BA, torch.tanh(self.outcome(hidden)).squeeze(1)

    def names(self) -> dict[str, str]:
        """The reference implementation's name of each tensor of this network's state."""
        blocks = [
            "first",
            *(f"tower.{index // 2}.{SIDES[index % 2]}" for index in range(2 * len(self.tower))),
        ]
        names = {"global_step": "global_step"}
        for number, block in enumerate([*blocks, "policy", "value"]):
            names[f"{block}.0.weight"] = numbered("conv2d", number, "kernel")
            parts = NORMALISATION if number < len(blocks) else NORMALISATION[:2]
            for ours, published in parts:
                names[f"{block}.1.{ours}"] = numbered("batch_normalization", number, published)
        for number, layer in enumerate(("moves", "hidden", "outcome")):
            names[f"{layer}.weight"] = numbered("dense", number, "kernel")
            names[f"{layer}.bias"] = numbered("dense", number, "bias")
        return names


SIDES = ("first", "second")
NORMALISATION = (
    ("running_mean", "moving_mean"),
    ("running_var", "moving_variance"),
    ("weight", "gamma"),
    ("bias", "beta"),
)
"""Tensors of a normalization, ours and theirs; the heads' have only the first two."""


def _initialise(module: nn.Module) -> None:
    """Glorot's uniform initialization, the default of MiniGo's framework."""
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
