"""Batch norm that does not depend on how many processes share a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Callable


class GroupNormedBatch(nn.BatchNorm2d):
    """Batch norm with separate statistics for every `span` consecutive images of a batch.

    The running statistics are updated once per batch, with the mean over its groups. So the result
    is the same whether one process has all groups or several processes have some of them. A process
    may also have only some rows of each image, or some images of a group.
    """

    of_images: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None
    """Mean and variance of each image's channels, (B, C, 1, 1), over the rows of all ranks."""
    of_ranks: Callable[[Tensor], Tensor] | None = None
    """The values of all ranks with images of the same group, along a new first axis."""

    def __init__(self, channels: int, span: int) -> None:
        super().__init__(channels)
        self.span = span

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Normalize each group; (B, C, H, W) to the same shape."""
        if self.training and (self.of_images or self.of_ranks):
            return self._joint(x_BCHW)
        if not self.training or len(x_BCHW) <= self.span:
            return super().forward(x_BCHW)
        means, variances, parts = [], [], []
        for part in torch.split(x_BCHW, self.span):
            mean, variance = torch.zeros_like(self._mean), torch.zeros_like(self._variance)
            # With a momentum of 1 the "running" statistics are those of the group.
            parts.append(
                F.batch_norm(part, mean, variance, self.weight, self.bias, True, 1.0, self.eps)
            )
            # Kept separately: updating the running statistics here would favor the last group
            means.append(mean)
            variances.append(variance)
        self._count(torch.stack(means), torch.stack(variances))
        return torch.cat(parts)

    def _joint(self, x_BCHW: Tensor) -> Tensor:
        """Normalize groups of which this process has some rows or images."""
        of_images = (self.of_images or _image_moments)(x_BCHW)
        # Divided images have equal sides, and all of the last one
        height = x_BCHW.shape[-2 if self.of_images is None else -1]
        means, variances, parts = [], [], []
        groups = (torch.split(tensor, self.span) for tensor in (x_BCHW, *of_images))
        for x, *of_parts in zip(*groups, strict=True):
            mean, variance = _pooled(*of_parts)
            count = len(x) * height * x.shape[-1]
            if self.of_ranks is not None:
                of_ranks = self.of_ranks(torch.stack((mean, variance)))
                mean, variance = _pooled(*of_ranks.unbind(1))
                count *= len(of_ranks)
            scale = self.weight[:, None, None] * (variance + self.eps).rsqrt()
            shift = self.bias[:, None, None] - mean * scale
            parts.append(torch.addcmul(shift, x, scale).to(x.dtype))
            means.append(mean.detach().flatten())
            variances.append(variance.detach().flatten() * (count / max(1, count - 1)))
        self._count(torch.stack(means), torch.stack(variances))
        return torch.cat(parts)

    def _count(self, means_GC: Tensor, variances_GC: Tensor) -> None:
        """Update the running statistics with those of all groups."""
        momentum = self.momentum or 0.0
        self._mean.lerp_(means_GC.mean(0).to(self._mean), momentum)
        self._variance.lerp_(variances_GC.mean(0).to(self._variance), momentum)

    @property
    def _mean(self) -> Tensor:
        assert self.running_mean is not None
        return self.running_mean

    @property
    def _variance(self) -> Tensor:
        assert self.running_var is not None
        return self.running_var


def _image_moments(x_BCHW: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each image's channels, (B, C, 1, 1)."""
    variance, mean = torch.var_mean(x_BCHW.float(), (2, 3), correction=0, keepdim=True)
    return mean, variance


def _pooled(means: Tensor, variances: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the union of equally large parts, along the first axis."""
    mean = means.mean(0)
    return mean, (variances + (means - mean) ** 2).mean(0)
