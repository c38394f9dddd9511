"""The layers that end a stack of convolutions: they shrink feature maps, or reduce them to vectors.

Dimensions: B batch, C channels, R rows, S elements of a row, N output numbers.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom


class StridedConv(nn.Conv2d):
    """A convolution whose maps may have one column, where a stride has no effect.

    That stride is 1 there: with another one, oneDNN computes the gradients of bf16 weights from
    memory that it never wrote (torch 2.13).
    """

    def forward(self, x_BCRS: Tensor) -> Tensor:
        """(B, C, R, S) to (B, N, R / stride, S / stride), rounded up if there is padding."""
        if x_BCRS.shape[-1] > 1:
            return super().forward(x_BCRS)
        return F.conv2d(x_BCRS, self.weight, self.bias, (self.stride[0], 1), self.padding)


class MapMean(nn.Module):
    """The mean of each channel."""

    def forward(self, x_BCRS: Tensor) -> Tensor:
        """(B, C, H, W) to (B, C)."""
        return x_BCRS.mean((2, 3))


class MapLinear(nn.Linear):
    """A linear layer of all elements of volumes with `channels` channels and edges of `side`."""

    def __init__(self, channels: int, side: int, outputs: int) -> None:
        super().__init__(channels * side**3, outputs)
        self.channels, self.side = channels, side

    def forward(self, x_BCXXX: Tensor) -> Tensor:
        """(B, C, X, X, X) to (B, N)."""
        return super().forward(x_BCXXX.flatten(1))

    def of_rows(self, x_BCRXX: Tensor, begin: int) -> Tensor:
        """The share of the rows from `begin` on in the outputs, without the bias, (B, N)."""
        weight_NCXS = self.weight.view(self.out_features, self.channels, self.side, -1)
        own = weight_NCXS.narrow(2, begin, x_BCRXX.shape[2])
        return F.linear(x_BCRXX.flatten(1), own.flatten(1))
