"""Batch norm that does not depend on how many processes share a batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom


class GroupNormedBatch(nn.BatchNorm2d):
    """Batch norm with separate statistics for every `span` consecutive images of a batch.

    The running statistics are updated once per batch, with the mean over its groups. So the result
    is the same whether one process has all groups or several processes have some of them.
    """

    def __init__(self, channels: int, span: int) -> None:
        super().__init__(channels)
        self.span = span

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Normalize each group; (B, C, H, W) to the same shape."""
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

    def normalized(self, x_BCHW: Tensor, moments: tuple[Tensor, Tensor], elements: int) -> Tensor:
        """Normalize each group, given mean and variance of each image's channels, (B, C, 1, 1).

        The moments are over all `elements` of a channel, of which `x_BCHW` may have a part.
        """
        means, variances, parts = [], [], []
        splits = (torch.split(each, self.span) for each in (x_BCHW, *moments))
        for x, of_images, inside in zip(*splits, strict=True):
            mean = of_images.mean(0)
            variance = (inside + (of_images - mean) ** 2).mean(0)
            scale = self.weight[:, None, None] * (variance + self.eps).rsqrt()
            shift = self.bias[:, None, None] - mean * scale
            parts.append(torch.addcmul(shift, x, scale).to(x.dtype))
            count = len(x) * elements
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
