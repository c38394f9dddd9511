"""Activation recomputation for the backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def recomputed(wanted: bool, part: Callable[..., T], *inputs: object) -> T:
    """Call a module; if `wanted` and with gradients, only its inputs are kept."""
    if wanted and torch.is_grad_enabled():
        return cast("T", checkpoint(part, *inputs, use_reentrant=False))
    return part(*inputs)
