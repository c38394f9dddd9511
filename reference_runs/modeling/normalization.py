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
        momentum = self.momentum or 0.0
        self._mean.lerp_(torch.stack(means).mean(0), momentum)
        self._variance.lerp_(torch.stack(variances).mean(0), momentum)
        return torch.cat(parts)

    @property
    def _mean(self) -> Tensor:
        assert self.running_mean is not None
        return self.running_mean

    @property
    def _variance(self) -> Tensor:
        assert self.running_var is not None
        return self.running_var
