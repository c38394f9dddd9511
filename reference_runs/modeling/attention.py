"""Grouped-query attention and rotary positions, for decoders of language models.

Dimensions: B batch, L sequence length, D model width, H query heads, K key-value heads, E head
width, P rotated pairs of channels (E/2 if all rotate).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom


def rotary_frequencies(size: int, theta: float) -> Tensor:
    """Angle per position for each pair of a head's channels, (size/2,): theta^(-2i/size).

    Source: Su et al., "RoFormer", 2021, section 3.2.2.
    """
    exponents = torch.arange(0, size, 2, dtype=torch.float32, device="cpu") / size
    return theta**-exponents


def yarn_frequencies(size: int, theta: float, scaling: float, original: int) -> Tensor:
    """Rotary frequencies for contexts `scaling` times as long as the `original`, (size/2,).

    Channels with 32 or more rotations within the original length are unchanged, those with at most
    one are slowed by the scaling, and those between are interpolated by channel index. Source: Peng
    et al., "YaRN", 2023, section 3.2; the bounds are rounded to whole channels, as in DeepSeek-V3.
    """
    frequencies = rotary_frequencies(size, theta)
    first, last = (
        size * math.log(original / (2 * math.pi * turns)) / (2 * math.log(theta))
        for turns in (32, 1)
    )
    first, last = max(math.floor(first), 0), min(math.ceil(last), size - 1)
    channels = torch.arange(size // 2, dtype=torch.float32, device="cpu")
    slowed = ((channels - first) / max(last - first, 1e-3)).clamp(0, 1)
    return frequencies * (1 - slowed + slowed / scaling)


def rotate(x_BHLE: Tensor, angles_LP: Tensor) -> Tensor:
    """Rotate each pair of channels (first half, second half) by its position's angle."""
    cos, sin = angles_LP.cos(), angles_LP.sin()
    # In single precision: half precision cannot distinguish adjacent angles of distant positions
    first, second = x_BHLE.float().chunk(2, dim=-1)
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return turned.type_as(x_BHLE)


def attend(q_BHLE: Tensor, k_BKLE: Tensor, v_BKLE: Tensor, scale: float | None = None) -> Tensor:
    """Causal grouped-query attention to all earlier positions, (B, H, L, E).

    The products of queries and keys are multiplied by the scale, by default 1/√E. Values may be
    narrower than keys.
    """
    # GPUs have no kernel for single precision in which heads share keys: torch would materialize
    # the scores of all pairs of positions
    single = q_BHLE.dtype is torch.float32 and not torch.is_autocast_enabled("cuda")
    if single and q_BHLE.device.type == "cuda":
        k_BKLE, v_BKLE = (for_each_head(x, q_BHLE.shape[1]) for x in (k_BKLE, v_BKLE))
    width, missing = v_BKLE.shape[-1], k_BKLE.shape[-1] - v_BKLE.shape[-1]
    # On CPUs torch materializes the scores of all pairs of positions if these widths differ
    if missing and v_BKLE.device.type == "cpu":
        v_BKLE = F.pad(v_BKLE, (0, missing))
    y_BHLE = F.scaled_dot_product_attention(
        q_BHLE, k_BKLE, v_BKLE, is_causal=True, scale=scale, enable_gqa=True
    )
    return y_BHLE[..., :width]


def for_each_head(x_BKLE: Tensor, heads: int) -> Tensor:
    """Repeat keys or values for the query heads that share them, (B, H, L, E)."""
    shared = heads // x_BKLE.shape[1]
    return x_BKLE.repeat_interleave(shared, dim=1) if shared > 1 else x_BKLE


def split_heads(x_BLD: Tensor, size: int) -> Tensor:
    """Split the channels into heads of a given width, (B, H, L, E)."""
    return x_BLD.view(*x_BLD.shape[:2], -1, size).transpose(1, 2)


def joined_heads(y_BHLE: Tensor) -> Tensor:
    """Concatenate the outputs of the heads, (B, L, H·E)."""
    return y_BHLE.transpose(1, 2).flatten(2)
