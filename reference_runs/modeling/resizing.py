"""Feature maps resized to the size of another."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom


class Enlarge(nn.Module):
    """Upsamples a map to the size of another by repetition (nearest neighbor)."""

    def forward(self, x_BCHW: Tensor, like_BCHW: Tensor) -> Tensor:
        """(B, C, h, w) to (B, C, H, W); each output element has the value of the nearest input."""
        return F.interpolate(x_BCHW, size=like_BCHW.shape[-2:], mode="nearest")
