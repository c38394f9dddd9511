"""Maps of features brought to another size."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom


class Enlarge(nn.Module):
    """Repeats the places of a map until it is as large as another."""

    def forward(self, x_BCHW: Tensor, like_BCHW: Tensor) -> Tensor:
        """(B, C, h, w) to (B, C, H, W); each place has the value of the nearest."""
        return F.interpolate(x_BCHW, size=like_BCHW.shape[-2:], mode="nearest")
