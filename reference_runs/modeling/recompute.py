"""Parts whose activations are computed anew for the backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def recomputed(wanted: bool, part: Callable[..., T], *inputs: object) -> T:
    """What a part gives; where it is wanted and gradients are, its inputs alone are kept."""
    if wanted and torch.is_grad_enabled():
        return cast("T", checkpoint(part, *inputs, use_reentrant=False))
    return part(*inputs)
